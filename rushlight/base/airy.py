"""Airy's function Ai of NumPy arrays of every floating dtype.

Chebyshev series, fitted in 40-digit arithmetic: of Ai itself on [-5, 2]; beyond, of the slow factors
of its asymptotic forms (DLMF 9.7) in 1 / zeta and 1 / zeta^2, with zeta = 2/3 |x|^(3/2).
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight.base.bessel import chebyshev
from rushlight.base.coefficients import SERIES
from rushlight.base.lifted import lifted

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


@lifted
def airy_ai(x: Any) -> Any:
    """The solution of y'' = x y that falls to 0 for large x."""
    middle = chebyshev((np.clip(x, -5, 2) * 2 + 3) / 7, SERIES["ai_middle"])
    found = np.where(x > 2, _falling(x), np.where(x < -5, _wave(-x), middle))
    return np.where(np.isinf(x), np.nan, found)
