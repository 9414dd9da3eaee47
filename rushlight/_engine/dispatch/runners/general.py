"""The callables of all rows that are not pointwise: a generated prologue over one runner per kind.

The prologue lets plain arguments of the expected classes straight through to the runner; anything
else (keywords in NumPy's spelling, numbers as tensors, out=, interpreters, subclasses, mistakes)
goes by `general`, which binds, checks and converts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.recording import TAPE, settle
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import arguments, factories, interpreters, out_arguments, overrides
from rushlight._engine.dispatch.generated_code import key
from rushlight._engine.dispatch.number_operands import NUMBERS
from rushlight._engine.dispatch.runners.by_kind import runner
from rushlight._engine.dispatch.runners.views import see
from rushlight._engine.ops import signature
from rushlight._engine.ops.table import REFUSALS, ROWS, Row
from rushlight._engine.tensors.storages.storage import whole
from rushlight._engine.tensors.tensor import Tensor, storage

_EXACT = {"int | Tensor": "int", "int": "int", "bool": "bool", "float": "float", "str": "str"}


def build(row: Row) -> Callable[..., Any]:
    """The functional callable of a row."""
    if row.options.get("factory"):
        return factories.build(row)
    run = runner(row)
    params = row.params
    direct = _direct(row, run, params)
    general = overrides.entrance(row, direct)
    if _spread_ints(params):
        return _spread_prologue(row, run, general, params, direct)
    if not params or any(p.varargs and (i or p.type != "*Any" or row.out) for i, p in enumerate(params)):
        return general
    return _prologue(row, run, general, params, direct)


@cache
def build_before(row: Row, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that takes more than its row (tensor, *ints): plain calls reach the row's plans at once."""
    run = runner(row)
    fast = _spread_prologue(row, run, method, row.params, _direct(row, run, row.params))
    return update_wrapper(fast, method)


def _direct(row: Row, run: Callable[..., Any], params: Any) -> Callable[..., Any]:
    if not row.out:

        def plain(*args: Any, **kwargs: Any) -> Any:
            return run(*arguments.bind(row, args, kwargs).values())

        return plain

    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        bound = arguments.bind(row, args, kwargs)
        if out is None:
            return run(*bound.values())
        if (
            "asked" in REFUSALS.get(f"{row.name}/out", ())
            and bound["dtype"] is None
            and isinstance(out, Tensor)
        ):
            bound["dtype"] = out._kind.dtype
        return out_arguments.compute_into(row.name, out, list(bound.values()), lambda: run(*bound.values()))

    return with_out


def _spread_ints(params: tuple[signature.Param, ...]) -> bool:
    """Whether the row is (tensor, *ints) with nothing but keyword-only defaults behind."""
    return (
        len(params) > 1
        and params[0].is_tensor
        and params[1].type.startswith("*Ints")
        and all(p.keyword_only for p in params[2:])
    )


def _spread_prologue(
    row: Row,
    run: Callable[..., Any],
    general: Callable[..., Any],
    params: tuple[signature.Param, ...],
    direct: Callable[..., Any],
) -> Callable[..., Any]:
    name = params[0].name
    rest = {p.name: f"_default_{p.name}" for p in params[2:]}
    absent = "" if params[1].default is signature.REQUIRED else f" and _default_{params[1].name} is not None"
    text = (
        f"def {row.name}({name}, *ints, **extra):\n"
        f"    if extra or {name}.__class__ not in PLAIN or not ints{absent}:\n"
        f"        return general({name}, *ints, **extra)\n"
        f"    if len(ints) == 1:\n"
        f"        if ints[0].__class__ is not int:\n"
        f"            ints = ints[0]\n"
        f"            if ints.__class__ not in TUPLES or not INT.issuperset(map(type, ints)):\n"
        f"                return general({name}, ints)\n"
        f"            ints = tuple(ints)\n"
        f"    elif not ints:\n"
        f"        ints = _default_{params[1].name}\n"
        f"    elif not INT.issuperset(map(type, ints)):\n"
        f"        return general({name}, ints)\n"
        f"{_planned(row, run, params, {params[1].name: 'ints', **rest})}"
        f"    return run({', '.join((name, 'ints', *rest.values()))})\n"
    )
    return _door(text, row, run, general, params, direct)


