"""torch.special: gamma, zeta, error, Bessel and Airy functions and their relatives, one atom each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rushlight._engine.ops.expressions import Expr, const, m, stored
from rushlight._engine.ops.refusals import not_for
from rushlight._engine.ops.table import Row, pointwise


@pointwise(where=("special",), inplace=False, dtypes="float")
def ndtr(input: Expr) -> Expr:
    """The normal distribution function."""
    return m.erfc(input * -math.sqrt(0.5)) * 0.5


def _xlog1py_gradients(grad: Expr, result: Expr, input: Expr, other: Expr) -> dict[str, Expr]:
    """At 0, too, input moves xlog1py by log1p(other), where there is one."""
    outside = m.logical_and(m.eq(input, 0), m.le(other, -1))
    return {"input": m.where(outside, 0, grad * m.log1p(other)), "other": grad * input / (other + 1)}


@pointwise(
    where=("special",), inplace=False, dtypes="float", node="special_xlog1py", gradients=_xlog1py_gradients
)
def xlog1py(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """input * log1p(other), 0 where input is 0 (unless other is nan)."""
    return m.where(m.isnan(other), other, m.where(m.eq(input, 0), 0 * input, input * stored(m.log1p(other))))


_SPECIAL: dict[str, Any] = {"where": ("special",), "inplace": False, "dtypes": "float"}


def _special(body: Callable[..., Expr]) -> Row:
    """A row of torch.special for float32 and float64 alone; its node and its refusals bear its name."""
    return _of_wide_floats(body, node=f"special_{body.__name__}")


def _polynomial(body: Callable[..., Expr]) -> Row:
    """As `_special`, for functions without a gradient, which leave no node."""
    return _of_wide_floats(body)


def _of_wide_floats(body: Callable[..., Expr], **more: Any) -> Row:
    refuse = not_for(f"{body.__name__}_cpu", "complex", "float16", "bfloat16")
    row: Row = pointwise(**_SPECIAL, **more, refuse=refuse)(body)
    return row


@_special
def erfcx(input: Expr) -> Expr:
    """exp(input ** 2) erfc(input)."""
    return m.erfcx(input)


@_special
def ndtri(input: Expr) -> Expr:
    """The quantile of the normal distribution."""
    return m.ndtri(input)


@_special
def log_ndtr(input: Expr) -> Expr:
    """The logarithm of the normal distribution function."""
    return m.log_ndtr(input)


@pointwise(**_SPECIAL, node="special_entr", refuse=not_for("entr_cpu", "complex"))
def entr(input: Expr) -> Expr:
    """-input log(input); 0 at 0, -inf below."""
    return m.entr(input)


@_special
def zeta(input: Tensor | Number, other: Tensor | Number) -> Expr:
    """Hurwitz' zeta: the sum of (k + other) ** -input over k = 0, 1, ..."""
    return m.zeta(input, other)


@pointwise(
    where=("torch", "Tensor"),
    inplace=True,
    dtypes="same",
    aliases=("special.gammainc",),
    refuse=not_for("igamma_cpu", "complex", "int", "bool"),
)
def igamma(input: Expr, other: Expr) -> Expr:
    """The lower regularised incomplete gamma function P(input, other)."""
    return m.gammainc(input, other)


@pointwise(
    where=("torch", "Tensor"),
    inplace=True,
    dtypes="same",
    aliases=("special.gammaincc",),
    refuse=not_for("igammac_cpu", "complex", "int", "bool"),
)
def igammac(input: Expr, other: Expr) -> Expr:
    """The upper regularised incomplete gamma function Q(input, other)."""
    return m.gammaincc(input, other)


@pointwise(**_SPECIAL, node="special_i0e", refuse=not_for("i0e_cpu", "complex"))
def i0e(input: Expr) -> Expr:
    """exp(-|input|) times the modified Bessel function of order 0."""
    return m.i0e(input)


@pointwise(**_SPECIAL, node="special_i1e", refuse=not_for("i1e_cpu", "complex"))
def i1e(input: Expr) -> Expr:
    """exp(-|input|) times the modified Bessel function of order 1."""
    return m.i1e(input)


@_special
def airy_ai(input: Expr) -> Expr:
    """Airy's function Ai."""
    return m.airy_ai(input)


@_special
def bessel_j0(input: Expr) -> Expr:
    """The Bessel function of the first kind, order 0."""
    return m.bessel_j0(input)


@_special
def bessel_j1(input: Expr) -> Expr:
    """The Bessel function of the first kind, order 1."""
    return m.bessel_j1(input)


