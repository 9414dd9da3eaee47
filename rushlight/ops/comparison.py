"""Comparisons, logic and bits."""
from __future__ import annotations

from rushlight.ops.scalar import Expr, m
from rushlight.ops.table import pointwise


def _ordered(name: str) -> dict[str, str]:
    return {"complex": f"\"{name}\" not implemented for '{{dtype}}'"}


def _compare(name: str, doc: str, *aliases: str, ordered: bool = False) -> object:
    def body(input: "Tensor", other: "Tensor | Number") -> Expr:
        return m.__getattr__(name)(input, other)
    body.__name__, body.__doc__ = name, doc
    refuse = _ordered(f"{name}_cpu") if ordered else {}
    return pointwise(body, aliases=aliases, result="bool", refuse=refuse, commutative=name in (
        "eq", "ne"))


eq = _compare("eq", "Whether input equals other.")
ne = _compare("ne", "Whether input differs from other.", "not_equal")
lt = _compare("lt", "Whether input is below other.", "less", ordered=True)
le = _compare("le", "Whether input is at most other.", "less_equal", ordered=True)
gt = _compare("gt", "Whether input is above other.", "greater", ordered=True)
ge = _compare("ge", "Whether input is at least other.", "greater_equal", ordered=True)


def _logical(name: str, doc: str) -> object:
    def body(input, other) -> Expr:
        return m.__getattr__(name)(input, other)
    body.__name__, body.__doc__ = name, doc
    return pointwise(body, result="bool")


logical_and = _logical("logical_and", "Whether both are nonzero.")
logical_or = _logical("logical_or", "Whether either is nonzero.")
logical_xor = _logical("logical_xor", "Whether exactly one is nonzero.")


@pointwise(result="bool")
def logical_not(input) -> Expr:
    """Whether input is zero."""
    return m.logical_not(input)


def _test(name: str, doc: str) -> object:
    def body(input) -> Expr:
        return m.__getattr__(name)(input)
    body.__name__, body.__doc__ = name, doc
    return pointwise(body, result="bool", inplace=False, out=name == "signbit")


isnan = _test("isnan", "Whether the element is nan.")
isinf = _test("isinf", "Whether the element is infinite.")
isfinite = _test("isfinite", "Whether the element is neither infinite nor nan.")
signbit = _test("signbit", "Whether the sign bit is set (of -0.0 too).")


@pointwise(result="bool", inplace=False)
def isposinf(input) -> Expr:
    """Whether the element is +inf."""
    return m.isinf(input) & m.gt(input, 0)


@pointwise(result="bool", inplace=False)
def isneginf(input) -> Expr:
    """Whether the element is -inf."""
    return m.isinf(input) & m.lt(input, 0)


_INTEGERS = {"float": "\"{op}\" not implemented for '{{dtype}}'",
             "complex": "\"{op}\" not implemented for '{{dtype}}'"}


def _bits(atom: str, name: str, doc: str, *aliases: str) -> object:
    def body(input: "Tensor | Number", other: "Tensor | Number") -> Expr:
        return m.__getattr__(atom)(input, other)
    body.__name__, body.__doc__ = name, doc
    refuse = {k: v.format(op=f"{name}_cpu") for k, v in _INTEGERS.items()}
    if atom.startswith("shift"):
        refuse["bool"] = f"\"{name}_cpu\" not implemented for 'Bool'"
    return pointwise(body, aliases=aliases, refuse=refuse)


bitwise_and = _bits("bitwise_and", "bitwise_and", "The bits set in both.")
bitwise_or = _bits("bitwise_or", "bitwise_or", "The bits set in either.")
bitwise_xor = _bits("bitwise_xor", "bitwise_xor", "The bits set in exactly one.")
bitwise_left_shift = _bits("shift_left", "bitwise_left_shift", "input * 2 ** other.")
bitwise_right_shift = _bits("shift_right", "bitwise_right_shift", "input / 2 ** other, floored.")


@pointwise(refuse={k: v.format(op="bitwise_not_cpu") for k, v in _INTEGERS.items()})
def bitwise_not(input) -> Expr:
    """The bits flipped; of a bool, its opposite."""
    return m.bitwise_not(input)