def _door(
    text: str,
    row: Row,
    run: Callable[..., Any],
    general: Callable[..., Any],
    params: tuple[signature.Param, ...],
    direct: Callable[..., Any],
) -> Callable[..., Any]:
    return overrides.compile_callable(
        text,
        row,
        {
            **getattr(run, "scope", {}),
            "PLAIN": interpreters.PLAIN,
            "general": general,
            "run": run,
            "NUMBERS": NUMBERS,
            "LISTS": frozenset({list, tuple}),
            "INT": frozenset({int}),
            "TUPLES": frozenset({tuple, list, Size}),
            "DTYPE": dtype,
            "PLANS": getattr(run, "plans", None),
            "learn": getattr(run, "learn", None),
            "record": getattr(run, "record", None),
            "LOCAL": LOCAL,
            "whole": whole,
            "see": see,
            "ROW": row,
            "TAPE": TAPE,
            "Tensor": Tensor,
            "taken": _taken,
            "as_noted": _as_noted,
            "shares": _shares,
            "tracked": _any_tracked,
            **{name: ROWS[name] for name in row.options.get("hands_on", ())[1:]},
            **{f"_default_{p.name}": p.default for p in params},
        },
        direct,
    )


def _handed(row: Row, params: tuple[signature.Param, ...]) -> str:
    """Code that gives the operands to another row where the body does nothing else."""
    when, name = row.options.get("hands_on", ("", ""))
    operands = ", ".join([p.name for p in params if p.is_tensor])
    return f"    if {when} and not DETAILED:\n        return {name}.call({operands})\n" if when else ""


def _planned(
    row: Row, run: Callable[..., Any], params: tuple[signature.Param, ...], spelled: dict[str, str]
) -> str:
    """Code that goes by the plan for such arguments, if there is one and no node to make."""
    if not hasattr(run, "plans"):
        return ""
    names = ", ".join(spelled.get(p.name, p.name) for p in params)
    keys = "".join(f"{key(p, spelled.get(p.name, p.name))}, " for p in params)
    operands = [p for p in params if p.is_list or p.is_tensor]
    given = ", ".join(p.name for p in operands)
    tracked = f"({' or '.join(_tracked(p, spelled.get(p.name, p.name)) for p in operands)}) and LOCAL.enabled"
    only = f" and whole({given})" if row.name == "as_strided" else ""
    asked = row.options.get("planned")
    only += f" and {asked}" * isinstance(asked, str)  # code over the arguments, for which it has no effects
    look = f"        _key = ({keys})\n"
    if getattr(run, "takes_tracked", False):  # by plans of their own, for those of them that are tracked
        which = "".join(f"{_tracked(p, p.name, each=True)}, " for p in operands)
        look += f"        if {tracked}:\n            _key = ({keys}{which})\n"
    elif getattr(run, "record", None) is not None:
        return _PLANNED_AND_RECORDED.format(keys=keys, names=names, given=given, tracked=tracked)
    else:
        only = f" and not ({tracked}){only}"
    # A view's plan is mostly its step (views.see).
    way = f"        if plan.__class__ is tuple:\n            return see(plan, {given})\n" * (
        len(operands) == 1 and not operands[0].is_list
    )
    return (
        f"    if not DETAILED{only}:\n{look}        try:\n            plan = PLANS.get(_key)\n"
        f"        except TypeError:\n            return run({names})\n"
        f"{way}        if plan is not None:\n            return plan({given})\n"
        f"        found = learn(_key, {names})\n"
        "        if found is not NotImplemented:\n            return found\n"
    )


# The plan of a row with a gradient of its own holds whether operands are tracked or not: what it gives has
# the row's one node. (That nothing within is to leave nodes behind is told by `enabled`.)
_PLANNED_AND_RECORDED = """    if not DETAILED:
        _key = ({keys})
        try:
            plan = PLANS.get(_key)
        except TypeError:
            return run({names})
        if not ({tracked}):
            if plan is not None:
                return plan({given})
            found = learn(_key, {names})
            if found is not NotImplemented:
                return found
        elif plan is not None:
            LOCAL.enabled = False
            try:
                found = plan({given})
            finally:
                LOCAL.enabled = True
            record(({names},), found)
            return found
"""


def _tracked(p: signature.Param, n: str, each: bool = False) -> str:
    """Code for whether the operand called `n` is tracked, or one in the list; each: for which of them are."""
    if p.is_list:
        items = f"[t._grad_node is not None for t in {n}]"
        two = f"{n}[0]._grad_node is not None or {n}[1]._grad_node is not None"
        return f"tuple({items})" if each else f"({two} if len({n}) == 2 else any({items}))"
    here = f"{n}.__class__ in PLAIN and " if p.takes_number else f"{n} is not None and "
    return f"{here * (p.type != 'Tensor')}{n}._grad_node is not None"


