"""How a float64 formula becomes a function of arrays of any floating dtype."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np


def result_dtype(array: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Floating dtypes are kept; integers and bools give float64, as NumPy's own functions do."""
    return np.dtype(np.float64) if array.dtype.kind in "biu" else array.dtype


def narrow(wide: Any, dtype: np.dtype[Any]) -> Any:
    """float64 results in `dtype`; half precisions round by way of float32, as PyTorch's do."""
    if dtype == np.float64:
        return wide
    single = wide.astype(np.float32)
    return single if dtype == np.float32 else single.astype(dtype)


def lifted(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Compute `formula` in float64 and give the result the first operand's dtype, without warnings.

    Complex operands raise TypeError.
    """
    @wraps(formula)
    def function(*operands: Any, **options: Any) -> Any:
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
