"""The callables of all rows that are not pointwise: a generated prologue over one runner per kind.

The prologue lets plain arguments of the expected classes straight through to the runner; anything
else (keywords in NumPy's spelling, numbers as tensors, out=, interpreters, subclasses, mistakes)
goes by `general`, which binds, checks and converts.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.base.dtype import dtype
from rushlight.base.size import Size
from rushlight.dispatch import arguments, factories, outputs, overrides, state
from rushlight.dispatch.kinds import runner
from rushlight.dispatch.literals import NUMBERS
from rushlight.ops import signature
from rushlight.ops.table import Row

_EXACT = {"int": "int", "bool": "bool", "float": "float", "str": "str"}


def build(row: Row) -> Callable[..., Any]:
    """The functional callable of a row."""
    if row.options.get("factory"):
        return factories.build(row)
    run = runner(row)
    params = _public(row)
    direct = _direct(row, run, params)
    general = overrides.entrance(row, direct)
    if _spread_ints(params):
        return _spread_prologue(row, run, general, params, direct)
    if any(p.varargs for p in params) or not params:
        return general
    return _prologue(row, run, general, params, direct)


def _public(row: Row) -> tuple[signature.Param, ...]:
    return row.params


def _direct(row: Row, run: Callable[..., Any], params: Any) -> Callable[..., Any]:
    if not row.out:
        def plain(*args: Any, **kwargs: Any) -> Any:
            return run(*arguments.bind(row, args, kwargs).values())
        return plain

    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        bound = arguments.bind(row, args, kwargs)
        if out is None:
            return run(*bound.values())
        return outputs.compute_into(row.name, out, list(bound.values()), lambda: run(*bound.values()))
    return with_out


def _spread_ints(params: tuple[signature.Param, ...]) -> bool:
    """Whether the row is (tensor, *ints) with nothing but keyword-only defaults behind."""
    return (len(params) > 1 and params[0].is_tensor and params[1].type.startswith("*Ints")
            and all(p.keyword_only for p in params[2:]))


def _spread_prologue(row: Row, run: Callable[..., Any], general: Callable[..., Any],
                     params: tuple[signature.Param, ...], direct: Callable[..., Any]) -> Callable[..., Any]:
    name = params[0].name
    rest = "".join(f", _default_{p.name}" for p in params[2:])
    text = (f"def {row.name}({name}, *ints, **extra):\n"
            f"    if extra or MODES or {name}.__class__ not in PLAIN or not ints:\n"
            f"        return general({name}, *ints, **extra)\n"
            f"    if len(ints) == 1 and ints[0].__class__ is not int:\n"
            f"        ints = ints[0]\n"
            f"        if ints.__class__ not in TUPLES:\n"
            f"            return general({name}, ints)\n"
            f"    for i in ints:\n"
            f"        if i.__class__ is not int:\n"
            f"            return general({name}, ints)\n"
            f"    return run({name}, ints{rest})\n")
    scope: dict[str, Any] = {"MODES": state.MODES, "PLAIN": state.PLAIN, "general": general,
                             "run": run, "TUPLES": frozenset({tuple, Size}),
                             **{f"_default_{p.name}": p.default for p in params}}
    return overrides.compile_door(text, row, scope, direct)


def _prologue(row: Row, run: Callable[..., Any], general: Callable[..., Any],
              params: tuple[signature.Param, ...], direct: Callable[..., Any]) -> Callable[..., Any]:
    checks = ["extra", "MODES"] + (["out is not None"] if row.out else [])
    for p in params:
        exact = _EXACT.get(p.type.removesuffix(" | None"))
        given = "" if p.default is signature.REQUIRED else f"{p.name} is not _default_{p.name} and "
        if p.takes_number:
            checks.append(f"{given}{p.name}.__class__ not in PLAIN and "
                          f"{p.name}.__class__ not in NUMBERS")
        elif p.is_tensor:
            checks.append(f"{given}{p.name}.__class__ not in PLAIN")
        elif p.is_list:
            checks.append(f"{given}{p.name}.__class__ not in LISTS")
            checks.append(f"{given}not PLAIN.issuperset(map(type, {p.name}))")
        elif p.type.startswith("Ints"):
            checks.append(f"{given}{p.name}.__class__ is not int and not "
                          f"({p.name}.__class__ is tuple and INT.issuperset(map(type, {p.name})))")
        elif exact:
            checks.append(f"{given}{p.name}.__class__ is not {exact}")
        elif p.is_number:
            checks.append(f"{given}{p.name}.__class__ not in NUMBERS")
        elif p.type.startswith("dtype"):
            checks.append(f"{given}{p.name}.__class__ is not DTYPE")
        elif p.type.startswith("device"):
            checks.append(f"{given}True" if given else "True")
        elif not given:
            checks.append(f"{p.name} is _default_{p.name}")
    names = ", ".join(p.name for p in params)
    call = ", ".join(f"{p.name}={p.name}" for p in params) + (", out=out" if row.out else "")
    text = (f"def {row.name}({signature.source(params, out=row.out)}, **extra):\n"
            f"    if {' or '.join(f'({c})' if ' and ' in c else c for c in checks)}:\n"
            f"        return general({call}, **extra)\n"
            f"    return run({names})\n")
    scope: dict[str, Any] = {"MODES": state.MODES, "PLAIN": state.PLAIN, "general": general,
                             "run": run, "NUMBERS": NUMBERS,
                             "LISTS": frozenset({list, tuple}), "INT": frozenset({int}), "DTYPE": dtype,
                             **{f"_default_{p.name}": p.default for p in params}}
    return overrides.compile_door(text, row, scope, direct)