def unlike(p: signature.Param) -> list[str]:
    """Conditions under which an argument is not plain."""
    n, exact = p.name, _EXACT.get(p.type.removesuffix(" | None"))
    if p.varargs:  # f(a, b) and f([a, b]) alike
        given = f"{n}[0] if len({n}) == 1 and {n}[0].__class__ in LISTS else {n}"
        return [f"not PLAIN.issuperset(map(type, {given}))"]
    given = "" if p.default is signature.REQUIRED else f"{n} is not _default_{n} and "
    if p.type.endswith("None"):
        given = f"{n} is not None and " + given * (p.default is not None)
    if p.takes_number:
        return [f"{given}{n}.__class__ not in PLAIN and {n}.__class__ not in NUMBERS"]
    if p.is_tensor:
        return [f"{given}{n}.__class__ not in PLAIN"]
    if p.is_list:
        two = f"len({n}) == 2 and {n}[0].__class__ in PLAIN and {n}[1].__class__ in PLAIN"
        return [
            f"{given}{n}.__class__ not in LISTS",
            f"{given}not ({two} or PLAIN.issuperset(map(type, {n})))",
        ]
    if p.type.startswith("Ints"):
        return [
            f"{given}{n}.__class__ is not int and not "
            f"({n}.__class__ is tuple and INT.issuperset(map(type, {n})))"
        ]
    if exact or p.type.startswith("dtype"):
        return [f"{given}{n}.__class__ is not {exact or 'DTYPE'}"]
    if p.is_number:
        return [f"{given}{n}.__class__ not in NUMBERS"]
    if p.type.startswith("device"):
        return [f"{given}True"]
    return [] if given else [f"{n} is _default_{n}"]


# A result that is like the tensor that takes it is computed as without out=, and copied; whatever is
# otherwise (also what is found then) goes the general way.
_INTO = """    if out is not None and not extra and out.__class__ in PLAIN and not (
            TAPE or 0 in out._array.strides or out._kind.special or {tracked}{apart}):
        _enabled, LOCAL.enabled = LOCAL.enabled, False
        try:
            _found = ROW({call})
        finally:
            LOCAL.enabled = _enabled
        if _found.__class__ is Tensor and _found._kind is out._kind and taken(out, _found):
            return as_noted(out)
"""


def _into(row: Row, params: tuple[signature.Param, ...]) -> str:
    """Code that computes into out= where nothing is unusual."""
    if any(p.name == "generator" or p.varargs for p in params) or row.options.get("out_list"):
        return ""
    operands = [p for p in params if p.is_tensor or p.is_list]
    if not operands or not all(p.type in ("Tensor", "list[Tensor]") for p in operands):
        return ""
    items = ", ".join([f"*{p.name}" if p.is_list else p.name for p in operands])
    apart = f" or shares(out, ({items},))" if row.options.get("out_apart") else ""
    call = ", ".join([f"{p.name}={p.name}" for p in params])
    return _INTO.format(tracked=f"tracked(({items}, out))", apart=apart, call=call)


def _as_noted(out: Tensor) -> Tensor:
    """The same; a profiler has heard of the op already (overrides.compile_callable)."""
    return out


def _taken(out: Tensor, found: Tensor) -> bool:
    """Write a result into a tensor of its kind, if it has that shape and may be written to; whether so."""
    s = out._storage
    if out._array.shape != found._array.shape or (s is not None and s.inference):
        return False
    settle()
    out._array[...] = found._array
    (storage(out) if s is None else s).version += 1
    return True


def _shares(out: Tensor, operands: tuple[Any, ...]) -> bool:
    """Whether an operand may lie in the memory of out."""
    s = out._storage
    return s is not None and any([getattr(t, "_storage", s) is s for t in operands])


def _any_tracked(operands: tuple[Any, ...]) -> bool:
    """Whether an operand is no plain tensor, or one that is in the graph."""
    if not interpreters.PLAIN.issuperset(map(type, operands)):
        return True
    return LOCAL.enabled and any([t._grad_node is not None for t in operands])


def _prologue(
    row: Row,
    run: Callable[..., Any],
    general: Callable[..., Any],
    params: tuple[signature.Param, ...],
    direct: Callable[..., Any],
) -> Callable[..., Any]:
    checks = (
        ["extra"]
        + (["out is not None"] if row.out else [])
        + [f"({c})" if " and " in c else c for p in params for c in unlike(p)]
    )
    names = ", ".join(p.name for p in params)
    call = ", ".join(
        [f"*{p.name}" if p.varargs else f"{p.name}={p.name}" for p in params] + ["out=out"] * row.out
    )
    lists = "".join(
        f"    if {p.name}.__class__ is list:\n        {p.name} = tuple({p.name})\n"
        for p in params
        if p.type.startswith("Ints")
    )
    body = getattr(run, "text", f"    return run({names})\n")
    into = _into(row, params) if row.out else ""
    text = (
        f"def {row.name}({signature.source(params, out=row.out)}, **extra):\n{into}{lists}"
        f"    if {' or '.join(checks)}:\n"
        f"        return general({call}, **extra)\n"
        f"{_handed(row, params)}{_planned(row, run, params, {})}{body}"
    )
    return _door(text, row, run, general, params, direct)
