"""Tensors around memory that others own: NumPy arrays."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.tensor.construct import share
from rushlight.tensor.tensor import Tensor, storage, wrap


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares a NumPy array's memory: writes to either are seen in both."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    t = wrap(share(ndarray))
    storage(t).foreign = True
    return t
