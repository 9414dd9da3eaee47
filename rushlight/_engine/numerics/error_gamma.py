"""Error and gamma functions of NumPy arrays, for every floating dtype.

Each keeps its operand's dtype (half precisions round by way of float32), never warns, and agrees
with PyTorch at infinities, poles and signed zeros. The C library's own erf, erfc and lgamma are
by_float64 to arrays; the rest are the classical expansions, computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight._engine.numerics.float64_formulas import (
    Symbolic,
    by_float64,
    horner,
    narrow,
    rational,
    result_dtype,
)
from rushlight._engine.numerics.ufunc import from_libm


def _c_function(name: str, x: Any) -> Any:
    if isinstance(x, Symbolic):
        return x.called(name)
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: expected real numbers, got complex ones")
    kept = result_dtype(x)
    with np.errstate(all="ignore"):
        return narrow(from_libm(name)(x if kept.itemsize >= 4 else x.astype(np.float32)), kept)


def erf(x: Any) -> Any:
    """2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return _c_function("erf", x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where erf is close to 1."""
    return _c_function("erfc", x)


@by_float64
def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of gamma(x); inf at its poles."""
    return _c_function("lgamma", x)


# W. J. Cody, Rational Chebyshev approximations for the error function (1969): erfcx on
# [0.46875, 4] and, in 1 / x^2, beyond.
ERFCX_MID, ERFCX_FAR = rational("erfcx_mid"), rational("erfcx_far")
INV_SQRT_PI = 1 / math.sqrt(math.pi)

# M. J. Wichura, algorithm AS 241 (1988): the normal quantile for |p - 1/2| <= 0.425 in terms of
# 0.180625 - (p - 1/2)^2, then in terms of r = sqrt(-log of the tail), for r <= 5 and beyond.
QUANTILE_CENTRE, QUANTILE_MID, QUANTILE_FAR = map(
    rational, ("quantile_centre", "quantile_mid", "quantile_far")
)


def _normal_quantile(offset: Any, tail: Any) -> Any:
    """The x with normal distribution function 1/2 + offset; `tail` is 1/2 - |offset|, exactly."""
    r = 0.180625 - offset * offset
    centre = offset * horner(r, QUANTILE_CENTRE[0]) / horner(r, QUANTILE_CENTRE[1])
    r = np.sqrt(-np.log(tail))
    mid = horner(r - 1.6, QUANTILE_MID[0]) / horner(r - 1.6, QUANTILE_MID[1])
    far = horner(r - 5, QUANTILE_FAR[0]) / horner(r - 5, QUANTILE_FAR[1])
    outer = np.where(tail == 0, np.inf, np.where(r <= 5, mid, far))
    return np.where(np.abs(offset) <= 0.425, centre, np.copysign(outer, offset))


@by_float64
def erfinv(x: Any) -> Any:
    """The y with erf(y) = x; nan outside [-1, 1]."""
    size = np.abs(x)
    y = np.abs(_normal_quantile(x / 2, (1 - size) / 2)) * math.sqrt(0.5)
    # A step of Newton's method, by the difference that is known best.
    wrong = np.where(size < 0.5, erf(y) - size, (1 - size) - erfc(y))
    better = np.where(size < 1, y - wrong * np.exp(y * y) * (0.5 * math.sqrt(math.pi)), y)
    return np.where(size > 1, np.nan, np.copysign(better, x))


@by_float64
def ndtri(p: Any) -> Any:
    """The x up to which the normal distribution has mass p; nan outside [0, 1]."""
    y = _normal_quantile(p - 0.5, np.minimum(p, 1 - p))
    return np.where((p < 0) | (p > 1), np.nan, y)


def _erfcx(x: Any) -> Any:
    size = np.abs(x)
    near = np.exp(size * size) * erfc(size)
    mid = horner(size, ERFCX_MID[0]) / horner(size, ERFCX_MID[1])
    inverse = 1 / (size * size)
    tail = inverse * horner(inverse, ERFCX_FAR[0]) / horner(inverse, ERFCX_FAR[1])
    positive = np.where(size <= 0.46875, near, np.where(size <= 4, mid, (INV_SQRT_PI - tail) / size))
    return np.where(x < 0, np.where(x < -26.7, np.inf, 2 * np.exp(x * x) - positive), positive)


@by_float64
def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), which does not vanish for large x."""
    return _erfcx(x)


@by_float64
def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function."""
    t = x * math.sqrt(0.5)
    return np.where(x < -1, np.log(_erfcx(-t) / 2) - t * t, np.log1p(-erfc(t) / 2))


