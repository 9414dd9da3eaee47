"""Comparisons, logic and bits."""
from __future__ import annotations

from rushlight.ops.oneatom import atoms
from rushlight.ops.scalar import Expr, m
from rushlight.ops.table import pointwise

atoms("comparison")


@pointwise(result="bool", inplace=False, out=False)
def isreal(input) -> Expr:
    """Whether the imaginary part is 0."""
    return m.eq(m.imag(input), 0)


@pointwise(result="bool", inplace=False)
def isposinf(input) -> Expr:
    """Whether the element is +inf."""
    return m.isinf(input) & m.gt(input, 0)


@pointwise(result="bool", inplace=False)
def isneginf(input) -> Expr:
    """Whether the element is -inf."""
    return m.isinf(input) & m.lt(input, 0)
