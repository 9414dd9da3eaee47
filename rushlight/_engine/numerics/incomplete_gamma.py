"""The regularised incomplete gamma functions P(a, x) and Q(a, x) of NumPy arrays.

Below a + 1 the series of P, above it the continued fraction of Q (DLMF 8.7.1 and 8.9.2, by Lentz's
method); for huge a Temme's uniform form (DLMF 8.12) with its first two corrections.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.numerics.error_gamma import erfc, lgamma, zeta
from rushlight._engine.numerics.float64_formulas import by_float64, horner

_HUGE, _EPS = 1e4, 1e-16


def _front(a: Any, x: Any) -> Any:
    """x^a exp(-x) / gamma(a + 1)."""
    return np.exp(a * np.log(x) - x - lgamma(a + 1))


def _terms(a: Any) -> int:
    """How many terms suffice: near x = a it takes some widths sqrt(a) of the bell."""
    return 100 + int(12 * np.sqrt(np.max(a, initial=1.0)))


def _series(a: Any, x: Any) -> Any:
    """P by its series."""
    total = term = np.ones_like(x)
    for k in range(1, _terms(a)):
        term = term * x / (a + k)
        total = total + term
        if (term <= total * _EPS).all():
            break
    return total * _front(a, x)


def _fraction(a: Any, x: Any) -> Any:
    """Q by its continued fraction."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    h = d
    for k in range(1, _terms(a)):
        top, b = -k * (k - a), b + 2
        d, c = 1 / (top * d + b), b + top / c
        h = h * d * c
        if (np.abs(d * c - 1) <= _EPS).all():
            break
    return h * _front(a, x) * a


@cache
def _log_gamma_terms() -> tuple[float, ...]:
    """The Taylor series of lgamma(1 + a) / a, highest power first (DLMF 5.7.3)."""
    zetas = zeta(np.arange(2.0, 45.0), np.ones(43)).tolist()
    return (-float(np.euler_gamma), *[z * (-1.0) ** n / n for n, z in enumerate(zetas, 2)])[::-1]


def _near_zero(a: Any, x: Any) -> Any:
    """Q for small a and x, where it is far from 1: by the series of what P lacks (as in Cephes)."""
    known = np.where(a < 0.5, a * horner(np.minimum(a, 0.5), _log_gamma_terms()), lgamma(a + 1))
    power = a * np.log(x) - known
    total, fraction = np.zeros_like(x), np.ones_like(x)
    for n in range(1, 40):
        fraction = fraction * -x / n
        total = total + fraction / (a + n)
    return -np.expm1(power) - a * np.exp(power) * total


def _uniform(a: Any, x: Any, sign: int) -> Any:
    """P (sign -1) or Q (sign 1) for huge a."""
    mu = (x - a) / a
    eta = np.sign(mu) * np.sqrt(np.maximum(2 * (mu - np.log1p(mu)), 0))
    small = np.abs(eta) < 1e-2
    safe, safe_mu = np.where(small, 1, eta), np.where(small, 1, mu)
    first = np.where(small, -1 / 3 + eta / 12 - 2 * eta**2 / 135, 1 / safe_mu - 1 / safe)
    second = np.where(
        small, -1 / 540 - eta / 288, 1 / safe**3 - 1 / safe_mu**3 - 1 / safe_mu**2 - 1 / (12 * safe_mu)
    )
    rest = np.exp(-a * eta * eta / 2) / np.sqrt(2 * np.pi * a) * (first + second / a)
    return erfc(sign * eta * np.sqrt(a / 2)) / 2 + sign * rest


def _regular(a: Any, x: Any, upper: bool) -> Any:
    """P, or Q if `upper`, for positive a and x, each element by the method for it."""
    found = np.empty_like(x)
    huge, low = a > _HUGE, x < a + 1
    near = upper & (x <= 1.1) & (a < np.where(x <= 0.5, -0.4 / np.log(np.minimum(x, 0.5)), 1.1 * x))
    for where, method, gives_upper in (
        (~huge & low & ~near, _series, False),
        (near, _near_zero, True),
        (~huge & ~low & ~near, _fraction, True),
    ):
        if where.any():
            made = method(a[where], x[where])
            found[where] = made if gives_upper is upper else 1 - made
    if huge.any():
        found[huge] = _uniform(a[huge], x[huge], 1 if upper else -1)
    return found


def _anywhere(a: Any, x: Any, upper: bool) -> Any:
    """With the limits at 0 and infinity, which win over a nan; nan outside of a >= 0, x >= 0."""
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    # P is 1 where all the mass is below x, 0 where it is above.
    below = np.where((x == 0) | np.isinf(a), 0.0, 1.0)
    limit = (x == 0) | np.isinf(a) | np.isinf(x)
    wrong = (a < 0) | (x < 0) | (a == 0) & ~(x > 0) | np.isinf(a) & np.isinf(x)
    wrong |= (np.isnan(a) | np.isnan(x)) & ~limit
    found = np.where(wrong, np.nan, 1 - below if upper else below)
    if inside.any():
        found[inside] = _regular(a[inside], x[inside], upper)
    return found


@by_float64
def gammainc(a: Any, x: Any) -> Any:
    """P(a, x): the integral of t^(a-1) exp(-t) from 0 to x, over gamma(a)."""
    return _anywhere(a, x, False)


@by_float64
def gammaincc(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 - P(a, x)."""
    return _anywhere(a, x, True)
