"""Modified Bessel functions of the first kind, of NumPy arrays of every floating dtype.

On [0, 8] their power series, of positive terms alone; beyond, Chebyshev series in 8 / x of exp(-x) i0(x) and
exp(-x) i1(x) times sqrt(x), fitted in 60-digit arithmetic.
"""
from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from rushlight.base.lifted import horner, lifted

_I0_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15,
    1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18, -7.233180487874754e-18,
    9.921475412173699e-19, 1.193650890845982e-18)
_I1_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09,
    -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13,
    -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15,
    3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17,
    -4.6503053684893586e-17, 4.414348323071708e-18, 7.517296310842105e-18,
    -9.314178867326884e-19, -1.242193275194891e-18)


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
    far = chebyshev(16 / np.maximum(size, 8) - 1, (_I0_FAR, _I1_FAR)[order]) / np.sqrt(np.maximum(size, 8))
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