@_special
def bessel_y0(input: Expr) -> Expr:
    """The Bessel function of the second kind, order 0."""
    return m.bessel_y0(input)


@_special
def bessel_y1(input: Expr) -> Expr:
    """The Bessel function of the second kind, order 1."""
    return m.bessel_y1(input)


@_special
def modified_bessel_i0(input: Expr) -> Expr:
    """The modified Bessel function of the first kind, order 0."""
    return m.bessel_i0(input)


@_special
def modified_bessel_k0(input: Expr) -> Expr:
    """The modified Bessel function of the second kind, order 0."""
    return m.bessel_k0(input)


@_special
def scaled_modified_bessel_k0(input: Expr) -> Expr:
    """exp(input) times modified_bessel_k0."""
    return m.bessel_k0e(input)


@_special
def modified_bessel_i1(input: Expr) -> Expr:
    """The modified Bessel function of the first kind, order 1."""
    return m.bessel_i1(input)


@_special
def modified_bessel_k1(input: Expr) -> Expr:
    """The modified Bessel function of the second kind, order 1."""
    return m.bessel_k1(input)


@_special
def scaled_modified_bessel_k1(input: Expr) -> Expr:
    """exp(input) times modified_bessel_k1."""
    return m.bessel_k1e(input)


@_special
def spherical_bessel_j0(input: Expr) -> Expr:
    """sin(input) / input; 1 at 0."""
    return m.spherical_bessel_j0(input)


@_polynomial
def chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial T of degree n."""
    return m.chebyshev_t(input, n)


@_polynomial
def shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial T*, shifted to [0, 1], of degree n."""
    return m.shifted_chebyshev_t(input, n)


@_polynomial
def chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial U of degree n."""
    return m.chebyshev_u(input, n)


@_polynomial
def shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial U*, shifted to [0, 1], of degree n."""
    return m.shifted_chebyshev_u(input, n)


@_polynomial
def chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial V of degree n."""
    return m.chebyshev_v(input, n)


@_polynomial
def shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial V*, shifted to [0, 1], of degree n."""
    return m.shifted_chebyshev_v(input, n)


@_polynomial
def chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial W of degree n."""
    return m.chebyshev_w(input, n)


@_polynomial
def shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Chebyshev's polynomial W*, shifted to [0, 1], of degree n."""
    return m.shifted_chebyshev_w(input, n)


@_polynomial
def hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """The physicist's Hermite polynomial of degree n."""
    return m.hermite_h(input, n)


@_polynomial
def hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """The probabilist's Hermite polynomial of degree n."""
    return m.hermite_he(input, n)


@_polynomial
def laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Laguerre's polynomial of degree n."""
    return m.laguerre_l(input, n)


@_polynomial
def legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number) -> Expr:
    """Legendre's polynomial of degree n."""
    return m.legendre_p(input, n)


def _derivative(n: int, x: Expr) -> Expr:
    """The n-th derivative of digamma."""
    if n < 2:
        return m.trigamma(x) if n else m.digamma(x)
    return m.polygamma(x, arg=n)


def _check_order(bound: dict[str, Any]) -> None:
    n, x = bound["n"], bound["input"]
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}.")
    if x.dtype.is_complex:
        kernel = ("digamma", "trigamma")[n] if n < 2 else "polygamma"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.legacy}'")


@pointwise(
    dtypes="float", aliases=("special.polygamma",), where=("torch",), check=_check_order, inplace=False
)
def polygamma(n: int, input: Expr) -> Expr:
    """The n-th derivative of digamma."""
    return _derivative(n, input)


@pointwise(
    name="_polygamma",
    dtypes="float",
    where=("Tensor.polygamma", "Tensor.polygamma_"),
    check=_check_order,
    node="polygamma",
)
def _polygamma(input: Expr, n: int) -> Expr:
    """The n-th derivative of digamma."""
    return _derivative(n, input)


def _check_dimension(bound: dict[str, Any]) -> None:
    if bound["p"] < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {bound['p']}")
    if bound["input"].dtype.name == "bool":
        raise RuntimeError("mvlgamma: The input tensor may not be a boolean tensor.")


@pointwise(dtypes="float", aliases=("special.multigammaln",), check=_check_dimension)
def mvlgamma(input: Expr, p: int) -> Expr:
    """The logarithm of the multivariate gamma function of dimension p."""
    total = const(p * (p - 1) * math.log(math.pi) / 4)
    for j in range(p):
        total = m.lgamma(input - j / 2) + total
    return total
