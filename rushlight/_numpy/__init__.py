"""torch._numpy: NumPy's functions over tensors.

An `ndarray` is a tensor that behaves as NumPy's arrays do: promotion, methods, operators. What is one of
tensors' ops is computed by it, so that compile()'s back ends see it, and gradients go through; the rest is
computed by NumPy itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._numpy import fft, linalg, random
from rushlight._numpy._functions import array, asarray, by_name
from rushlight._numpy._ndarray import ndarray
from rushlight._numpy._ufuncs import named

_RENAMED = {
    "alltrue": "all",
    "sometrue": "any",
    "product": "prod",
    "cumproduct": "cumprod",
    "round_": "round",
    "row_stack": "vstack",
    "complex_": "complex128",
    "cfloat": "complex128",
    "singlecomplex": "complex64",
    "float_": "float64",
}
DType = dtype = np.dtype
AxisError = np.exceptions.AxisError
UFuncTypeError = np._core._exceptions.UFuncTypeError  # type: ignore[attr-defined]

__all__ = [
    "AxisError",
    "DType",
    "UFuncTypeError",
    "array",
    "asarray",
    "dtype",
    "fft",
    "linalg",
    "ndarray",
    "random",
]


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether values of one dtype may become such of another under a rule."""
    kind = from_.dtype if isinstance(from_, ndarray) else from_
    return bool(np.can_cast(kind, to, casting))  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    """NumPy's dtypes and constants as they are; its functions over our arrays."""
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(np, _RENAMED.get(name, name), None)
    if found is None and name != "newaxis":
        raise AttributeError(f"module 'torch._numpy' has no attribute {name!r}")
    if isinstance(found, np.ufunc):
        return named(found.__name__)
    if isinstance(found, type) or not callable(found):
        return found
    return by_name(_RENAMED.get(name, name))
