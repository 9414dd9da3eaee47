"""Runners of array-level bodies, generated for each row's parameters: no loop over metadata.

A runner hands the operands' arrays to the body, wraps what it gives, and records the declared
gradient. Rows with the option `quiet` (their kernels move or count elements and raise no
floating-point flags) are spared NumPy's errstate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.accelerator import PRODUCTS, is_away
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.generated_code import MAKING, compile_function, forget, keep, key, made
from rushlight._engine.dispatch.interpreters import PLAIN
from rushlight._engine.dispatch.nodes.declared import Rules
from rushlight._engine.dispatch.off_cpu import as_tensors, backend_of, backend_run
from rushlight._engine.dispatch.runners.meta import arrays_of, meta_run, refuse_meta
from rushlight._engine.dispatch.runners.refused_dtypes import check_dtype
from rushlight._engine.ops.signature import Param
from rushlight._engine.ops.table import WIDE_DTYPES, Row
from rushlight._engine.tensors.kind import CPU_KINDS
from rushlight._engine.tensors.tensor import Tensor, wrap

Run = Callable[..., Any]


def array_runner(row: Row, body: Run, rules: Rules | None, otherwise: Run, by_name: bool = False) -> Run:
    """The runner of `body` for a row.

    otherwise: what to call where the body answers NotImplemented.  by_name: whether keyword-only
    parameters are handed to the body by name.
    """
    names, operands = ", ".join(p.name for p in row.params), [p for p in row.params if is_operand(p)]
    arguments = [f"{p.name}={array_of(p)}" if by_name and p.keyword_only else array_of(p) for p in row.params]
    whole = by_keyword(row, body) if by_name else body
    meta, grads = (
        " or ".join(_any_of(p, fact) for p in operands) or "False"
        for fact in ("_kind.off_cpu", "_grad_node is not None")
    )
    lines, scope = [f"    if {meta}:", f"        return _meta({names})"], dict[str, Any](_body=body)
    if row.options.get("in_parts"):
        lines += ["    if _TAPE and _TAPE[-1].fuses:", f"        return _otherwise({names})"]
    if hasattr(body, "resolve"):
        arguments = [_by_resolved(row, body, operands, ", ".join(arguments), lines, scope)]
    if row.refuse:
        scope["_TAKEN"], scope["_taken"] = refusal(row)
        lines.insert(0, f"    if {row.params[0].name}._kind not in _TAKEN:\n        _taken({names})")
    found = f"_found = _body({', '.join(arguments)})"
    lines += _quietly(found, bool(row.options.get("quiet")))
    lines += [
        "    if _found is NotImplemented:",
        f"        return _otherwise({names})",
        "    if _found.__class__ is not _ndarray and isinstance(_found, _generic):",
        "        _found = _asarray(_found)",
        "    if _found.__class__ is _ndarray:",
        made("_out", "_found", "_KINDS[_found.dtype]", 8) + "    else:",
        "        _out = _found if _found.__class__ is bool else _wrapped(_found)",
        "    if _TAPE:",
        f"        _TAPE[-1].run(_again, ({', '.join(map(array_of, row.params))},), _out, ({names},))",
    ]
    if rules is not None:
        lines += [f"    if _LOCAL.enabled and ({grads}):", f"        _record(({names},), _out)"]
    text = "\n".join([*lines, "    return _out", ""])
    scope |= {
        "_meta": otherwise if row.options.get("in_parts") else _elsewhere(row, whole, rules, otherwise),
        "_hush": hush,
        "_restore": restore,
        "_otherwise": otherwise,
        "_TAPE": TAPE,
        "_again": silent(row, whole, rules),
        **MAKING,
        "_KINDS": CPU_KINDS,
        "_wrapped": wrapped,
        "_ndarray": np.ndarray,
        "_generic": np.generic,
        "_asarray": np.asarray,
        "_LOCAL": LOCAL,
        "_record": None if rules is None else rules.record,
    }
    return _compiled(row, names, text, scope)


def _quietly(statement: str, already: bool) -> list[str]:
    """A statement without NumPy's floating-point warnings; `already`: it gives none by itself."""
    if already:
        return [f"    {statement}"]
    return [
        "    _token = _hush()",
        "    try:",
        f"        {statement}",
        "    finally:",
        "        _restore(_token)",
    ]


def _compiled(row: Row, names: str, text: str, scope: dict[str, Any]) -> Run:
    run = compile_function(f"def {row.name}({names}):\n{text}", row.name, scope)
    # The dispatcher runs these lines itself.
    for name, value in (("text", text), ("scope", scope), ("checks", True)):
        setattr(run, name, value)
    return run


