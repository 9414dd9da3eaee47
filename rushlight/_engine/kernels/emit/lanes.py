"""Values of several lanes, with Python's operators: each writes the instruction that it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.kernels.emit.llvm_ir import Function

Number = int | float
_FLOATS = ("float", "double", "half")


def is_float(kind: str) -> bool:
    """Whether an element type is a floating one."""
    return kind in _FLOATS


class Lane:
    """A value of every lane; `+ - * /` and comparisons are ordered IEEE or signed integer ones."""

    __slots__ = ("function", "kind", "name")

    def __init__(self, f: Function, kind: str, name: str) -> None:
        self.function, self.kind, self.name = f, kind, name

    def __repr__(self) -> str:
        return f"{self.type} {self.name}"

    @property
    def type(self) -> str:
        """The LLVM type."""
        return f"<{self.function.width} x {self.kind}>"

    def other(self, operand: Lane | Number) -> Lane:
        """An operand as a Lane of this kind."""
        return operand if isinstance(operand, Lane) else self.function.const(self.kind, operand)

    def arithmetic(self, op: str, b: Lane | Number) -> Lane:
        """An operation: add, sub, mul, div."""
        prefix = "f" if is_float(self.kind) else ""
        return self.function.lanes(self.kind, f"{prefix}{op} {self!r}, {self.other(b).name}")

    def mirrored(self, op: str, b: Lane | Number) -> Lane:
        """The operation with this as its second operand."""
        return self.other(b).arithmetic(op, self)

    def __add__(self, b: Lane | Number) -> Lane:
        return self.arithmetic("add", b)

    def __radd__(self, b: Lane | Number) -> Lane:
        return self.mirrored("add", b)

    def __sub__(self, b: Lane | Number) -> Lane:
        return self.arithmetic("sub", b)

    def __rsub__(self, b: Lane | Number) -> Lane:
        return self.mirrored("sub", b)

    def __mul__(self, b: Lane | Number) -> Lane:
        return self.arithmetic("mul", b)

    def __rmul__(self, b: Lane | Number) -> Lane:
        return self.mirrored("mul", b)

    def __truediv__(self, b: Lane | Number) -> Lane:
        return self.arithmetic("div", b)

    def __rtruediv__(self, b: Lane | Number) -> Lane:
        return self.mirrored("div", b)

    def __neg__(self) -> Lane:
        if is_float(self.kind):
            return self.function.lanes(self.kind, f"fneg {self!r}")
        return 0 - self

    def bits(self, op: str, b: Lane | Number) -> Lane:
        """A bit operation: and, or, xor, shl, lshr, ashr."""
        return self.function.lanes(self.kind, f"{op} {self!r}, {self.other(b).name}")

    def __and__(self, b: Lane | Number) -> Lane:
        return self.bits("and", b)

    def __or__(self, b: Lane | Number) -> Lane:
        return self.bits("or", b)

    def __xor__(self, b: Lane | Number) -> Lane:
        return self.bits("xor", b)

    def __invert__(self) -> Lane:
        return self.bits("xor", 1 if self.kind == "i1" else -1)

    def compare(self, relation: str, b: Lane | Number, unsigned: bool = False) -> Lane:
        """A mask: relation is eq, ne, lt, le, gt, ge (nan compares false, but for ne)."""
        if is_float(self.kind):
            code = "fcmp " + ("une" if relation == "ne" else "o" + relation)
        elif relation in ("eq", "ne"):
            code = "icmp " + relation
        else:
            code = f"icmp {'u' if unsigned or self.kind == 'i1' else 's'}{relation}"
        return self.function.lanes("i1", f"{code} {self!r}, {self.other(b).name}")

    def __lt__(self, b: Lane | Number) -> Lane:
        return self.compare("lt", b)

    def __le__(self, b: Lane | Number) -> Lane:
        return self.compare("le", b)

    def __gt__(self, b: Lane | Number) -> Lane:
        return self.compare("gt", b)

    def __ge__(self, b: Lane | Number) -> Lane:
        return self.compare("ge", b)

    def equal(self, b: Lane | Number) -> Lane:
        """The mask of equal lanes."""
        return self.compare("eq", b)

    def is_nan(self) -> Lane:
        """The mask of nans."""
        return self.function.lanes("i1", f"fcmp uno {self!r}, {self.name}")

    def where(self, a: Lane | Number, b: Lane | Number) -> Lane:
        """For a mask: `a` where it is set, else `b`; one of them must be a Lane."""
        like = a if isinstance(a, Lane) else b
        if not isinstance(like, Lane):
            raise TypeError("where: expected a Lane among the choices, got two numbers")
        a, b = like.other(a), like.other(b)
        return self.function.lanes(like.kind, f"select {self!r}, {a!r}, {b!r}")

    def fma(self, b: Lane | Number, c: Lane | Number) -> Lane:
        """self * b + c, rounded once where the processor can."""
        return self.function.intrinsic("llvm.fmuladd", self, self.other(b), self.other(c))

    def cast(self, op: str, kind: str) -> Lane:
        """A conversion instruction: bitcast, fpext, fptrunc, sext, zext, trunc, sitofp ..."""
        return self.function.lanes(kind, f"{op} {self!r} to {self.function.type(kind)}")

    def abs(self) -> Lane:
        """The absolute value of floating lanes."""
        return self.function.intrinsic("llvm.fabs", self)

    def sqrt(self) -> Lane:
        """The square root."""
        return self.function.intrinsic("llvm.sqrt", self)

    def copysign(self, sign: Lane) -> Lane:
        """This magnitude with the sign of `sign`."""
        return self.function.intrinsic("llvm.copysign", self, sign)


def horner(x: Lane, coefficients: Sequence[float]) -> Lane:
    """A polynomial, highest power first, in the fewest operations, each waiting for the last."""
    total: Lane | float = coefficients[0]
    for c in coefficients[1:]:
        total = x.other(total).fma(x, c)
    return x.other(total)


def polynomial(x: Lane, coefficients: Sequence[float]) -> Lane:
    """A polynomial, highest power first, by Estrin's scheme: neighbours pair up, level by level.

    A few more operations than Horner's rule, but most of them do not wait for each other.
    """
    terms: list[Lane | float] = list(coefficients[::-1])
    while len(terms) > 1:
        paired: list[Lane | float] = [
            x.other(high).fma(x, low) for low, high in zip(terms[::2], terms[1::2], strict=False)
        ]
        terms = paired + terms[len(paired) * 2 :]
        x = x * x if len(terms) > 1 else x
    return x.other(terms[0])
