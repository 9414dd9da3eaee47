"""What each atom of scalar expressions is in ONNX's ops.

An atom is a function of `onnx`, the graph's builder (`onnx.Add(x, y)` is a node), and of its operands.
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight._engine.core import dtype as dt
from rushlight.onnx.builder import Builder, Ref

ATOMS: dict[str, Callable[..., Ref]] = {}


def atom(*names: str) -> Callable[[Callable[..., Ref]], Callable[..., Ref]]:
    """Decorates the function of these atoms."""

    def add(function: Callable[..., Ref]) -> Callable[..., Ref]:
        for name in names:
            if name in ATOMS:
                raise ValueError(f"{name} has two forms: one of them must go")
            ATOMS[name] = function
        return function

    return add


def as_bool(onnx: Builder, x: Ref) -> Ref:
    """A value as bool."""
    return onnx.cast(x, dt.bool_)


@atom("add")
def add(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Add(x, y)


@atom("sub")
def sub(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Sub(x, y)


@atom("mul")
def mul(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Mul(x, y)


@atom("div")
def div(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Div(x, y)


@atom("fma")
def fma(onnx: Builder, x: Ref, y: Ref, z: Ref) -> Ref:
    return onnx.Add(onnx.Mul(x, y), z)


@atom("neg")
def neg(onnx: Builder, x: Ref) -> Ref:
    return onnx.Neg(x)


@atom("abs")
def absolute(onnx: Builder, x: Ref) -> Ref:
    return onnx.Abs(x)


@atom("sgn")
def sgn(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sign(x)


@atom("real", "conj")
def real(onnx: Builder, x: Ref) -> Ref:
    return onnx.Identity(x)


@atom("reciprocal")
def reciprocal(onnx: Builder, x: Ref) -> Ref:
    return onnx.Reciprocal(x)


@atom("sqrt")
def sqrt(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sqrt(x)


@atom("rsqrt")
def rsqrt(onnx: Builder, x: Ref) -> Ref:
    return onnx.Reciprocal(onnx.Sqrt(x))


@atom("exp")
def exp(onnx: Builder, x: Ref) -> Ref:
    return onnx.Exp(x)


@atom("exp2")
def exp2(onnx: Builder, x: Ref) -> Ref:
    return onnx.Pow(2.0, x)


@atom("expm1")
def expm1(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sub(onnx.Exp(x), 1)


@atom("log")
def log(onnx: Builder, x: Ref) -> Ref:
    return onnx.Log(x)


@atom("log1p")
def log1p(onnx: Builder, x: Ref) -> Ref:
    return onnx.Log(onnx.Add(x, 1))


@atom("log2")
def log2(onnx: Builder, x: Ref) -> Ref:
    return onnx.Mul(onnx.Log(x), 1.4426950408889634)


@atom("log10")
def log10(onnx: Builder, x: Ref) -> Ref:
    return onnx.Mul(onnx.Log(x), 0.4342944819032518)


@atom("pow", "power")
def power(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Pow(x, y)


@atom("sigmoid")
def sigmoid(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sigmoid(x)


@atom("tanh")
def tanh(onnx: Builder, x: Ref) -> Ref:
    return onnx.Tanh(x)


@atom("sin")
def sin(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sin(x)


@atom("cos")
def cos(onnx: Builder, x: Ref) -> Ref:
    return onnx.Cos(x)


@atom("tan")
def tan(onnx: Builder, x: Ref) -> Ref:
    return onnx.Tan(x)


@atom("asin")
def asin(onnx: Builder, x: Ref) -> Ref:
    return onnx.Asin(x)


@atom("acos")
def acos(onnx: Builder, x: Ref) -> Ref:
    return onnx.Acos(x)


@atom("atan")
def atan(onnx: Builder, x: Ref) -> Ref:
    return onnx.Atan(x)


@atom("sinh")
def sinh(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sinh(x)


@atom("cosh")
def cosh(onnx: Builder, x: Ref) -> Ref:
    return onnx.Cosh(x)


@atom("asinh")
def asinh(onnx: Builder, x: Ref) -> Ref:
    return onnx.Asinh(x)


@atom("acosh")
def acosh(onnx: Builder, x: Ref) -> Ref:
    return onnx.Acosh(x)


@atom("atanh")
def atanh(onnx: Builder, x: Ref) -> Ref:
    return onnx.Atanh(x)


@atom("erf")
def erf(onnx: Builder, x: Ref) -> Ref:
    return onnx.Erf(x)


@atom("erfc")
def erfc(onnx: Builder, x: Ref) -> Ref:
    return onnx.Sub(1.0, onnx.Erf(x))


@atom("hypot")
def hypot(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Sqrt(onnx.Add(onnx.Mul(x, x), onnx.Mul(y, y)))


@atom("floor")
def floor(onnx: Builder, x: Ref) -> Ref:
    return onnx.Floor(x)


@atom("ceil")
def ceil(onnx: Builder, x: Ref) -> Ref:
    return onnx.Ceil(x)


@atom("round")
def rounded(onnx: Builder, x: Ref) -> Ref:
    return onnx.Round(x)


@atom("trunc")
def trunc(onnx: Builder, x: Ref) -> Ref:
    return onnx.Mul(onnx.Sign(x), onnx.Floor(onnx.Abs(x)))


@atom("relu")
def relu(onnx: Builder, x: Ref) -> Ref:
    return onnx.Relu(x)


@atom("maximum", "clamp_min", "fmax")
def maximum(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Max(x, y)


@atom("minimum", "clamp_max", "fmin")
def minimum(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Min(x, y)


@atom("hardtanh")
def hardtanh(onnx: Builder, x: Ref, y: Ref, z: Ref) -> Ref:
    return onnx.Min(onnx.Max(x, y), z)


@atom("where")
def where(onnx: Builder, x: Ref, y: Ref, z: Ref) -> Ref:
    return onnx.Where(x, y, z)


@atom("lt")
def lt(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Less(x, y)


@atom("le")
def le(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.LessOrEqual(x, y)


@atom("gt")
def gt(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Greater(x, y)


@atom("ge")
def ge(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.GreaterOrEqual(x, y)


@atom("eq")
def eq(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Equal(x, y)


@atom("ne")
def ne(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Not(onnx.Equal(x, y))


@atom("isnan")
def isnan(onnx: Builder, x: Ref) -> Ref:
    return onnx.IsNaN(x)


@atom("isinf")
def isinf(onnx: Builder, x: Ref) -> Ref:
    return onnx.IsInf(x)


@atom("isfinite")
def isfinite(onnx: Builder, x: Ref) -> Ref:
    return onnx.Not(onnx.Or(onnx.IsInf(x), onnx.IsNaN(x)))


@atom("signbit")
def signbit(onnx: Builder, x: Ref) -> Ref:
    return onnx.Less(x, 0)


@atom("logical_and")
def logical_and(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.And(as_bool(onnx, x), as_bool(onnx, y))


@atom("logical_or")
def logical_or(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Or(as_bool(onnx, x), as_bool(onnx, y))


@atom("logical_xor")
def logical_xor(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Xor(as_bool(onnx, x), as_bool(onnx, y))


@atom("logical_not")
def logical_not(onnx: Builder, x: Ref) -> Ref:
    return onnx.Not(as_bool(onnx, x))


@atom("bitwise_and")
def bitwise_and(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.And(x, y) if x.dtype.name == "bool" else onnx.BitwiseAnd(x, y)


@atom("bitwise_or")
def bitwise_or(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Or(x, y) if x.dtype.name == "bool" else onnx.BitwiseOr(x, y)


@atom("bitwise_xor")
def bitwise_xor(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Xor(x, y) if x.dtype.name == "bool" else onnx.BitwiseXor(x, y)


@atom("bitwise_not")
def bitwise_not(onnx: Builder, x: Ref) -> Ref:
    return onnx.Not(x) if x.dtype.name == "bool" else onnx.BitwiseNot(x)


@atom("fmod")
def fmod(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return onnx.Mod(x, y, fmod=1)


@atom("remainder")
def remainder(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return (
        onnx.Sub(x, onnx.Mul(y, onnx.Floor(onnx.Div(x, y)))) if x.dtype.is_floating_point else onnx.Mod(x, y)
    )


@atom("floor_divide")
def floor_divide(onnx: Builder, x: Ref, y: Ref) -> Ref:
    return (
        onnx.Floor(onnx.Div(x, y)) if x.dtype.is_floating_point else onnx.Div(onnx.Sub(x, onnx.Mod(x, y)), y)
    )
