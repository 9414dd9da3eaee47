"""Bessel functions I, J, Y, K of orders 0 and 1 and Airy's Ai, of NumPy arrays of every floating dtype.

I on [0, 8] by its power series, of positive terms alone; the rest by Chebyshev series, fitted in 40
or 60-digit arithmetic. I from 8 on: exp(-x) sqrt(x) I(x) in 8 / x. J and Y up to 8: in x^2, Y
without its logarithm; from 8 on the two slow factors of Hankel's form (DLMF 10.17) in 64 / x^2. K
up to 2: in x^2, without its logarithm; from 2 on exp(x) sqrt(x) K(x) in 2 / x. Ai itself on [-5,
2]; beyond, the slow factors of its asymptotic forms (DLMF 9.7) in 1 / zeta and 1 / zeta^2, with
zeta = 2/3 |x|^(3/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.numerics.float64_formulas import SERIES, by_float64, horner


def chebyshev(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The series at x in [-1, 1], by Clenshaw's recurrence."""
    ahead, after = np.zeros_like(x), np.zeros_like(x)
    for c in coefficients[:0:-1]:
        ahead, after = 2 * x * ahead - after + c, ahead
    return x * ahead - after + coefficients[0]


# --- modified, first kind -------------------------------------------------------------------------

# The coefficients of (x / 2)^(2k) in i0(x) and i1(x) / (x / 2), the highest first.
_POWERS = [
    tuple(1 / (math.factorial(k) * math.factorial(k + n)) for k in reversed(range(30))) for n in (0, 1)
]


def _modified(x: Any, order: int, scaled: bool) -> Any:
    size = np.abs(x)
    near = horner(np.minimum(size, 8) ** 2 / 4, _POWERS[order]) * (np.minimum(size, 8) / 2) ** order
    far = chebyshev(16 / np.maximum(size, 8) - 1, SERIES[f"i{order}_far"]) / np.sqrt(np.maximum(size, 8))
    grown = np.exp(-size if scaled else size)
    found = np.where(size <= 8, near * grown if scaled else near, far if scaled else far * grown)
    return np.copysign(found, x) if order else found


def _named(name: str, doc: str, form: Callable[..., Any], order: int, scaled: bool) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return form(x, order, scaled)

    function.__name__, function.__doc__ = name, doc
    return by_float64(function)


i0 = _named("i0", "The modified Bessel function of order 0.", _modified, 0, False)
i1 = _named("i1", "The modified Bessel function of order 1.", _modified, 1, False)
i0e = _named("i0e", "exp(-|x|) times i0(x).", _modified, 0, True)
i1e = _named("i1e", "exp(-|x|) times i1(x).", _modified, 1, True)


# --- first and second kind ------------------------------------------------------------------------


def _near(x: Any, name: str) -> Any:
    return chebyshev(np.minimum(x * x, 64) / 32 - 1, SERIES[f"{name}_near"])


def _far(x: Any, order: int, shift: float) -> Any:
    """The wave of Hankel's form; `shift` is 0 for J and a quarter of a turn for Y."""
    z = 8 / np.maximum(x, 8)
    t = 2 * z * z - 1
    angle = x - (2 * order + 1) * math.pi / 4 - shift
    even, odd = chebyshev(t, SERIES[f"p{order}_far"]), chebyshev(t, SERIES[f"q{order}_far"])
    wave = even * np.cos(angle) - z * odd * np.sin(angle)
    return wave * np.sqrt(2 / (math.pi * x))


def _right(x: Any, order: int) -> Any:
    """J where x is not negative."""
    near = _near(x, f"j{order}")
    return np.where(x <= 8, x * near if order else near, _far(x, order, 0.0))


def _first_kind(x: Any, order: int, scaled: bool) -> Any:
    found = _right(np.abs(x), order)
    return np.copysign(1.0, x) * found if order else found


