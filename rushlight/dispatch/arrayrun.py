"""Runners of array-level bodies, generated for each row's parameters: no loop over metadata.

A runner hands the operands' arrays to the body, wraps what it gives, and records the declared
gradient. Rows with the option `quiet` (their kernels move or count elements and raise no
floating-point flags) are spared NumPy's errstate. Parameters that may hold anything take `general`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.autograd.mode import LOCAL
from rushlight.base import dtype as dt
from rushlight.base.quiet import hush, restore
from rushlight.base.tape import TAPE
from rushlight.dispatch.formula import check_dtype
from rushlight.dispatch.source import MAKING, compile_function, forget, keep, key, made
from rushlight.dispatch.rules import Rules
from rushlight.dispatch.shapes import meta_run
from rushlight.dispatch.state import PLAIN
from rushlight.ops.signature import Param
from rushlight.ops.table import Row
from rushlight.tensor.kind import CPU_KINDS
from rushlight.tensor.tensor import Tensor, wrap

Run = Callable[..., Any]
# Schema types of attributes, which hold no tensors.
_ATTRIBUTES = ("int", "bool", "float", "str", "dtype", "device", "Ints", "*Ints", "Number", "memory_format")


def array_runner(row: Row, body: Run, rules: Rules | None, otherwise: Run, by_name: bool = False) -> Run:
    """The runner of `body` for a row.

    otherwise: what to call where the body answers NotImplemented.  by_name: whether keyword-only
    parameters are handed to the body by name.
    """
    general = _general(row, by_keyword(row, body) if by_name else body, rules, otherwise)
    if not all(map(_is_plain, row.params)):
        return general
    return _specialised(row, body, rules, otherwise, general, by_name)


def _is_plain(p: Param) -> bool:
    if p.is_tensor or p.is_list or p.name == "generator":
        return True
    return all(part in _ATTRIBUTES for part in p.type.removesuffix(" | None").split(" | "))


def _specialised(row: Row, body: Run, rules: Rules | None, otherwise: Run, general: Run,
                 by_name: bool) -> Run:
    names = ", ".join(p.name for p in row.params)
    tensors = [p for p in row.params if p.is_tensor or p.is_list]
    arguments = ", ".join(f"{p.name}={_array(p)}" if by_name and p.keyword_only else _array(p)
                          for p in row.params)
    plain = ", ".join(map(_array, row.params))
    # A way is kept for its arguments: not for a generator, which it would keep alive.
    owned = [f"{p.name} is not None" for p in row.params if p.name == "generator" and hasattr(body, "way")]
    meta = " or ".join([*owned, *[_any_of(p, "_k.on_meta") for p in tensors]]) or "False"
    grads = " or ".join(_any_of(p, "_g is not None") for p in tensors) or "False"
    lines = [f"    if {meta}:", f"        return _general({names})"]
    how: dict[str, Any] = {"_body": body}
    if hasattr(body, "way"):
        lines += [f"    _key = ({', '.join(key(p, p.name) for p in row.params)},)",
                  "    _body = _WAYS.get(_key)",
                  f"    if _body is None:\n        _body = _keep(_WAYS, _key, _way({arguments}))",
                  f"    if _body is NotImplemented:\n        return _otherwise({names})"]
        arguments = ", ".join(_array(p) if p.is_list or p.type == "Tensor" else
                              f"*(({p.name}._a,) if isinstance({p.name}, _Tensor) else ())" for p in tensors)
        how = {"_WAYS": {}, "_keep": keep, "_way": _checked(row, body.way), "PLAIN": PLAIN,
               **{f"_default_{p.name}": p.default for p in row.params}}
        forget(how["_WAYS"])
    elif row.refuse:
        how["_TAKEN"], how["_taken"] = refusal(row)
        lines.insert(0, f"    if {tensors[0].name}._k not in _TAKEN:\n        _taken({tensors[0].name})")
    if row.options.get("quiet"):
        lines += [f"    _found = _body({arguments})"]
    else:
        lines += ["    _token = _hush()", "    try:", f"        _found = _body({arguments})",
                  "    finally:", "        _restore(_token)"]
    lines += ["    if _found is NotImplemented:", f"        return _otherwise({names})",
              "    if _found.__class__ is not _ndarray and isinstance(_found, _generic):",
              "        _found = _asarray(_found)", "    if _found.__class__ is _ndarray:",
              made("_out", "_found", "_KINDS[_found.dtype]", 8) + "    else:",
              "        _out = _found if _found.__class__ is bool else _wrapped(_found)",
              f"    if _TAPE:\n        _TAPE[-1].run(_again, ({plain},), _out, ({names},))"]
    if rules is not None:
        lines += [f"    if _LOCAL.enabled and ({grads}):", f"        _record(({names},), _out)"]
    text = "\n".join([*lines, "    return _out", ""])
    scope = {"_general": general, "_hush": hush, "_restore": restore, "_otherwise": otherwise,
             "_TAPE": TAPE, "_again": silent(row, by_keyword(row, body) if by_name else body),
             **MAKING, "_KINDS": CPU_KINDS, "_wrapped": wrapped, "_ndarray": np.ndarray,
             "_generic": np.generic, "_asarray": np.asarray, "_LOCAL": LOCAL, "_Tensor": Tensor,
             "_record": None if rules is None else rules.record, **how}
    run = compile_function(f"def {row.name}({names}):\n{text}", row.name, scope)
    # The door runs these lines itself.
    run.text, run.scope, run.checks = text, scope, True  # type: ignore[attr-defined]
    return run


def refusal(row: Row) -> tuple[set[Any], Callable[[Tensor], None]]:
    """The kinds that a row is known to take as its first operand's, and what asks of others."""
    taken: set[Any] = set()

    def check(t: Tensor) -> None:
        check_dtype(row.refuse, t._k.dtype, t._m.size)
        if t._m.size:
            taken.add(t._k)
    return taken, check


