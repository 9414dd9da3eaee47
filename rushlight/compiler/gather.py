"""Rows of a table by number, copied by several threads: NumPy's take does it in one."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.config import knobs
from rushlight.compiler import pool

Array = np.ndarray[Any, Any]
# Bytes of a row from which on this is faster.
_ROW = 128


def rows(a: Array, index: Array) -> Array | None:
    """a[index] for a dense table and numbers in int64; None for others, or where NumPy is as good."""
    size = a.strides[0] if a.ndim > 1 and a.flags.c_contiguous else 0
    usual = size >= _ROW and index.size and index.dtype == np.int64
    # As numbers without a sign, those below 0 are too large.
    if not usual or pool.get_num_threads() < 2 or knobs.kernels == "numpy" or np.maximum.reduce(
            index.view(np.uint64), None) >= len(a):
        return None
    out = np.empty((index.size, *a.shape[1:]), a.dtype)
    pool.ranges(lambda low, high: a.take(index.reshape(-1)[low:high], 0, out[low:high], "clip"), index.size)
    return out.reshape(*index.shape, *a.shape[1:])