def is_operand(p: Param) -> bool:
    """Whether an argument may be a tensor or hold some."""
    return p.is_tensor or p.is_list or (p.type == "Any" and p.name != "generator")


def _by_resolved(
    row: Row, body: Any, operands: list[Param], arguments: str, lines: list[str], scope: dict[str, Any]
) -> str:
    """Adds lines that find the function that a `resolved` body answers with for such arguments, and
    their names; gives the code of that function's operands.
    """
    # A function is kept for its arguments: not for a generator, which it would keep alive.
    own = f"_resolve({arguments}) if generator is not None else " * any(
        p.name == "generator" for p in row.params
    )
    lines += [
        f"    _key = ({', '.join(key(p, p.name) for p in row.params)},)",
        f"    _body = {own}_FUNCTIONS.get(_key)",
        f"    if _body is None:\n        _body = _keep(_FUNCTIONS, _key, _resolve({arguments}))",
        "    if _body is NotImplemented:",
        f"        return _otherwise({', '.join(p.name for p in row.params)})",
    ]
    scope.update(
        {
            "_FUNCTIONS": {},
            "_keep": keep,
            "_resolve": body.resolve,
            "PLAIN": PLAIN,
            **{f"_default_{p.name}": p.default for p in row.params},
        }
    )
    forget(scope["_FUNCTIONS"])
    return ", ".join(
        array_of(p)
        if p.is_list or p.type == "Tensor"
        else f"*(({p.name}._array,) if isinstance({p.name}, Tensor) else ())"
        for p in operands
    )


def refusal(row: Row) -> tuple[set[Any], Callable[..., None]]:
    """The kinds that a row is known to take as its first operand's, and what asks of others."""
    taken: set[Any] = set()

    def check(t: Tensor, *rest: Any) -> None:
        named = dict(zip([p.name for p in row.params[1:]], rest, strict=True))
        check_dtype(
            row.refusals(t._kind),
            t._kind.dtype,
            t._memory,
            "dim" in named and (lambda: row(wrap(np.zeros(t._geometry.shape)), **named)),
        )
        if t._kind.on_meta:
            refuse_meta(row)
        if t._geometry.size and t._geometry.ndim and not WIDE_DTYPES.used:
            taken.add(t._kind)

    return taken, check


_ABSENT = "None if _t is None else "


def array_of(p: Param) -> str:
    """Code for what the body gets."""
    if p.is_list:
        return f"[{_ABSENT * ('None' in p.type)}_t._array for _t in {p.name}]"
    if p.type == "Tensor":
        return f"{p.name}._array"
    return f"({p.name}._array if isinstance({p.name}, Tensor) else {p.name})" if is_operand(p) else p.name


def _any_of(p: Param, fact: str) -> str:
    """Code for whether `fact` holds of the operand, or of one in the list."""
    if p.is_list:
        return f"any([{_ABSENT * ('None' in p.type)}_t.{fact} for _t in {p.name}])"
    if p.type == "Tensor":
        return f"{p.name}.{fact}"
    return f"(isinstance({p.name}, Tensor) and {p.name}.{fact})"


def silent(row: Row, body: Run, rules: Rules | None = None) -> Run:
    """The body without NumPy's warnings, as a recorder repeats it; rules: of the row's gradient."""

    def again(*arrays: Any) -> Any:
        token = hush()
        try:
            return body(*arrays)
        finally:
            restore(token)

    for name, value in (("row", row), ("body", body), ("rules", rules)):
        setattr(again, name, value)
    return again


@cache
def by_keyword(row: Row, body: Run) -> Run:
    """`body` called with the row's arguments in order, keyword-only ones by name."""
    if not any(p.keyword_only for p in row.params):
        return body
    given = ", ".join([f"{p.name}={p.name}" if p.keyword_only else p.name for p in row.params])
    text = f"def call({', '.join(p.name for p in row.params)}):\n    return _body({given})\n"
    return compile_function(text, "call", {"_body": body}, f"arguments of {row.name}")


def _elsewhere(row: Row, body: Run, rules: Rules | None, otherwise: Run) -> Run:
    """The runner where an operand is on the meta device, or on another than the CPU."""
    known: dict[Any, Any] = {}
    forget(known)

    def run(*values: Any) -> Any:
        backend = backend_of(values)
        out = meta_run(row, body, values) if backend is None else backend_run(backend, row, body, values)
        if out is NotImplemented:
            return otherwise(*values)
        if rules is not None and tracked(values):
            rules.record(values, out)
        return out

    def learn(key: Any, values: Sequence[Any]) -> None:
        backend = backend_of(values)
        if backend is not None and all_there(values, backend):
            made = backend.ready_row(row, arrays_of(values))
            if made is not None:
                keep(known, key, made)

    if any(p.type == "Any" and is_operand(p) for p in row.params):
        return run
    scope = {
        "PLAIN": PLAIN,
        "KNOWN": known,
        "Tensor": Tensor,
        "TAPE": TAPE,
        "LOCAL": LOCAL,
        "PRODUCTS": PRODUCTS,
        "_as_tensors": as_tensors,
        "_slow": run,
        "_learn": learn,
        "_record": None if rules is None else rules.record,
        **{f"_default_{p.name}": p.default for p in row.params},
    }
    return _by_forms(row, rules is not None, scope)


