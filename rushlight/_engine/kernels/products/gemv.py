"""One row times a matrix whose columns or rows lie dense, as in a token's pass through linear layers.

It takes as long as reading the matrix once, in the dtype that it is kept in; BLAS lays it out anew first.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.atom_code import LLVM
from rushlight._engine.kernels.products import blas, gemv_code
from rushlight._engine.kernels.runtime import native, parallel, team

Array = np.ndarray[Any, Any]
# Columns that share a job, where these lie dense and where rows do; multiplications from which on threads are
# worth waking.
_COLUMNS, _WIDE, _PARALLEL = 64, 1024, 1 << 17
# Rows that are as good as one, and the inner dims for which more are; from which on a column is; most jobs.
_FEW, _THIN, _DEEP, _MOST = 3, 8, 64, 1 << 14


@cache
def _loop(dtype: Any, rows: bool) -> tuple[int, Any] | None:
    """The address of the machine code for a matrix of a dtype, whose rows or columns lie dense, and the dtype
    of sums.
    """
    stored = dt.from_numpy_dtype(dtype).name
    half = stored == "float16" and not (target.available() and target.host().half)
    if half or stored not in ("float32", "float64", "float16", "bfloat16") or not target.available():
        return None
    wide = dt.opmath(dt.BY_NAME[stored])
    kind, lanes = LLVM[wide.name], target.lanes(wide.name)
    write = gemv_code.sums if rows else gemv_code.dots
    return native.address(
        write.__name__,
        f"{stored} {lanes}",
        lambda module, name: write(module, name, stored, wide.name, kind, lanes),
    ), wide.np


@lru_cache(maxsize=256)
def _call(loop: int, shape: tuple[int, int], strides: tuple[int, int], rows: bool, item: int) -> team.Call:
    """The jobs for a matrix that lies like this; sums take `item` bytes."""
    (depth, columns), step = shape, strides[0 if rows else 1]
    size = max(_WIDE if rows else _COLUMNS, -(-columns // 64))
    jobs = [
        [low * strides[1], 0, low * item, min(size, columns - low), depth] for low in range(0, columns, size)
    ]
    return team.Call(team.CallStage(loop, np.array(jobs, np.int64), range(3), 3, np.array([step], np.int64)))


def _by_rows(b: Array) -> bool | None:
    """Whether a matrix's rows lie dense, rather than its columns; None where neither do."""
    for axis in (0, 1):
        if b.strides[axis] == b.itemsize and b.strides[1 - axis] >= 0:
            return axis == 1
    return None


def fits(a: Array, b: Array) -> bool:
    """Whether `dots` has machine code for operands like these."""
    return (
        a.ndim == 2 == b.ndim
        and len(a) == 1
        and a.shape[1] == len(b)
        and b.size > 0
        and (rows := _by_rows(b)) is not None
        and a.dtype == b.dtype
        and settings.kernels != "numpy"
        and _loop(a.dtype, rows) is not None
        and team.possible()
    )


def thin(a: Array, b: Array) -> tuple[int, tuple[int, ...], Array, Array] | None:
    """The loop, its operands' numbers, relative jobs and steps that write a @ b of matrices to a result in C
    order, row by row; None where panels of b are worth their making.

    It has the bits of tiles, but for the product by a column, whose rows are added up as in `dots`.
    """
    column = b.shape[-1] == 1 < a.shape[-2]
    x, w = (b.swapaxes(-1, -2), a.swapaxes(-1, -2)) if column else (a, b)
    (count, depth), wide, item = x.shape[-2:], w.shape[-1], w.itemsize
    rows = w.strides[-1] == item and w.strides[-2] >= 0
    lies = rows or (column and depth >= _DEEP and w.strides[-2] == item and w.strides[-1] >= 0)
    few = count <= _FEW or (depth <= _THIN and wide >= _WIDE)
    if not (lies and few and (x.strides[-1] == item or depth == 1)):
        return None
    found = _loop(w.dtype, rows)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    size = max(_WIDE * 4 if rows else _COLUMNS, -(-wide // 64))
    low = np.arange(0, wide, size)
    if found is None or prod(batch) * count * len(low) > _MOST:
        return None
    starts = blas.starts(batch, [(v.shape, v.strides) for v in (w, x)], count * wide * item)
    row = np.arange(count)
    jobs = np.empty((len(starts), count, len(low), 5), np.int64)
    jobs[..., 0] = starts[:, 0, None, None] + low * w.strides[-1]
    jobs[..., 1] = (starts[:, 1, None] + row * x.strides[-2])[..., None]
    jobs[..., 2] = (starts[:, 2, None] + row * (wide * item))[..., None] + low * item
    jobs[..., 3] = np.minimum(size, wide - low)
    jobs[..., 4] = depth
    step = w.strides[-2 if rows else -1]
    return found[0], (0, 1, 4) if column else (1, 0, 4), jobs.reshape(-1, 5), np.array([step], np.int64)


def dots(a: Array, b: Array) -> Array | None:
    """(1, k) @ (k, n), in float32 of floats of two bytes; None for other operands or without machine code."""
    if not fits(a, b):
        return None
    rows = bool(_by_rows(b))
    loop, wide = _loop(a.dtype, rows)  # type: ignore[misc]
    row, out = np.ascontiguousarray(a[0], wide), np.empty((1, b.shape[1]), wide)
    call = _call(loop, b.shape, b.strides, rows, out.itemsize)
    call(parallel.get_num_threads() if b.size >= _PARALLEL else 1, b, row, out)
    return out
