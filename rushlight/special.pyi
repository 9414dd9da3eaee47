# Written by `python tools/stubs.py`.
"""torch.special: special functions, by their rows."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from typing import overload

def airy_ai(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Airy's function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the first kind, order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the first kind, order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the second kind, order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The Bessel function of the second kind, order 1."""
def chebyshev_polynomial_t(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial T of degree n."""
def chebyshev_polynomial_u(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial U of degree n."""
def chebyshev_polynomial_v(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial V of degree n."""
def chebyshev_polynomial_w(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial W of degree n."""
def digamma(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The derivative of lgamma."""
def entr(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """-input log(input); 0 at 0, -inf below."""
def erf(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 - erf(input)."""
def erfcx(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input ** 2) erfc(input)."""
def erfinv(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of the error function."""
def exp2(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """2 to the power of input."""
def expit(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""
def expm1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) - 1, exact near 0."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The lower regularised incomplete gamma function P(input, other)."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The upper regularised incomplete gamma function Q(input, other)."""
def gammaln(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of |gamma(input)|."""
def hermite_polynomial_h(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The physicist's Hermite polynomial of degree n."""
def hermite_polynomial_he(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The probabilist's Hermite polynomial of degree n."""
def i0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
def i0e(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 0."""
def i1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
def i1e(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 1."""
def laguerre_polynomial_l(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Laguerre's polynomial of degree n."""
def legendre_polynomial_p(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Legendre's polynomial of degree n."""
def log1p(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(1 + input), exact near 0."""
def log_ndtr(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of the normal distribution function."""
def log_softmax(input: Tensor, dim: int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps]."""
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """log(sum(exp(input))) over dims, without overflow."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 1."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
def ndtr(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The normal distribution function."""
def ndtri(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The quantile of the normal distribution."""
def polygamma(n: int, input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The n-th derivative of digamma."""
def psi(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The derivative of lgamma."""
def round(input: Tensor, *, decimals: int | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The nearest integer, halves to even; `decimals` digits after the point."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) times modified_bessel_k0."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) times modified_bessel_k1."""
def shifted_chebyshev_polynomial_t(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial T*, shifted to [0, 1], of degree n."""
def shifted_chebyshev_polynomial_u(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial U*, shifted to [0, 1], of degree n."""
def shifted_chebyshev_polynomial_v(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial V*, shifted to [0, 1], of degree n."""
def shifted_chebyshev_polynomial_w(input: Tensor | int | float | complex, n: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Chebyshev's polynomial W*, shifted to [0, 1], of degree n."""
def sinc(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
def softmax(input: Tensor, dim: int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along dim; `dtype` converts the input first."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """sin(input) / input; 1 at 0."""
def xlog1py(input: Tensor | int | float | complex, other: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * log1p(other), 0 where input is 0 (unless other is nan)."""
def xlogy(input: Tensor | int | float | complex, other: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input * log(other), 0 where input is 0 (unless other is nan)."""
def zeta(input: Tensor | int | float | complex, other: Tensor | int | float | complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """Hurwitz' zeta: the sum of (k + other) ** -input over k = 0, 1, ..."""
def __dir__() -> list[str]: ...
__all__ = ['airy_ai', 'bessel_j0', 'bessel_j1', 'bessel_y0', 'bessel_y1', 'chebyshev_polynomial_t',
    'chebyshev_polynomial_u', 'chebyshev_polynomial_v', 'chebyshev_polynomial_w', 'digamma', 'entr', 'erf',
    'erfc', 'erfcx', 'erfinv', 'exp2', 'expit', 'expm1', 'gammainc', 'gammaincc', 'gammaln',
    'hermite_polynomial_h', 'hermite_polynomial_he', 'i0', 'i0e', 'i1', 'i1e', 'laguerre_polynomial_l',
    'legendre_polynomial_p', 'log1p', 'log_ndtr', 'log_softmax', 'logit', 'logsumexp', 'modified_bessel_i0',
    'modified_bessel_i1', 'modified_bessel_k0', 'modified_bessel_k1', 'multigammaln', 'ndtr', 'ndtri',
    'polygamma', 'psi', 'round', 'scaled_modified_bessel_k0', 'scaled_modified_bessel_k1',
    'shifted_chebyshev_polynomial_t', 'shifted_chebyshev_polynomial_u', 'shifted_chebyshev_polynomial_v',
    'shifted_chebyshev_polynomial_w', 'sinc', 'softmax', 'spherical_bessel_j0', 'xlog1py', 'xlogy', 'zeta']