# Arrays at multiples of 256 bytes, none in another's memory, of geometries that are known: `learn` had
# their like.
_BY_FORMS = """
def run({names}):
    if TAPE:
        return _slow({names})
    try:
        _apart = {addresses}
        _key = ({forms}, PRODUCTS.fp32_precision)
        _known = KNOWN.get(_key)
    except (AttributeError, TypeError):
        return _slow({names})
    if _known is None or _apart & 255 or {together}:
        _out = _slow({names})
        if not _apart & 255 and not ({together}):
            _learn(_key, ({names},))
        return _out
    _out = _as_tensors(_known({arrays}))
{record}    return _out
"""
_RECORD = """    if LOCAL.enabled and ({tracked}):
        _record(({names},), _out)
"""


def _by_forms(row: Row, recorded: bool, scope: dict[str, Any]) -> Run:
    """The runner of a row on a device, by what calls like it came to."""
    operands = [p for p in row.params if p.is_tensor or p.is_list]
    each = [
        f"*[t._array for t in {p.name}]"
        if p.is_list
        else f"{p.name}._array"
        if p.type == "Tensor"
        else f"*(() if {p.name}.__class__ not in PLAIN else ({p.name}._array,))"
        for p in operands
    ]
    arrays = ", ".join(each)
    plain = [f"{p.name}._array" for p in operands if p.type == "Tensor"]
    simple = len(plain) == len(operands)
    together = "False" if simple and len(plain) == 1 else f"{arrays and _shared(plain if simple else each)}"
    addresses = (
        " | ".join(f"{a}.address" for a in plain)
        if simple
        else f"0 | sum([a.address & 255 for a in ({arrays},)])"
    )
    forms = ", ".join([_form_key(p) for p in row.params])
    names = ", ".join(p.name for p in row.params)
    record = _RECORD.format(
        tracked=" or ".join(_any_of(p, "_grad_node is not None") for p in operands), names=names
    )
    text = _BY_FORMS.format(
        names=names,
        addresses=addresses or "0",
        forms=forms,
        together=together or "False",
        arrays=arrays,
        record=record * recorded,
    )
    return compile_function(text, "run", scope, f"{row.name} on a device")


def _shared(arrays: list[str]) -> str:
    """Code for whether two of the arrays lie in one memory."""
    if len(arrays) == 2 and not any(a.startswith("*") for a in arrays):
        return f"{arrays[0]}.handle is {arrays[1]}.handle"
    given = f"({', '.join(arrays)},)"
    return f"len({{id(a.handle) for a in {given}}}) != len({given})"


def _form_key(p: Param) -> str:
    """Code for what tells arguments apart, arrays by their forms."""
    n = p.name
    if p.is_list:
        return f"tuple([(t._kind, t._array.form) for t in {n}])"
    if p.type == "Tensor":
        return f"{n}._kind, {n}._array.form"
    if p.is_tensor:
        return (
            f"({n}._kind, {n}._array.form) if {n}.__class__ in PLAIN else ({n}.__class__, {n} or repr({n}))"
        )
    return key(p, n)


def all_there(values: Sequence[Any], backend: Any) -> bool:
    """Whether all tensors lie on the device."""
    return all(
        [
            v._kind.backend is backend
            if isinstance(v, Tensor)
            else v.__class__ not in (list, tuple) or all_there(v, backend)
            for v in values
        ]
    )


def tracked(values: Sequence[Any]) -> bool:
    """Whether the op must be recorded."""
    return LOCAL.enabled and any(
        [
            v._grad_node is not None if isinstance(v, Tensor) else v.__class__ in (list, tuple) and tracked(v)
            for v in values
        ]
    )


def wrapped(found: Any) -> Any:
    """An array-level result as tensors."""
    if is_away(found):
        return wrap(found)
    if isinstance(found, (tuple, list)):
        items = [wrap(f) if f.__class__ is np.ndarray else wrapped(f) for f in found]
        return items if isinstance(found, list) else tuple.__new__(found.__class__, items)
    return wrap(found) if isinstance(found, (np.ndarray, np.generic)) else found
