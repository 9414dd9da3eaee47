"""Comparisons, logic and bits."""

from __future__ import annotations

from rushlight._engine.ops.expressions import Expr, m
from rushlight._engine.ops.refusals import not_for
from rushlight._engine.ops.table import pointwise


@pointwise(result="bool", inplace=False, out=False)
def isreal(input: Expr) -> Expr:
    """Whether the imaginary part is 0."""
    return m.eq(m.imag(input), 0)


@pointwise(result="bool", inplace=False)
def isposinf(input: Expr) -> Expr:
    """Whether the element is +inf."""
    return m.isinf(input) & m.gt(input, 0)


@pointwise(result="bool", inplace=False)
def isneginf(input: Expr) -> Expr:
    """Whether the element is -inf."""
    return m.isinf(input) & m.lt(input, 0)


@pointwise(result="bool", commutative=True)
def eq(input: Expr, other: Tensor | Number) -> Expr:
    """Whether input equals other."""
    return m.eq(input, other)


@pointwise(aliases=("not_equal",), result="bool", commutative=True)
def ne(input: Expr, other: Tensor | Number) -> Expr:
    """Whether input differs from other."""
    return m.ne(input, other)


@pointwise(aliases=("less",), result="bool", refuse=not_for("lt_cpu", "complex"))
def lt(input: Expr, other: Tensor | Number) -> Expr:
    """Whether input is below other."""
    return m.lt(input, other)


@pointwise(aliases=("less_equal",), result="bool", refuse=not_for("le_cpu", "complex"))
def le(input: Expr, other: Tensor | Number) -> Expr:
    """Whether input is at most other."""
    return m.le(input, other)


@pointwise(aliases=("greater",), result="bool", refuse=not_for("gt_cpu", "complex"))
def gt(input: Expr, other: Tensor | Number) -> Expr:
    """Whether input is above other."""
    return m.gt(input, other)


@pointwise(aliases=("greater_equal",), result="bool", refuse=not_for("ge_cpu", "complex"))
def ge(input: Expr, other: Tensor | Number) -> Expr:
    """Whether input is at least other."""
    return m.ge(input, other)


@pointwise(result="bool")
def logical_and(input: Expr, other: Expr) -> Expr:
    """Whether both are nonzero."""
    return m.logical_and(input, other)


@pointwise(result="bool")
def logical_or(input: Expr, other: Expr) -> Expr:
    """Whether either is nonzero."""
    return m.logical_or(input, other)


@pointwise(result="bool")
def logical_xor(input: Expr, other: Expr) -> Expr:
    """Whether exactly one is nonzero."""
    return m.logical_xor(input, other)


@pointwise(result="bool")
def logical_not(input: Expr) -> Expr:
    """Whether input is zero."""
    return m.logical_not(input)


@pointwise(result="bool", inplace=False, out=False)
def isnan(input: Expr) -> Expr:
    """Whether the element is nan."""
    return m.isnan(input)


@pointwise(result="bool", inplace=False, out=False)
def isinf(input: Expr) -> Expr:
    """Whether the element is infinite."""
    return m.isinf(input)


@pointwise(result="bool", inplace=False, out=False)
def isfinite(input: Expr) -> Expr:
    """Whether the element is neither infinite nor nan."""
    return m.isfinite(input)


@pointwise(
    result="bool", inplace=False, refuse={"complex": "signbit is not implemented for complex tensors."}
)
def signbit(input: Expr) -> Expr:
    """Whether the sign bit is set (of -0.0 too)."""
    return m.signbit(input)


@pointwise(refuse=not_for("bitwise_and_cpu", "float", "complex"))
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """The bits set in both."""
    return m.bitwise_and(input, other)


@pointwise(refuse=not_for("bitwise_or_cpu", "float", "complex"))
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """The bits set in either."""
    return m.bitwise_or(input, other)


@pointwise(refuse=not_for("bitwise_xor_cpu", "float", "complex"))
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """The bits set in exactly one."""
    return m.bitwise_xor(input, other)


@pointwise(refuse=not_for("bitwise_left_shift_cpu", "bool", "float", "complex"))
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input * 2 ** other."""
    return m.shift_left(input, other)


@pointwise(refuse=not_for("bitwise_right_shift_cpu", "bool", "float", "complex"))
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input / 2 ** other, floored."""
    return m.shift_right(input, other)


@pointwise(refuse=not_for("bitwise_not_cpu", "float", "complex"))
def bitwise_not(input: Expr) -> Expr:
    """The bits flipped; of a bool, its opposite."""
    return m.bitwise_not(input)
