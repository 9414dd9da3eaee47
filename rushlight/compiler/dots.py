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
def _call(loop: int, columns: int, depth: int, step: int, item: int) -> team.Call:
    """The jobs for a matrix whose columns are `step` bytes apart; sums take `item` bytes."""
    size = max(_COLUMNS, -(-columns // 64))
    jobs = [[low * step, 0, low * item, min(size, columns - low), depth] for low in range(0, columns, size)]
    return team.Call((loop, np.array(jobs, np.int64), range(3), 3, np.array([step], np.int64)))


def fits(a: Array, b: Array) -> bool:
    """Whether `dots` has machine code for operands like these."""
    return (a.ndim == 2 == b.ndim and len(a) == 1 and a.shape[1] == len(b) and b.size > 0
            and b.strides[0] == b.itemsize and b.strides[1] >= 0 and a.dtype == b.dtype
            and knobs.kernels != "numpy" and _loop(a.dtype) is not None and team.possible())


def dots(a: Array, b: Array) -> Array | None:
    """(1, k) @ (k, n), in float32 of floats of two bytes; None for other operands or without machine code."""
    if not fits(a, b):
        return None
    loop, wide = _loop(a.dtype)  # type: ignore[misc]
    row, out = np.ascontiguousarray(a[0], wide), np.empty((1, b.shape[1]), wide)
    call = _call(loop, b.shape[1], len(b), b.strides[1], out.itemsize)
    call(pool.get_num_threads() if b.size >= _PARALLEL else 1, b, row, out)
    return out
