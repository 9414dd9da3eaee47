"""torch.fx.experimental.symbolic_shapes: questions about sizes that depend on a program's inputs.

Sizes are symbolic while a program is exported (rushlight/export/numbers/symbolic.py); of other numbers the
answers are Python's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.export.errors import ConstraintViolationError, GuardOnDataDependentSymNode
from rushlight.export.numbers.environment import CallMethodKey, ShapeEnv
from rushlight.export.numbers.expressions import Expr, Relation, number, parsed, symbol
from rushlight.export.numbers.symbolic import SYMBOLIC, SymBool, expression
from rushlight.export.symbols import ValueRanges

__all__ = [
    "CallMethodKey",
    "ConstraintViolationError",
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "ValueRanges",
    "definitely_false",
    "definitely_true",
    "free_symbols",
    "free_unbacked_symbols",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "hint_int",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_symbolic",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]


def statically_known_true(x: Any) -> bool:
    """Whether a condition is known to hold, whatever the sizes are."""
    return x.numbers.known.holds(x.relation) is True if isinstance(x, SymBool) else bool(x)


def statically_known_false(x: Any) -> bool:
    """Whether a condition is known not to hold, whatever the sizes are."""
    return x.numbers.known.holds(x.relation) is False if isinstance(x, SymBool) else not x


def _or(x: Any, otherwise: bool) -> bool:
    if not isinstance(x, SymBool):
        return bool(x)
    found = x.numbers.known.holds(x.relation)
    if found is None and x.relation.free() <= x.numbers.backed:
        return x.numbers.decide(x.relation, x.value)
    return otherwise if found is None else found


def guard_or_false(x: Any) -> bool:
    """What a condition is; False where a tensor's numbers decide it."""
    return _or(x, False)


def guard_or_true(x: Any) -> bool:
    """What a condition is; True where a tensor's numbers decide it."""
    return _or(x, True)


definitely_true, guard_size_oblivious = guard_or_false, guard_or_false


def definitely_false(x: Any) -> bool:
    """Whether a condition does not hold; False where a tensor's numbers decide it."""
    return not _or(x, True)


def _decided(kind: type) -> Callable[[Any], Any]:
    def guard(x: Any) -> Any:
        if not isinstance(x, SYMBOLIC):
            return kind(x)
        if isinstance(x, SymBool):
            return x.numbers.decide(x.relation, x.value)
        value = kind(x)
        x.numbers.decide(Relation("==", x.expr, number(value)), True)
        return value

    return guard


guard_bool, guard_int, guard_float = _decided(bool), _decided(int), _decided(float)


def hint_int(x: Any, fallback: int | None = None) -> int:
    """The number that it is in this call."""
    return int(x)


def is_symbolic(x: Any) -> bool:
    """Whether a number depends on inputs."""
    return isinstance(x, SYMBOLIC)


def is_concrete_int(x: Any) -> bool:
    """Whether a number is the same in all calls."""
    return not isinstance(x, SYMBOLIC)


is_concrete_bool = is_concrete_float = is_concrete_int


def free_symbols(x: Any) -> set[Any]:
    """A number's symbols, those of a tensor's sizes, or of several values'."""
    if isinstance(x, SymBool):
        return {symbol(name) for name in x.relation.free()}
    if isinstance(x, SYMBOLIC):
        return expression(x).free_symbols
    if isinstance(x, Expr):
        return x.free_symbols
    if hasattr(x, "shape"):
        return free_symbols(tuple(x.shape))
    if hasattr(x, "expression"):
        return parsed(x.expression).free_symbols
    return set().union(*map(free_symbols, x)) if isinstance(x, (tuple, list, set)) else set()


def free_unbacked_symbols(x: Any) -> set[Any]:
    """Those that are numbers of tensors."""
    return {own for own in free_symbols(x) if own.name.startswith(("u", "zuf"))}


def has_free_symbols(x: Any) -> bool:
    """Whether there are any."""
    return bool(free_symbols(x))


def has_free_unbacked_symbols(x: Any) -> bool:
    """Whether there are any that are numbers of tensors."""
    return bool(free_unbacked_symbols(x))


def sym_and(x: Any, *others: Any) -> Any:
    """Whether all hold."""
    for other in others:
        x = x & other
    return x


def sym_or(x: Any, *others: Any) -> Any:
    """Whether one holds."""
    for other in others:
        x = x | other
    return x


def sym_eq(x: Any, y: Any) -> Any:
    """Whether two numbers, or two sequences of them, are equal."""
    if isinstance(x, (tuple, list)):
        if len(x) != len(y):
            return False
        return sym_and(True, *(sym_eq(a, b) for a, b in zip(x, y, strict=True)))
    return x == y
