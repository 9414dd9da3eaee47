# Written by `python tools/stubs.py`.
"""torch.special: special functions, by their rows."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from typing import overload

def airy_ai(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Airy's function Ai.

    Any shape. Integers give the default floating dtype.
    """
def bessel_j0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the first kind, order 0.

    Any shape. Integers give the default floating dtype.
    """
def bessel_j1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the first kind, order 1.

    Any shape. Integers give the default floating dtype.
    """
def bessel_y0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the second kind, order 0.

    Any shape. Integers give the default floating dtype.
    """
def bessel_y1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the second kind, order 1.

    Any shape. Integers give the default floating dtype.
    """
def chebyshev_polynomial_t(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial T of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def chebyshev_polynomial_u(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial U of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def chebyshev_polynomial_v(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial V of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def chebyshev_polynomial_w(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial W of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def digamma(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The derivative of lgamma.

    Any shape. Integers give the default floating dtype.
    """
def entr(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """-input log(input); 0 at 0, -inf below.

    Any shape. Integers give the default floating dtype.
    """
def erf(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The error function.

    Any shape. Integers give the default floating dtype.
    """
def erfc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 - erf(input).

    Any shape. Integers give the default floating dtype.
    """
def erfcx(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input ** 2) erfc(input).

    Any shape. Integers give the default floating dtype.
    """
def erfinv(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of the error function.

    Any shape. Integers give the default floating dtype.
    """
def exp2(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """2 to the power of input.

    Any shape. Integers give the default floating dtype.
    """
def expit(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 / (1 + exp(-input)).

    Any shape. Integers give the default floating dtype.
    """
def expm1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) - 1, exact near 0.

    Any shape. Integers give the default floating dtype.
    """
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The lower regularised incomplete gamma function P(input, other).

    Shapes broadcast, and dtypes are promoted.
    """
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The upper regularised incomplete gamma function Q(input, other).

    Shapes broadcast, and dtypes are promoted.
    """
def gammaln(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of |gamma(input)|.

    Any shape. Integers give the default floating dtype.
    """
def hermite_polynomial_h(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The physicist's Hermite polynomial of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def hermite_polynomial_he(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The probabilist's Hermite polynomial of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def i0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of order 0.

    Any shape. Integers give the default floating dtype.
    """
def i0e(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 0.

    Any shape. Integers give the default floating dtype.
    """
def i1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of order 1.

    Any shape. Integers give the default floating dtype.
    """
def i1e(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 1.

    Any shape. Integers give the default floating dtype.
    """
def laguerre_polynomial_l(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Laguerre's polynomial of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def legendre_polynomial_p(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Legendre's polynomial of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def log1p(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(1 + input), exact near 0.

    Any shape. Integers give the default floating dtype.
    """
def log_ndtr(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of the normal distribution function.

    Any shape. Integers give the default floating dtype.
    """
def log_softmax(input: Tensor, dim: int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps].

    Any shape. Integers give the default floating dtype.
    """
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(sum(exp(input))) over dims, without overflow."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 0.

    Any shape. Integers give the default floating dtype.
    """
def modified_bessel_i1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 1.

    Any shape. Integers give the default floating dtype.
    """
def modified_bessel_k0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 0.

    Any shape. Integers give the default floating dtype.
    """
def modified_bessel_k1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 1.

    Any shape. Integers give the default floating dtype.
    """
def multigammaln(input: Tensor, p: int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    Any shape. Integers give the default floating dtype.
    """
def ndtr(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The normal distribution function.

    Any shape. Integers give the default floating dtype.
    """
def ndtri(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The quantile of the normal distribution.

    Any shape. Integers give the default floating dtype.
    """
def polygamma(n: int, input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The n-th derivative of digamma.

    Any shape. Integers give the default floating dtype.
    """
def psi(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The derivative of lgamma.

    Any shape. Integers give the default floating dtype.
    """
def round(input: Tensor, *, decimals: int | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The nearest integer, halves to even; `decimals` digits after the point.

    Any shape.
    """
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) times modified_bessel_k0.

    Any shape. Integers give the default floating dtype.
    """
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) times modified_bessel_k1.

    Any shape. Integers give the default floating dtype.
    """
def shifted_chebyshev_polynomial_t(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial T*, shifted to [0, 1], of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def shifted_chebyshev_polynomial_u(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial U*, shifted to [0, 1], of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def shifted_chebyshev_polynomial_v(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial V*, shifted to [0, 1], of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def shifted_chebyshev_polynomial_w(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial W*, shifted to [0, 1], of degree n.

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def sinc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0.

    Any shape. Integers give the default floating dtype.
    """
def softmax(input: Tensor, dim: int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along dim; `dtype` converts the input first."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """sin(input) / input; 1 at 0.

    Any shape. Integers give the default floating dtype.
    """
def xlog1py(input: Tensor | int | float | complex, other: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * log1p(other), 0 where input is 0 (unless other is nan).

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def xlogy(input: Tensor | int | float | complex, other: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * log(other), 0 where input is 0 (unless other is nan).

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def zeta(input: Tensor | int | float | complex, other: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Hurwitz' zeta: the sum of (k + other) ** -input over k = 0, 1, ...

    Shapes broadcast, and dtypes are promoted. Integers give the default floating dtype.
    """
def __dir__() -> list[str]: ...