bessel_j0 = _named("bessel_j0", "The Bessel function of the first kind, order 0.", _first_kind, 0, False)
bessel_j1 = _named("bessel_j1", "The Bessel function of the first kind, order 1.", _first_kind, 1, False)


@by_float64
def spherical_bessel_j0(x: Any) -> Any:
    """sin(x) / x."""
    return np.where(x == 0, 1.0, np.where(np.isinf(x), 0.0, np.sin(x) / x))


def _second_kind(x: Any, near: Any, far: Any) -> Any:
    """-inf at 0, nan below."""
    found = np.where(x <= 8, near, far)
    return np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))


@by_float64
def bessel_y0(x: Any) -> Any:
    """The Bessel function of the second kind, order 0."""
    near = _near(x, "y0") + 2 / math.pi * np.log(x) * _right(x, 0)
    return _second_kind(x, near, _far(x, 0, math.pi / 2))


@by_float64
def bessel_y1(x: Any) -> Any:
    """The Bessel function of the second kind, order 1."""
    near = x * _near(x, "y1") + 2 / math.pi * (np.log(x) * _right(x, 1) - 1 / x)
    return _second_kind(x, near, _far(x, 1, math.pi / 2))


# --- modified, second kind ------------------------------------------------------------------------


def _third(x: Any, order: int, scaled: bool) -> Any:
    """K: up to 2 its logarithm and a series, beyond exp(-x) and a series; inf at 0, nan below."""
    series = chebyshev(np.minimum(x * x, 4) / 2 - 1, SERIES[f"k{order}_near"])
    part = np.log(x / 2) * (i0, i1)[order](np.minimum(x, 2))
    near = series / x + part if order else series - part
    tail, decay = chebyshev(4 / np.maximum(x, 2) - 1, SERIES[f"k{order}_far"]) / np.sqrt(x), np.exp(-x)
    found = np.where(x <= 2, near / decay if scaled else near, tail if scaled else tail * decay)
    return np.where(x > 0, found, np.where(x == 0, np.inf, np.nan))


bessel_k0 = _named("bessel_k0", "The modified Bessel function of the second kind, order 0.", _third, 0, False)
bessel_k1 = _named("bessel_k1", "The modified Bessel function of the second kind, order 1.", _third, 1, False)
bessel_k0e = _named("bessel_k0e", "exp(x) times bessel_k0(x).", _third, 0, True)
bessel_k1e = _named("bessel_k1e", "exp(x) times bessel_k1(x).", _third, 1, True)


# --- Airy's ---------------------------------------------------------------------------------------

_ZETA_2, _ZETA_5 = 2 / 3 * 2**1.5, 2 / 3 * 5**1.5


def _falling(x: Any) -> Any:
    x = np.maximum(x, 2)
    zeta = x * np.sqrt(x) * (2 / 3)
    slow = chebyshev(2 * _ZETA_2 / zeta - 1, SERIES["ai_falling"])
    return np.exp(-zeta) / (2 * math.sqrt(math.pi) * np.sqrt(np.sqrt(x))) * slow


def _wave(size: Any) -> Any:
    size = np.maximum(size, 5)
    zeta = size * np.sqrt(size) * (2 / 3)
    u = _ZETA_5 / zeta
    t, angle = 2 * u * u - 1, zeta - math.pi / 4
    even, odd = chebyshev(t, SERIES["ai_wave_even"]), chebyshev(t, SERIES["ai_wave_odd"])
    wave = even * np.cos(angle) + u * odd * np.sin(angle)
    return wave / (math.sqrt(math.pi) * np.sqrt(np.sqrt(size)))


@by_float64
def airy_ai(x: Any) -> Any:
    """The solution of y'' = x y that falls to 0 for large x."""
    middle = chebyshev((np.clip(x, -5, 2) * 2 + 3) / 7, SERIES["ai_middle"])
    found = np.where(x > 2, _falling(x), np.where(x < -5, _wave(-x), middle))
    return np.where(np.isinf(x), np.nan, found)
