"""What special functions share: how a float64 formula becomes a function of arrays of any floating dtype,
and the coefficients of series and rational functions, by name (coefficients.tsv, a line each).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

with open(os.path.join(os.path.dirname(__file__), "coefficients.tsv"), encoding="utf-8") as _file:
    SERIES: dict[str, tuple[float, ...]] = {
        name: tuple(map(float, numbers)) for name, *numbers in map(str.split, _file)
    }


class Symbolic:
    """What stands for a number where a formula is not computed but written down, as a device's code."""

    def called(self, name: str) -> Any:
        """The function `name` of the C library of it."""
        raise NotImplementedError


def result_dtype(array: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Floating dtypes are kept; integers and bools give float64, as NumPy's own functions do."""
    return np.dtype(np.float64) if array.dtype.kind in "biu" else array.dtype


def narrow(wide: Any, dtype: np.dtype[Any]) -> Any:
    """float64 results in `dtype`; half precisions round by way of float32, as PyTorch's do."""
    if dtype == np.float64:
        return wide
    single = wide.astype(np.float32)
    return single if dtype == np.float32 else single.astype(dtype)


def by_float64(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Compute `formula` in float64 and give the result the first operand's dtype, without warnings.

    Complex operands raise TypeError.
    """

    @wraps(formula)
    def function(*operands: Any, **options: Any) -> Any:
        if isinstance(operands[0], Symbolic):
            return formula(*operands, **options)
        arrays = [np.asarray(a) for a in operands]
        if any(a.dtype.kind == "c" for a in arrays):
            raise TypeError(f"{formula.__name__}: expected real numbers, got complex ones")
        wide = np.broadcast_arrays(*(a.astype(np.float64) for a in arrays))
        with np.errstate(all="ignore"):
            made = formula(*(np.atleast_1d(w) for w in wide), **options).reshape(wide[0].shape)
            return narrow(made, result_dtype(arrays[0]))[()]

    return function


def horner(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with `coefficients`, highest power first."""
    total: Any = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def rational(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A numerator and a denominator."""
    return SERIES[f"{name}_above"], SERIES[f"{name}_below"]