@by_float64
def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below."""
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0.0, np.where(x < 0, -np.inf, x)))


# B(2k) / 2k and B(2k), the Bernoulli numbers of the asymptotic expansions, highest power first.
DIGAMMA_SERIES = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
# B(2k) / (2k (2k - 1)), of Stirling's series.
STIRLING = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_TRIGAMMA_SERIES = (-3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)
_ASYMPTOTIC_FROM = 10


def _shifted_up(x: Any, term: Any) -> tuple[Any, Any]:
    """Each x stepped up to 10 or more, and the sum of `term` over the steps."""
    total = np.zeros_like(x)
    for _ in range(_ASYMPTOTIC_FROM):
        low = x < _ASYMPTOTIC_FROM
        total = total + np.where(low, term(x), 0)
        x = np.where(low, x + 1, x)
    return x, total


@by_float64
def digamma(x: Any) -> Any:
    """The derivative of lgamma; nan at negative integers, minus or plus inf at plus or minus 0."""
    mirror = x < 0
    high, total = _shifted_up(np.where(mirror, 1 - x, x), lambda v: 1 / v)
    inverse = 1 / (high * high)
    tail = np.where(high < 1e17, inverse * horner(inverse, DIGAMMA_SERIES), 0)
    positive = np.log(high) - 0.5 / high - tail - total
    reflected = positive - math.pi / np.tan(math.pi * np.fmod(x, 1.0))
    result = np.where(mirror, np.where(x == np.floor(x), np.nan, reflected), positive)
    return np.where(x == 0, np.copysign(np.inf, -x), result)


@by_float64
def trigamma(x: Any) -> Any:
    """The derivative of digamma."""
    mirror = x < 0.5
    high, total = _shifted_up(np.where(mirror, 1 - x, x), lambda v: 1 / (v * v))
    inverse = 1 / (high * high)
    tail = (1 + 0.5 / high + inverse * horner(inverse, _TRIGAMMA_SERIES)) / high
    sine = np.sin(math.pi * np.where(np.abs(x) < 2, x, np.fmod(x, 2.0)))
    return np.where(mirror, (math.pi / sine) ** 2 - (tail + total), tail + total)


# (2k)! / B(2k), the denominators of the Euler-Maclaurin tail.
_ZETA_TAIL = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1892437580.3183792,
    74724249600.0,
    -2950130727918.164,
    116467828143500.67,
    -4597978722407473.0,
    1.8152105401943546e17,
    -7.166165256175667e18,
)


def _zeta_positive(s: Any, q: Any) -> list[Any]:
    """What to sum up, the largest last."""
    terms = [(q + k) ** -s for k in range(_ASYMPTOTIC_FROM - 1, -1, -1)]
    last, q = terms[0], q + (_ASYMPTOTIC_FROM - 1)
    total = last * q / (s - 1) - last / 2
    rising, power = np.ones_like(s), last
    for k, denominator in enumerate(_ZETA_TAIL):
        rising, power = rising * (s + 2 * k), power / q
        total = total + np.where(last == 0, 0, rising * power / denominator)  # not inf * 0
        rising, power = rising * (s + 2 * k + 1), power / q
    return [total, *terms]


@by_float64
def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta: the sum of (k + q)^-s over k = 0, 1, ...; inf at its poles, nan for s < 1."""
    whole = s == np.floor(s)
    mirror = (q < 0) & whole
    # Sums through 0 cancel: they are done in more digits than they are kept in.
    fraction = np.where(mirror, q - np.floor(q), q).astype(np.longdouble if mirror.any() else np.float64)
    terms = _zeta_positive(s, fraction)
    if mirror.any():
        # The two-sided sum through q has its lower half at 1 - fraction, less what lies below q.
        sign = np.where(mirror, np.where(np.fmod(s, 2.0) == 1, -1.0, 1.0), 0.0)
        lower, beyond = (
            _zeta_positive(s, np.where(mirror, x, np.longdouble(1))) for x in (np.ceil(q) - q, 1 - q)
        )
        terms = [-sign * t for t in beyond] + [t + sign * u for t, u in zip(terms, lower, strict=True)]
    total = sum(terms[1:], terms[0]).astype(np.float64)
    total = np.where(q <= 0, np.where(q == np.floor(q), np.inf, np.where(whole, total, np.nan)), total)
    return np.where(s == 1, np.inf, np.where(s < 1, np.nan, total))


def polygamma(x: Any, arg: int) -> Any:
    """The `arg`-th derivative of digamma; ValueError for a negative order."""
    if arg < 0:
        raise ValueError(f"polygamma: expected an order n >= 0, got {arg}")
    if arg < 2:
        return trigamma(x) if arg else digamma(x)
    x = np.asarray(x)
    wide = zeta(np.float64(arg + 1), x.astype(np.float64))
    with np.errstate(all="ignore"):
        scaled = (-1.0) ** (arg + 1) * np.prod(np.arange(1.0, arg + 1)) * wide
        return narrow(scaled, result_dtype(x))
