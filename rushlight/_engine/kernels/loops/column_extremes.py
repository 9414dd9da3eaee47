"""Maxima and minima of the columns of dense matrices: vectors stay in registers on their way down."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.lanes import is_float
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

# Vectors side by side; elements from which on threads are worth waking, and columns of a job.
_TOGETHER, _PARALLEL, _STRIP = 8, 1 << 15, 512


def column_extremes(how: str, of: Any, sizes: tuple[int, int, int]) -> Callable[[Array], Array] | None:
    """What gives the "max" or "min" of each column of dense (matrices, rows, columns) of floats; nan where
    there is one. None where there is no machine code.
    """
    like = np.empty(0, of)
    if not suits(like) or not team.possible():
        return None
    call, shape, many = _call(how, of, *sizes), (sizes[0], sizes[2]), prod(sizes) >= _PARALLEL

    def run(a: Array) -> Array:
        out = np.empty(shape, of)
        call(parallel.get_num_threads() if many else 1, a, out)
        return out

    return run


@lru_cache(maxsize=256)
def _call(how: str, of: Any, several: int, rows: int, columns: int) -> team.Call:
    """Of the matrices and the result: a job for a strip of columns of one."""
    matrix, low = (np.ravel(t) for t in np.mgrid[0:several, 0:columns:_STRIP])
    jobs = np.zeros((len(low), 5), np.int64)
    jobs[:, 0] = (matrix * (rows * columns) + low) * of.itemsize
    jobs[:, 1] = (matrix * columns + low) * of.itemsize
    jobs[:, 2:4] = np.stack([np.minimum(_STRIP, columns - low), np.full(len(low), rows)], 1)
    jobs[:, 4] = columns * of.itemsize
    loop = native.loop(_extremes_down, of.name, how)
    return team.Call(team.CallStage(loop, jobs, range(2), 2, np.zeros(1, np.int64)))


def _extremes_down(module: Module, name: str, kind: str, lanes: int, how: str) -> None:
    """The IR. args: matrix, out. dims: how many columns, rows, bytes from row to row."""
    w = Writer(module, name, kind, lanes)
    f, one = w.function, w.size * lanes
    a, out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    columns, rows, step = (f.load("i64", "%dims", SLOT * k) for k in range(3))
    extreme = f"llvm.{how}imum" if is_float(kind) else f"llvm.s{how}"

    def down(at: str, together: int) -> None:
        begin = f.at(a, at)
        first = [w.read(begin, v * one) for v in range(together)]
        with f.vectors(rows, first) as (i, running, updated):
            row = f.at(begin, f.i64("mul", i, step))
            updated += [f.intrinsic(extreme, best, w.read(row, v * one)) for v, best in enumerate(running)]
        for v, best in enumerate(running):
            w.write(best, f.at(out, at), v * one)

    many = f.i64("udiv", columns, _TOGETHER * lanes)
    with f.counted(many) as block:
        down(f.i64("mul", block, _TOGETHER * one), _TOGETHER)
    begin = f.i64("mul", many, _TOGETHER * one)
    left = f.i64("sub", columns, f.i64("mul", many, _TOGETHER * lanes))
    singles = f.i64("udiv", left, lanes)
    with f.counted(singles) as block:
        down(f.i64("add", begin, f.i64("mul", block, one)), 1)
    begin = f.i64("add", begin, f.i64("mul", singles, one))
    w.vector, f.width = f"<1 x {kind}>", 1
    with f.counted(f.i64("urem", left, lanes)) as k:
        down(f.i64("add", begin, f.i64("mul", k, w.size)), 1)
    close(f)
