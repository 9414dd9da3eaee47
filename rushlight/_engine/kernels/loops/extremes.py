"""Running maxima and minima along a dim of dense arrays, and where they are: the latest of equal ones, and of
nans.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.atom_code import LLVM
from rushlight._engine.kernels.emit.lanes import Lane, is_float
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

Array = np.ndarray[Any, Any]
_DTYPES = ("float32", "float64", "int32", "int64")
# Elements from which on threads are worth waking, and of a job about; columns of a strip.
_PARALLEL, _JOB, _STRIP = 1 << 15, 1 << 14, 512


def running(how: str, a: Array, d: int) -> Callable[[Array], tuple[Array, Array]] | None:
    """What gives (extremes up to each element along dim d, their positions) of arrays that lie as `a` does.

    how: "max" or "min". None where there is no machine code.
    """
    usual = a.ndim and 0 < a.size < 1 << 31 and a.flags.c_contiguous and a.dtype.name in _DTYPES
    if not usual or settings.kernels == "numpy" or not target.available() or not team.possible():
        return None
    outer, n, inner = prod(a.shape[:d]), a.shape[d], prod(a.shape[d + 1 :])
    # Of a row, blocks or strips of columns.
    wide = inner > 1
    each = min(inner, _STRIP) if wide else max(1, _JOB // n)
    low = np.arange(0, inner if wide else outer, each)
    starts = (np.arange(outer)[:, None] * (n * inner) + low).ravel() if wide else low * n
    counts = np.tile(np.minimum(each, inner - low), outer) if wide else np.minimum(each, outer - low)
    jobs = np.empty((len(starts), 6), np.int64)
    jobs[:, :3] = starts[:, None] * [a.itemsize, a.itemsize, SLOT]
    jobs[:, 3], jobs[:, 4], jobs[:, 5] = counts, n, inner
    along, lanes = "columns" if wide else "rows", target.lanes(a.dtype.name)
    loop = native.address(
        "extremes",
        f"{how} {along} {a.dtype.name} {lanes}",
        lambda module, name: write(module, name, how, along, LLVM[a.dtype.name], lanes),
    )
    call = team.Call(team.CallStage(loop, jobs, range(3), 3, np.zeros(1, np.int64)))
    shape, of, large = a.shape, a.dtype, a.size >= _PARALLEL

    def run(a: Array) -> tuple[Array, Array]:
        values, places = np.empty(shape, of), np.empty(shape, np.int64)
        call(parallel.get_num_threads() if large else 1, a, values, places)
        return values, places

    return run


def write(module: Module, name: str, how: str, along: str, kind: str, lanes: int) -> None:
    """The IR of `rows` or `columns`. args: a, values, places. dims: how many of them, elements of each,
    elements of a column from one to the next.
    """
    getattr(_Extremes(module, name, how, kind, lanes), along)()


class _Extremes(Writer):
    def __init__(self, module: Module, name: str, how: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        self.relation = "ge" if how == "max" else "le"
        self.operands = [f.load("ptr", "%args", SLOT * k) for k in range(3)]
        self.count, self.n, self.inner = (f.load("i64", "%dims", SLOT * k) for k in range(3))

    def better(self, value: Lane, best: Lane) -> Lane:
        """A mask: where a value takes the place of the best. A nan does, and no number takes a nan's."""
        found = value.compare(self.relation, best)
        return found.bits("or", value.is_nan()) if is_float(self.kind) else found

    def columns(self) -> None:
        """Vectors of columns side by side; those that are left one by one."""
        f = self.function
        whole = f.i64("udiv", self.count, self.lanes)
        with f.counted(whole) as block:
            self._down(f.i64("mul", block, self.lanes))
        begin = f.i64("mul", whole, self.lanes)
        self.vector, f.width = f"<1 x {self.kind}>", 1
        with f.counted(f.i64("sub", self.count, begin)) as k:
            self._down(f.i64("add", begin, k))
        close(f)

    def _down(self, start: str) -> None:
        """As many columns as there are lanes, from number `start` on."""
        f = self.function
        a, values, places = (
            f.at(p, f.i64("mul", start, size))
            for p, size in zip(self.operands, (self.size, self.size, SLOT), strict=True)
        )
        with f.vectors(self.n, [self.read(a), f.const("i64", 0)]) as (i, (best, place), updated):
            number = f.i64("mul", i, self.inner)
            offset = f.i64("mul", number, self.size)
            value = self.read(a, offset)
            better = self.better(value, best)
            best, place = better.where(value, best), better.where(f.splat("i64", i), place)
            self.write(best, values, offset)
            f.emit(f"store {place!r}, ptr {f.at(places, f.i64('mul', number, SLOT))}, align 8")
            updated += [best, place]

    def rows(self) -> None:
        """A vector's worth of rows at a time: blocks are turned, so that a vector holds one element of each.
        Rows beyond the last are the last one again, which gives the same twice.
        """
        f, lanes = self.function, self.lanes
        last, whole = f.i64("sub", self.count, 1), f.i64("udiv", self.n, lanes)
        with f.counted(self.over(self.count, lanes)) as block:
            first = f.i64("mul", block, lanes)
            rows = [f.i64("mul", self.least(f.i64("add", first, k), last), self.n) for k in range(lanes)]
            a, values, places = (
                [f.at(p, f.i64("mul", row, size)) for row in rows]
                for p, size in zip(self.operands, (self.size, self.size, SLOT), strict=True)
            )
            begin = [self.gathered(a, "0"), f.const("i32", 0)]
            with f.vectors(whole, begin) as (k, running, updated):
                at = f.i64("mul", k, lanes)
                offset, number = f.i64("mul", at, self.size), f.op(f"trunc i64 {at} to i32")
                state, found = running, []
                for j, value in enumerate(self.turned([self.read(p, offset) for p in a])):
                    state = self._next(value, state, f.op(f"add i32 {number}, {j}"))
                    found.append(state)
                for row, p in zip(self.turned([best for best, _ in found]), values, strict=True):
                    self.write(row, p, offset)
                kind, self.kind = self.kind, "i32"
                for row, p in zip(self.turned([place for _, place in found]), places, strict=True):
                    wide = row.cast("sext", "i64")
                    f.emit(f"store {wide!r}, ptr {f.at(p, f.i64('mul', at, SLOT))}, align 8")
                self.kind = kind
                updated += state
            self._rest(f.i64("mul", whole, lanes), running, a, values, places)
        close(f)

    def _next(self, value: Lane, running: list[Lane], number: str) -> list[Lane]:
        better = self.better(value, running[0])
        return [better.where(value, running[0]), better.where(self.function.splat("i32", number), running[1])]

    def _rest(
        self, done: str, running: list[Lane], a: list[str], values: list[str], places: list[str]
    ) -> None:
        """The elements of the rows from number `done` on, one by one."""
        f = self.function
        with f.vectors(f.i64("sub", self.n, done), running) as (k, running, updated):
            at = f.i64("add", done, k)
            offset = f.i64("mul", at, self.size)
            state = self._next(self.gathered(a, offset), running, f.op(f"trunc i64 {at} to i32"))
            for lane, (to, place) in enumerate(zip(values, places, strict=True)):
                best, number = (f.op(f"extractelement {t!r}, i64 {lane}") for t in state)
                f.store(self.kind, best, to, offset)
                f.store("i64", f.op(f"sext i32 {number} to i64"), place, f.i64("mul", at, SLOT))
            updated += state
