"""Comparisons, logic and bits."""
from __future__ import annotations

from rushlight.ops.oneatom import NUMBER, binary, unary
from rushlight.ops.scalar import Expr, m
from rushlight.ops.table import pointwise


def _compare(name: str, doc: str, *aliases: str, **facts: object) -> object:
    return binary(name, doc, *aliases, second=NUMBER, result="bool", **facts)


eq = _compare("eq", "Whether input equals other.", commutative=True)
ne = _compare("ne", "Whether input differs from other.", "not_equal", commutative=True)
lt = _compare("lt", "Whether input is below other.", "less")
le = _compare("le", "Whether input is at most other.", "less_equal")
gt = _compare("gt", "Whether input is above other.", "greater")
ge = _compare("ge", "Whether input is at least other.", "greater_equal")

logical_and = binary("logical_and", "Whether both are nonzero.", result="bool")
logical_or = binary("logical_or", "Whether either is nonzero.", result="bool")
logical_xor = binary("logical_xor", "Whether exactly one is nonzero.", result="bool")
logical_not = unary("logical_not", "Whether input is zero.", result="bool")


def _test(name: str, doc: str, **facts: object) -> object:
    return unary(name, doc, result="bool", inplace=False, out=name == "signbit", **facts)


isnan = _test("isnan", "Whether the element is nan.")
isinf = _test("isinf", "Whether the element is infinite.")
isfinite = _test("isfinite", "Whether the element is neither infinite nor nan.")
signbit = _test("signbit", "Whether the sign bit is set (of -0.0 too).")


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


def _bits(name: str, doc: str, atom: str = "") -> object:
    return binary(name, doc, atom=atom, first=NUMBER, second=NUMBER)


bitwise_and = _bits("bitwise_and", "The bits set in both.")
bitwise_or = _bits("bitwise_or", "The bits set in either.")
bitwise_xor = _bits("bitwise_xor", "The bits set in exactly one.")
bitwise_left_shift = _bits("bitwise_left_shift", "input * 2 ** other.", "shift_left")
bitwise_right_shift = _bits("bitwise_right_shift", "input / 2 ** other, floored.", "shift_right")
bitwise_not = unary("bitwise_not", "The bits flipped; of a bool, its opposite.")
