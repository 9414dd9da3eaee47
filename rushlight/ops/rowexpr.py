"""Expressions over a row: reductions along it, its length, its elements by position."""
from __future__ import annotations

from rushlight.ops.scalar import Expr, Operand, lift, make

REDUCTIONS = ("add", "mul", "max", "min", "any", "all")


def reduce_(kind: str, e: Operand) -> Expr:
    """The reduction of `e` along the row: one value a row."""
    if kind not in REDUCTIONS:
        raise ValueError(f"reduce_: kind must be one of {REDUCTIONS}, got {kind!r}")
    return make("reduce", lift(e), arg=kind)


def extent() -> Expr:
    """The number of elements of the row, as a float."""
    return make("extent")


def at(x: Expr, index: Operand) -> Expr:
    """The row's element of the vector input x at an int64 position."""
    return make("at", x, lift(index))


def iota() -> Expr:
    """The position along the row, as an int64."""
    return make("iota")
