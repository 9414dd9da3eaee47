"""Sums, maxima and minima of the columns of dense matrices: vectors stay in registers on their way down.

Sums are those of column_loops.py: some rows are added up, then added to a total in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.lanes import Lane, is_float
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.loops.column_loops import ROWS_AT_ONCE
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

# Vectors side by side, and of sums; elements from which on threads are worth waking, and columns of a job.
_TOGETHER, _SUMS, _PARALLEL, _STRIP = 8, 4, 1 << 15, 512


def columns_of(how: str, of: Any, sizes: tuple[int, int, int]) -> Callable[[Array], Array] | None:
    """What gives the sum ("add"), "max" or "min" of each column of dense (matrices, rows, columns) of floats;
    extremes are nan where there is one. None where there is no machine code.
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
    # The last strip takes what is no strip of its own.
    last = max(columns // _STRIP, 1) - 1
    matrix, strip = (np.ravel(t) for t in np.mgrid[0:several, 0 : last + 1])
    low = strip * _STRIP
    jobs = np.zeros((len(low), 5), np.int64)
    jobs[:, 0] = (matrix * (rows * columns) + low) * of.itemsize
    jobs[:, 1] = (matrix * columns + low) * of.itemsize
    jobs[:, 2:4] = np.stack([np.where(strip < last, _STRIP, columns - low), np.full(len(low), rows)], 1)
    jobs[:, 4] = columns * of.itemsize
    loop = native.loop(_down, of.name, how)
    return team.Call(team.CallStage(loop, jobs, range(2), 2, np.zeros(1, np.int64)))


def _down(module: Module, name: str, kind: str, lanes: int, how: str) -> None:
    """The IR. args: matrix, out. dims: how many columns, rows, bytes from row to row."""
    _Columns(module, name, kind, lanes, how).write_all()


class _Columns(Writer):
    def __init__(self, module: Module, name: str, kind: str, lanes: int, how: str) -> None:
        super().__init__(module, name, kind, lanes)
        f, self.how = self.function, how
        self.a, self.out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
        self.columns, self.rows, self.step = (f.load("i64", "%dims", SLOT * k) for k in range(3))

    def write_all(self) -> None:
        """Some vectors of columns at a time, then one, the last of which may begin among columns that are
        done; column by column where there is no vector of them.
        """
        f, one = self.function, self.lanes * self.size
        together = _SUMS if self.how == "add" else _TOGETHER
        many = f.i64("udiv", self.columns, together * self.lanes)
        with f.counted(many) as block:
            self.walk(f.i64("mul", block, together * one), together)
        begin = f.i64("mul", many, together * one)
        left = f.i64("sub", self.columns, f.i64("mul", many, together * self.lanes))
        few = f.i64("icmp slt", self.columns, self.lanes)
        singles = f.op(f"select i1 {few}, i64 0, i64 {self.over(left, self.lanes)}")
        furthest = f.i64("mul", f.i64("sub", self.columns, self.lanes), self.size)
        with f.counted(singles) as block:
            self.walk(self.least(f.i64("add", begin, f.i64("mul", block, one)), furthest), 1)
        self.vector, f.width = f"<1 x {self.kind}>", 1
        with f.counted(f.op(f"select i1 {few}, i64 {self.columns}, i64 0")) as k:
            self.walk(f.i64("mul", k, self.size), 1)
        close(f)

    def walk(self, at: str, together: int) -> None:
        """Down vectors that are side by side, of which the first begins at a byte of the rows."""
        f, one, begin = self.function, self.lanes * self.size, self.function.at(self.a, at)

        def row(i: str) -> list[Lane]:
            line = f.at(begin, f.i64("mul", i, self.step))
            return [self.read(line, v * one) for v in range(together)]

        if self.how == "add":
            found = self._added(row, together)
        else:
            extreme = f"llvm.{self.how}imum" if is_float(self.kind) else f"llvm.s{self.how}"
            with f.vectors(self.rows, row("0")) as (i, found, updated):
                updated += [
                    f.intrinsic(extreme, best, value) for best, value in zip(found, row(i), strict=True)
                ]
        for v, value in enumerate(found):
            self.write(value, f.at(self.out, at), v * one)

    def _added(self, row: Callable[[str], list[Lane]], together: int) -> list[Lane]:
        f = self.function
        nothing = [[f.const(kind, 0.0)] * together for kind in (self.kind, "double")]
        with f.vectors(self.over(self.rows, ROWS_AT_ONCE), nothing[1]) as (block, totals, following):
            first = f.i64("mul", block, ROWS_AT_ONCE)
            now = self.least(f.i64("sub", self.rows, first), ROWS_AT_ONCE)
            with f.vectors(now, nothing[0]) as (k, sums, updated):
                values = row(f.i64("add", first, k))
                updated += [total + value for total, value in zip(sums, values, strict=True)]
            following += [total + self._cast(s, "double") for total, s in zip(totals, sums, strict=True)]
        return [self._cast(total, self.kind) for total in totals]

    def _cast(self, x: Lane, kind: str) -> Lane:
        return x if x.kind == kind else x.cast("fpext" if kind == "double" else "fptrunc", kind)