def _checked(row: Row, way: Run) -> Run:
    """`way` behind a check of the first operand's dtype, which so costs later calls nothing."""
    def check(a: Any, *rest: Any, **named: Any) -> Any:
        check_dtype(row.refuse, dt.from_numpy_dtype(a.dtype), a.size)
        return way(a, *rest, **named)
    return check if row.refuse else way


_ABSENT = "None if _t is None else "


def _array(p: Param) -> str:
    """Code for what the body gets."""
    if p.is_list:
        return f"[{_ABSENT * ('None' in p.type)}_t._a for _t in {p.name}]"
    if p.type == "Tensor":
        return f"{p.name}._a"
    return f"({p.name}._a if isinstance({p.name}, _Tensor) else {p.name})" if p.is_tensor else p.name


def _any_of(p: Param, fact: str) -> str:
    """Code for whether `fact` holds of the operand, or of one in the list."""
    if p.is_list:
        return f"any([{_ABSENT * ('None' in p.type)}_t.{fact} for _t in {p.name}])"
    if p.type == "Tensor":
        return f"{p.name}.{fact}"
    return f"(isinstance({p.name}, _Tensor) and {p.name}.{fact})"


def silent(row: Row, body: Run) -> Run:
    """The body without NumPy's warnings, as a recorder repeats it."""
    def again(*arrays: Any) -> Any:
        token = hush()
        try:
            return body(*arrays)
        finally:
            restore(token)
    again.row, again.body = row, body  # type: ignore[attr-defined]
    return again


# --- the general way ------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def by_keyword(row: Row, body: Run) -> Run:
    """`body` called with the row's arguments in order, keyword-only ones by name."""
    if not any(p.keyword_only for p in row.params):
        return body
    given = ", ".join([f"{p.name}={p.name}" if p.keyword_only else p.name for p in row.params])
    text = f"def call({', '.join(p.name for p in row.params)}):\n    return _body({given})\n"
    return compile_function(text, "call", {"_body": body}, f"arguments of {row.name}")


def _general(row: Row, body: Run, rules: Rules | None, otherwise: Run) -> Run:
    again = silent(row, body)

    def run(*values: Any) -> Any:
        if any_meta(values):
            out = meta_run(row, body, values)
            if out is NotImplemented:
                return otherwise(*values)
        else:
            found = again(*arrays_of(values))
            if found is NotImplemented:
                return otherwise(*values)
            out = wrapped(found)
            if TAPE:
                TAPE[-1].run(again, tuple(arrays_of(values)), out, values)
        if rules is not None and tracked(values):
            rules.record(values, out)
        return out
    return run


def tracked(values: Sequence[Any]) -> bool:
    """Whether the op must be recorded."""
    if not LOCAL.enabled:
        return False
    for v in values:
        if isinstance(v, Tensor):
            if v._g is not None:
                return True
        elif v.__class__ in (list, tuple):
            for item in v:
                if isinstance(item, Tensor) and item._g is not None:
                    return True
    return False


def arrays_of(values: Sequence[Any]) -> list[Any]:
    """Arguments with arrays in the place of tensors."""
    return [v._a if isinstance(v, Tensor) else [i._a if isinstance(i, Tensor) else i for i in v]
            if v.__class__ in (list, tuple) else v for v in values]


def wrapped(found: Any) -> Any:
    """An array-level result as tensors."""
    if isinstance(found, (tuple, list)):
        items = [wrap(f) if f.__class__ is np.ndarray else wrapped(f) for f in found]
        return items if found.__class__ is list else tuple.__new__(found.__class__, items)
    return wrap(found) if isinstance(found, (np.ndarray, np.generic)) else found


def any_meta(values: Sequence[Any]) -> bool:
    """Whether an operand is on the meta device."""
    for v in values:
        if isinstance(v, Tensor):
            if v._k.on_meta:
                return True
        elif v.__class__ in (list, tuple) and any(isinstance(i, Tensor) and i._k.on_meta for i in v):
            return True
    return False
