"""One row times a matrix whose columns lie dense, as in a token's pass through linear layers.

It takes as long as reading the matrix once, in the dtype that it is kept in; BLAS lays it out anew first.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.config import knobs
from rushlight.compiler import dotscode, native, pool, target, team
from rushlight.compiler.atoms import LLVM

Array = np.ndarray[Any, Any]
# Columns that share a job; multiplications from which on threads are worth waking.
_COLUMNS, _PARALLEL = 64, 1 << 17


@lru_cache(maxsize=None)
def _loop(dtype: Any) -> "tuple[int, Any] | None":
    """The address of the machine code for a matrix of a dtype, and the dtype of sums."""
    stored = dt.from_numpy_dtype(dtype).name
    half = stored == "float16" and not (target.available() and target.host().half)
    if half or stored not in ("float32", "float64", "float16", "bfloat16") or not target.available():
        return None
    wide = dt.opmath(dt.BY_NAME[stored])
    kind, lanes = LLVM[wide.name], target.lanes(wide.name)
    return native.address("dots", f"{stored} {lanes}", lambda module, name: dotscode.dots(
        module, name, stored, wide.name, kind, lanes)), wide.np


@lru_cache(maxsize=256)
def _jobs(layout: tuple[int, int, int], item: int) -> tuple[Array, Array]:
    """Jobs, relative to the operands' starts, and steps, of (columns, depth, bytes from one to the next)."""
    columns, depth, step = layout
    size = max(_COLUMNS, -(-columns // 64))
    jobs = [[low * step, 0, low * item, min(size, columns - low), depth] for low in range(0, columns, size)]
    return np.array(jobs, np.int64), np.array([step], np.int64)


def dots(a: Array, b: Array) -> Array | None:
    """(1, k) @ (k, n), in float32 of floats of two bytes; None for other operands or without machine code."""
    if a.ndim != 2 or b.ndim != 2 or len(a) != 1 or a.shape[1] != len(b) or not b.size or (
            b.strides[0] != b.itemsize or b.strides[1] < 0 or a.dtype != b.dtype or knobs.kernels == "numpy"):
        return None
    loop = _loop(a.dtype)
    if loop is None:
        return None
    code, wide = loop
    row = np.ascontiguousarray(a[0], wide)
    out = np.empty((1, b.shape[1]), wide)
    jobs, steps = _jobs((b.shape[1], len(b), b.strides[1]), out.itemsize)
    threads = pool.get_num_threads() if b.size >= _PARALLEL else 1
    return out if team.run_loop(code, team.placed(jobs, (b, row, out)), 3, steps, threads) else None
