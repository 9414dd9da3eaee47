"""One row times a matrix whose columns lie dense, as in a token's pass through linear layers.

It takes as long as reading the matrix once, in the dtype that it is kept in; BLAS lays it out anew first.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.config import knobs
from rushlight.compiler.rows import Rows, rows
from rushlight.ops.rowexpr import reduce_
from rushlight.ops.scalar import symbol

Array = np.ndarray[Any, Any]


@lru_cache(maxsize=None)
def _kernel(dtype: Any) -> Rows | None:
    name = dt.from_numpy_dtype(dtype).name
    if name not in ("float32", "float64", "float16", "bfloat16"):
        return None
    wide = dt.opmath(dt.BY_NAME[name]).name
    inputs = ("w", name, "vector"), ("x", wide, "vector")
    made = rows((reduce_("add", symbol("w") * symbol("x")),), inputs, (wide,))
    return made if made.compile_now() else None


def dots(a: Array, b: Array) -> Array | None:
    """(1, k) @ (k, n), in float32 of floats of two bytes; None for other operands or without machine code."""
    if a.ndim != 2 or b.ndim != 2 or len(a) != 1 or a.shape[1] != len(b) or not b.size or (
            b.strides[0] != b.itemsize or b.strides[1] < 0 or a.dtype != b.dtype or knobs.kernels == "numpy"):
        return None
    kernel = _kernel(a.dtype)
    if kernel is None:
        return None
    row = a[0] if a.itemsize > 2 else a[0].astype(np.float32)
    return np.asarray(kernel.large(b.T, row))[None]
