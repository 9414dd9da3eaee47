"""What C answers where Python raises an error: log(0.) is -inf, 1. / 0. is inf. Seldom called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# NumPy's names of math's functions where they are others.
_NAMES = {"pow": "power", "acos": "arccos", "asin": "arcsin", "acosh": "arccosh", "atanh": "arctanh"}


class Zero:
    """A divisor that is zero, of either sign."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __rtruediv__(self, x: float) -> float:
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(self.value))

    def __rfloordiv__(self, x: int) -> int:
        raise RuntimeError("division by 0")

    def __rmod__(self, x: float) -> float:
        return math.nan


def function(name: str, *x: float) -> float:
    """A function of math: an infinity, or no number."""
    with np.errstate(all="ignore"):
        if name == "log" and len(x) > 1:
            return float(np.log(x[0]) / np.log(x[1]))
        given = (float(x[0]), *(x[1:] if name == "ldexp" else map(float, x[1:])))
        return float(getattr(np, _NAMES.get(name, name))(*given))


def power(x: Any, y: Any) -> Any:
    """x**y where math.pow() raises an error."""
    if isinstance(x, complex) or isinstance(y, complex):
        return x**y
    if x == 0 and y < 0:
        raise RuntimeError("0.0 cannot be raised to a negative power")
    return function("pow", x, y)
