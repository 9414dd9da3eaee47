"""target[positions] += rows, every repeated position counted, in the order of the rows.

This is the inner step of the gradients of reads (index, gather, embedding) and of index_add,
scatter_reduce and index_put(accumulate=True).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.services import service

Array = np.ndarray[Any, Any]

# Fewer elements than this are added before machine code is even asked for.
MANY = 4096

_COMBINE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def add_at(target: Array, positions: Array, rows: Array) -> None:
    """Add rows[i] to target[positions[i]], for i in order; `target` is changed.

    positions: one-dimensional, in range and not negative.  rows: (len(positions),
    *target.shape[1:]) of target's dtype, a wider one (rounded after each), or broadcast to it (strides of 0).
    """
    dense = target.flags.c_contiguous and target.dtype.kind in "fiV" and rows.dtype == target.dtype
    if target.ndim > 1 and rows.size >= MANY and dense:
        width = rows.size // len(positions)
        flat = target.reshape(len(target), width)
        rows = np.ascontiguousarray(rows).reshape(len(positions), width)
        if service("add rows")(flat, positions.astype(np.int64, copy=False), rows):
            return
    reduce_at("sum", target, positions, rows)


def reduce_at(how: str, target: Array, positions: Array, rows: Array) -> None:
    """Combine rows[i] into target[positions[i]]; how: "sum", "prod", "amax" or "amin"."""
    if not positions.size or not target.size:
        return
    if target.ndim > 1 and target.flags.c_contiguous:
        width = target[0].size
        positions = (positions[:, None] * width + np.arange(width)).reshape(-1)
        target, rows = target.reshape(-1), rows.reshape(-1)
    _COMBINE[how].at(target, positions, rows)


def identity(how: str, dtype: np.dtype[Any]) -> Any:
    """What a reduction starts from: the number that it leaves alone."""
    if how in ("sum", "prod"):
        return dtype.type(how == "prod")
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if how == "amax" else np.iinfo(dtype).max
    return how == "amin" if dtype.kind == "b" else dtype.type(-np.inf if how == "amax" else np.inf)
