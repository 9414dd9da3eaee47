"""Elementary functions: exponentials, logarithms, trigonometry, error and gamma functions."""

from __future__ import annotations

import math

from rushlight._engine.ops.creation.copying import view_as_complex, view_as_real
from rushlight._engine.ops.expressions import Expr, const, m, stored
from rushlight._engine.ops.refusals import not_for
from rushlight._engine.ops.table import composite, pointwise


@pointwise(dtypes="float")
def deg2rad(input: Expr) -> Expr:
    """Degrees as radians."""
    return input * 0.017453292519943295


@pointwise(dtypes="float")
def rad2deg(input: Expr) -> Expr:
    """Radians as degrees."""
    return input * 57.29577951308232


def _xlogy_gradients(grad: Expr, result: Expr, input: Expr, other: Expr) -> dict[str, Expr]:
    """At 0, too, input moves xlogy by log(other), where there is one."""
    outside = m.logical_and(m.eq(input, 0), m.le(other, 0))
    return {"input": m.where(outside, 0, grad * m.log(other)), "other": grad * input / other}


@pointwise(dtypes="float", aliases=("special.xlogy",), gradients=_xlogy_gradients)
def xlogy(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input * log(other), 0 where input is 0 (unless other is nan)."""
    return m.where(m.isnan(other), other, m.where(m.eq(input, 0), 0 * input, input * stored(m.log(other))))


@pointwise(dtypes="float")
def exp(input: Expr) -> Expr:
    """e to the power of input."""
    return m.exp(input)


@pointwise(dtypes="float", aliases=("special.exp2",))
def exp2(input: Expr) -> Expr:
    """2 to the power of input."""
    return m.exp2(input)


@pointwise(dtypes="float", aliases=("special.expm1",))
def expm1(input: Expr) -> Expr:
    """exp(input) - 1, exact near 0."""
    return m.expm1(input)


@pointwise(dtypes="float")
def log(input: Expr) -> Expr:
    """The natural logarithm."""
    return m.log(input)


@pointwise(dtypes="float")
def log2(input: Expr) -> Expr:
    """The logarithm to base 2."""
    return m.log2(input)


@pointwise(dtypes="float")
def log10(input: Expr) -> Expr:
    """The logarithm to base 10."""
    return m.log10(input)


@pointwise(dtypes="float", aliases=("special.log1p",))
def log1p(input: Expr) -> Expr:
    """log(1 + input), exact near 0."""
    return m.log1p(input)


@pointwise(dtypes="float")
def sqrt(input: Expr) -> Expr:
    """The square root."""
    return m.sqrt(input)


@pointwise(dtypes="float")
def rsqrt(input: Expr) -> Expr:
    """1 / sqrt(input)."""
    return m.rsqrt(input)


@pointwise(dtypes="float")
def sin(input: Expr) -> Expr:
    """The sine of radians."""
    return m.sin(input)


@pointwise(dtypes="float")
def cos(input: Expr) -> Expr:
    """The cosine of radians."""
    return m.cos(input)


@pointwise(dtypes="float")
def tan(input: Expr) -> Expr:
    """The tangent of radians."""
    return m.tan(input)


@pointwise(dtypes="float", aliases=("arcsin",))
def asin(input: Expr) -> Expr:
    """The arc sine."""
    return m.asin(input)


@pointwise(dtypes="float", aliases=("arccos",))
def acos(input: Expr) -> Expr:
    """The arc cosine."""
    return m.acos(input)


@pointwise(dtypes="float", aliases=("arctan",))
def atan(input: Expr) -> Expr:
    """The arc tangent."""
    return m.atan(input)


@pointwise(dtypes="float")
def sinh(input: Expr) -> Expr:
    """The hyperbolic sine."""
    return m.sinh(input)


@pointwise(dtypes="float")
def cosh(input: Expr) -> Expr:
    """The hyperbolic cosine."""
    return m.cosh(input)


@pointwise(dtypes="float")
def tanh(input: Expr) -> Expr:
    """The hyperbolic tangent."""
    return m.tanh(input)


@pointwise(dtypes="float", aliases=("arcsinh",))
def asinh(input: Expr) -> Expr:
    """The inverse hyperbolic sine."""
    return m.asinh(input)


@pointwise(dtypes="float", aliases=("arccosh",))
def acosh(input: Expr) -> Expr:
    """The inverse hyperbolic cosine."""
    return m.acosh(input)


@pointwise(dtypes="float", aliases=("arctanh",))
def atanh(input: Expr) -> Expr:
    """The inverse hyperbolic tangent."""
    return m.atanh(input)


@pointwise(dtypes="float", aliases=("special.erf",), refuse=not_for("erf_vml_cpu", "complex"))
def erf(input: Expr) -> Expr:
    """The error function."""
    return m.erf(input)


@pointwise(dtypes="float", aliases=("special.erfc",), refuse=not_for("erfc_vml_cpu", "complex"))
def erfc(input: Expr) -> Expr:
    """1 - erf(input)."""
    return m.erfc(input)


@pointwise(dtypes="float", aliases=("special.erfinv",), refuse=not_for("erfinv_vml_cpu", "complex"))
def erfinv(input: Expr) -> Expr:
    """The inverse of the error function."""
    return m.erfinv(input)


@pointwise(dtypes="float", aliases=("special.i0",), refuse=not_for("i0_vml_cpu", "complex"))
def i0(input: Expr) -> Expr:
    """The modified Bessel function of order 0."""
    return m.i0(input)


@pointwise(dtypes="float", where=("special",), inplace=False, node="special_i1")
def i1(input: Expr) -> Expr:
    """The modified Bessel function of order 1."""
    return m.i1(input)


@pointwise(dtypes="float", aliases=("special.gammaln",), refuse=not_for("lgamma_vml_cpu", "complex"))
def lgamma(input: Expr) -> Expr:
    """The logarithm of |gamma(input)|."""
    return m.lgamma(input)


@pointwise(dtypes="float", aliases=("special.digamma", "special.psi"), refuse=not_for("digamma", "complex"))
def digamma(input: Expr) -> Expr:
    """The derivative of lgamma."""
    return m.digamma(input)


@pointwise(dtypes="float", aliases=("special.expit",))
def sigmoid(input: Expr) -> Expr:
    """1 / (1 + exp(-input))."""
    return m.sigmoid(input)


@pointwise(dtypes="float", aliases=("arctan2",), refuse=not_for("atan2_cpu", "complex"))
def atan2(input: Expr, other: Expr) -> Expr:
    """The angle of the point (other, input)."""
    return m.atan2(input, other)


def _logit_gradients(grad: Expr, result: Expr, input: Expr, eps: float | None = None) -> dict[str, Expr]:
    """0 where the input was clamped, nan where there is no logit."""
    low = const(0.0) if eps is None else stored(const(eps))
    high = const(1.0) if eps is None else stored(1 - low)
    outside = m.logical_or(m.lt(input, low), m.gt(input, high))
    return {"input": m.where(outside, math.nan if eps is None else 0, grad / (input * (1 - input)))}


@pointwise(dtypes="float", aliases=("special.logit",), gradients=_logit_gradients)
def logit(input: Expr, eps: float | None = None) -> Expr:
    """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps]."""
    x = input
    if eps is not None:
        low = stored(const(eps))
        x = m.clamp_max(m.clamp_min(x, low), stored(1 - low))
    return m.log(stored(x / stored(1 - x)))


def _logaddexp_gradients(grad: Expr, result: Expr, input: Expr, other: Expr) -> dict[str, Expr]:
    """Smooth where both are the same, which the higher and the lower of two are not."""
    return {"input": grad / (1 + m.exp(other - input)), "other": grad / (1 + m.exp(input - other))}


@pointwise(dtypes="float", inplace=False, gradients=_logaddexp_gradients)
def logaddexp(input: Expr, other: Expr) -> Expr:
    """log(exp(input) + exp(other)) without overflow."""
    same = m.eq(input, other) & m.isinf(input)
    high = m.maximum(input, other)
    # The lower less the higher: of complex numbers that is not -|input - other|.
    return m.where(same, input, high + m.log1p(m.exp(m.minimum(input, other) - high)))


def _logaddexp2_gradients(grad: Expr, result: Expr, input: Expr, other: Expr) -> dict[str, Expr]:
    """As those of logaddexp."""
    return {"input": grad / (1 + m.exp2(other - input)), "other": grad / (1 + m.exp2(input - other))}


@pointwise(dtypes="float", inplace=False, gradients=_logaddexp2_gradients)
def logaddexp2(input: Expr, other: Expr) -> Expr:
    """log2(2 ** input + 2 ** other) without overflow."""
    same = m.eq(input, other) & m.isinf(input)
    high = m.maximum(input, other)
    return m.where(same, input, m.fma(m.log1p(m.exp2(-m.abs(input - other))), 1.4426950408889634, high))


@pointwise(dtypes="float", aliases=("special.sinc",))
def sinc(input: Expr) -> Expr:
    """sin(pi x) / (pi x), 1 at 0."""
    x = input * 3.141592653589793
    zero = m.eq(input, 0)
    safe = m.where(zero, 1, x)
    return m.where(zero, 1, m.sin(safe) / safe)


@composite(inplace=True, out=True, planned=True)
def nan_to_num(input, nan: float | None = None, posinf: float | None = None, neginf: float | None = None):
    """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
    if input.is_complex() and input.numel():
        parts = view_as_real(input.resolve_conj())
        return view_as_complex(nan_to_num(parts, nan, posinf, neginf))
    return _nan_to_num(input, nan, posinf, neginf) if input.is_floating_point() else input.clone()


@pointwise(name="_nan_to_num", where=("aten",), node="nan_to_num")
def _nan_to_num(
    input: Expr, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Expr:
    """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
    high = m.largest(input) if posinf is None else const(posinf)
    low = -m.largest(input) if neginf is None else const(neginf)
    found = m.where(m.isinf(input), m.where(m.gt(input, 0), high, low), input)
    return m.where(m.isnan(input), const(0 if nan is None else nan), found)
