"""target[positions] += rows, every repeated position counted, in the order of the rows.

This is the inner step of the gradients of reads (index, gather, embedding) and of index_add,
scatter_add and index_put(accumulate=True).
"""
from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]



def add_at(target: Array, positions: Array, rows: Array) -> None:
    """Add rows[i] to target[positions[i]], for i in order; `target` is changed.

    positions: one-dimensional, int64, in range and not negative.  rows: (len(positions),
    *target.shape[1:]) of target's dtype, or broadcast to it (strides of 0).
    """
    if not positions.size or not target.size:
        return
    if target.dtype == np.bool_:
        np.logical_or.at(target, positions, rows)
        return
    if target.ndim == 1:
        np.add.at(target, positions, rows)
        return
    width = target[0].size
    if target.flags.c_contiguous:
        flat, where = target.reshape(-1), positions[:, None] * width + np.arange(width)
        np.add.at(flat, where.reshape(-1), rows.reshape(-1))
        return
    np.add.at(target, positions, rows)
