"""Rows of a table by number, copied by the team, vector by vector.

NumPy's take does it in one thread, by memcpy; that takes processors' string instructions for rows of some
kilobytes, which are four times slower where source and target lie differently to cache lines.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import MEMCPY, close, slot

Array = np.ndarray[Any, Any]
# Bytes of a row, and of all for one thread, from which on this is faster; rows of a job; bytes of a vector.
_ROW, _LARGE, _ROWS, _VECTOR = 128, 1 << 20, 256, 64


def rows(a: Array, index: Array) -> Array | None:
    """a[index] for a dense table and numbers in int64; None for others, or where NumPy is as good."""
    size = a.strides[0] if a.ndim > 1 and a.flags.c_contiguous else 0
    usual = size >= _ROW and index.size and index.dtype == np.int64 and index.flags.c_contiguous
    worth = index.size * size >= _LARGE or parallel.get_num_threads() > 1
    if not (usual and worth) or settings.kernels == "numpy" or not target.available():
        return None
    # As numbers without a sign, those below 0 are too large.
    if np.maximum.reduce(index.view(np.uint64), None) >= len(a) or not team.possible():
        return None
    out = np.empty((*index.shape, *a.shape[1:]), a.dtype)
    copying(index.size, size)(parallel.get_num_threads(), a, index, out)
    return out


@lru_cache(maxsize=256)
def copying(count: int, size: int) -> team.Call:
    """Of a table, numbers and a result, rows of `size` bytes."""
    starts = np.arange(0, count, _ROWS)
    jobs = np.empty((len(starts), 5), np.int64)
    for column, step in enumerate((0, 8, size)):
        jobs[:, column] = starts * step
    jobs[:, 3], jobs[:, 4] = np.minimum(_ROWS, count - starts), size
    return team.Call(team.CallStage(_loop(), jobs, range(3), 3, np.zeros(1, np.int64)))


@cache
def _loop() -> int:
    return native.address("gather", "", write)


def write(module: Module, name: str) -> None:
    """The IR. args: table, numbers, out. dims: how many rows, bytes of one."""
    f = Function(module, HEADER.format(name))
    module.declare(*MEMCPY)
    table, numbers, out = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    count, size = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    vectors, rest = f.i64("udiv", size, _VECTOR), f.i64("urem", size, _VECTOR)
    with f.counted(count) as i:
        source = f.at(table, f.i64("mul", f.load("i64", slot(f, numbers, i)), size))
        to = f.at(out, f.i64("mul", i, size))
        with f.counted(vectors) as k:
            at = f.i64("mul", k, _VECTOR)
            line = f.op(f"load <{_VECTOR} x i8>, ptr {f.at(source, at)}, align 1")
            f.emit(f"store <{_VECTOR} x i8> {line}, ptr {f.at(to, at)}, align 1")
        at = f.i64("sub", size, rest)
        f.emit(f"call void {MEMCPY[0]}(ptr {f.at(to, at)}, ptr {f.at(source, at)}, i64 {rest}, i1 false)")
    close(f)
