"""Modified Bessel functions of the first kind, of NumPy arrays of every floating dtype.

On [0, 8] their power series, of positive terms alone; beyond, Chebyshev series in 8 / x of exp(-x) i0(x) and
exp(-x) i1(x) times sqrt(x), fitted in 60-digit arithmetic.
"""
from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from rushlight.base.coefficients import SERIES
from rushlight.base.lifted import horner, lifted


def chebyshev(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The series at x in [-1, 1], by Clenshaw's recurrence."""
    ahead, after = np.zeros_like(x), np.zeros_like(x)
    for c in coefficients[:0:-1]:
        ahead, after = 2 * x * ahead - after + c, ahead
    return x * ahead - after + coefficients[0]


# The coefficients of (x / 2)^(2k) in i0(x) and i1(x) / (x / 2), the highest first.
_NEAR = [tuple(1 / (factorial(k) * factorial(k + n)) for k in reversed(range(30))) for n in (0, 1)]


def _modified(x: Any, order: int, scaled: bool) -> Any:
    size = np.abs(x)
    near = horner(np.minimum(size, 8) ** 2 / 4, _NEAR[order]) * (np.minimum(size, 8) / 2) ** order
    far = chebyshev(16 / np.maximum(size, 8) - 1, SERIES[f"i{order}_far"]) / np.sqrt(np.maximum(size, 8))
    grown = np.exp(-size if scaled else size)
    found = np.where(size <= 8, near * grown if scaled else near, far if scaled else far * grown)
    return np.copysign(found, x) if order else found


@lifted
def i0e(x: Any) -> Any:
    """exp(-|x|) times i0(x)."""
    return _modified(x, 0, True)


@lifted
def i1e(x: Any) -> Any:
    """exp(-|x|) times i1(x)."""
    return _modified(x, 1, True)


@lifted
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    return _modified(x, 0, False)


@lifted
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    return _modified(x, 1, False)
