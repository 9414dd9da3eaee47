"""Sums, maxima and minima of the columns of dense matrices: vectors stay in registers on their way down.

Sums ("add") are those of column_loops.py: some rows are added up, then added to a total in double precision.
Several such blocks of rows are on their way at once, since each addition waits for the one before it. "line"
is a sum row after row, as NumPy's. Of rows that are longer than registers hold, results lie in the fastest
cache meanwhile, and each row is read to its end: processors fetch early what follows in memory, and pieces
of rows do not follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.lanes import Lane, is_float
from rushlight._engine.kernels.emit.llvm_ir import BITS, Module
from rushlight._engine.kernels.emit.scalar_code import (
    item_size,
    load,
    load_some,
    storage_kind,
    store_some,
    widen,
)
from rushlight._engine.kernels.loops.column_loops import CHUNK, ROWS_AT_ONCE, in_chunks
from rushlight._engine.kernels.loops.row_plan import ramp
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

# Bytes of a row, and of all, up to which columns are walked down one after another.
_NEAR, _CACHED = 1 << 13, 1 << 20
# Parts of a call that is kept, at most.
_KEPT = 1 << 13
# Vectors side by side where there are fewer than registers hold; and of a long row.
_FEW, _TWO = (8, 4, 2), 2
# Bytes of a vector from which on there are twice as many registers.
_WIDE = 64
# Bytes of a cache line, of a number in double precision, and to which vectors in memory are aligned.
_LINE, _DOUBLE, _ALIGNED = 64, 8, 16
# Sums that are on their way at once at least; elements from which on threads are worth waking; columns of a
# job, and the fewest where threads share them out.
_AT_ONCE, _PARALLEL, _STRIP, _SHARE = 8, 1 << 15, 2048, 512


def columns_of(how: str, of: Any, sizes: tuple[int, int, int]) -> Callable[[Array], Array] | None:
    """What gives the sum ("add", "line"), "max" or "min" of each column of dense (matrices, rows, columns) of
    floats; extremes are nan where there is one. None where there is no machine code.
    """
    matrices, rows, columns = sizes
    return _run(how, of, columns, matrices * rows, rows)


def sums_of(of: Any, rows: int, columns: int, stored: str = "") -> Callable[[Array], Array] | None:
    """What gives the sums of the columns of a dense matrix of floats, with the bits of `Columns.large`; None
    where that takes no longer. stored: the matrix's dtype, of two bytes, where it is another than the sums'.
    """
    if far_apart(rows, columns * of.itemsize) or not widens(stored):
        return None
    if in_chunks(rows, columns):
        parts = _run("add", of, columns, rows, CHUNK, stored)
        return parts and (lambda a: np.add.reduce(parts(a), 0))
    if rows >= 2 * ROWS_AT_ONCE * parallel.get_num_threads() > 2 * ROWS_AT_ONCE:
        # Threads take blocks of rows, not strips of columns, so that each reads whole rows.
        blocks = _run("line", of, columns, rows, ROWS_AT_ONCE, stored)
        return blocks and (lambda a: np.add.reduce(blocks(a), 0, dtype=np.float64).astype(of))
    found = _run("add", of, columns, rows, rows, stored)
    return found and (lambda a: found(a)[0])


def widens(stored: str) -> bool:
    """Whether there is code that reads halves of this dtype as float32 ("": what is no half)."""
    return stored in ("", "bfloat16") or (stored == "float16" and target.host().half)


def strips(columns: int, parts: int, threads: int) -> list[tuple[int, int]]:
    """(first, how many) columns of each job of a part of the rows, where so many parts share the threads."""
    count = max(-(-columns // _STRIP), min(-(-threads // parts), columns // _SHARE))
    cuts = [columns * k // count // _LINE * _LINE for k in range(count)] + [columns]
    return [(low, high - low) for low, high in zip(cuts, cuts[1:], strict=False)]


def far_apart(rows: int, step: int) -> bool:
    """Whether a walk down some columns of rows of so many bytes is slow: far apart, and in no cache."""
    return step > _NEAR and rows * step > _CACHED


def _run(
    how: str, of: Any, columns: int, rows: int, each: int, stored: str = ""
) -> Callable[[Array], Array] | None:
    """A line of results for each part of `each` of the rows, the last of which may be shorter."""
    like = np.empty(0, of)
    if not suits(like) or not team.possible():
        return None
    shape, many = (-(-rows // each), columns), columns * rows >= _PARALLEL
    # There is a job for each part: where these are many, they are made for each call anew.
    form = how, of, columns, rows, each, stored
    threads = parallel.get_num_threads() if many else 1
    kept = _call(*form, threads) if shape[0] <= _KEPT else None

    def run(a: Array) -> Array:
        out, call = np.empty(shape, of), kept
        if call is None:
            call = _call.__wrapped__(*form, threads)
        call(parallel.get_num_threads() if many else 1, a, out)
        return out

    return run


@lru_cache(maxsize=256)
def _call(how: str, of: Any, columns: int, rows: int, each: int, stored: str, threads: int) -> team.Call:
    """Of the rows and the results: a job for a strip of columns of a part."""
    item = item_size(stored) if stored else of.itemsize
    parts = -(-rows // each)
    low, wide = np.array(strips(columns, parts, threads), np.int64).T
    part, strip = (np.ravel(t) for t in np.mgrid[0:parts, 0 : len(low)])
    jobs = np.zeros((len(part), 5), np.int64)
    jobs[:, 0] = (part * each * columns + low[strip]) * item
    jobs[:, 1] = (part * columns + low[strip]) * of.itemsize
    jobs[:, 2] = wide[strip]
    jobs[:, 3] = np.minimum(each, rows - part * each)
    jobs[:, 4] = columns * item
    loop = native.loop(_down, of.name, how, stored)
    return team.Call(team.CallStage(loop, jobs, range(2), 2, np.zeros(1, np.int64)))


Row = Callable[[str], list[Lane]]


def _down(module: Module, name: str, kind: str, lanes: int, how: str, stored: str) -> None:
    """The IR. args: matrix, out. dims: how many columns, rows, bytes from row to row."""
    _Columns(module, name, kind, lanes, how, stored).write_all()


class Down(Writer):
    """Sums of the columns of what a `reader` gives; and extremes, below."""

    # How many results a column has.
    results = 1

    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        # Vectors of results that half of the registers hold.
        self.held = 16 if lanes * self.size >= _WIDE else 8
        self.columns, self.rows = (f.load("i64", "%dims", SLOT * k) for k in range(2))
        # Which lanes there are, where columns fill no vector.
        self.some: Lane | None = None

    def write_all(self) -> None:
        """Some vectors of columns at a time, then one, the last of which may begin among columns that are
        done; where there is no vector of them, as many lanes as there are.
        """
        f, one, most = self.function, self.lanes * self.size, max(1, self.held // self.results)
        long = f.i64("icmp ugt", self.columns, most * self.lanes)
        pairs = f.op(f"select i1 {long}, i64 {f.i64('udiv', self.columns, _TWO * self.lanes)}, i64 0")
        with f.when(long):
            self.long_rows(pairs)
        begin = f.i64("mul", pairs, _TWO * one)
        left = f.i64("sub", self.columns, f.i64("mul", pairs, _TWO * self.lanes))
        for together in (most, *[few for few in _FEW if few < most]):
            many = f.i64("udiv", left, together * self.lanes)
            with f.counted(many) as block:
                self.walk(f.i64("add", begin, f.i64("mul", block, together * one)), together)
            begin = f.i64("add", begin, f.i64("mul", many, together * one))
            left = f.i64("sub", left, f.i64("mul", many, together * self.lanes))
        few = f.i64("icmp slt", self.columns, self.lanes)
        singles = f.op(f"select i1 {few}, i64 0, i64 {self.over(left, self.lanes)}")
        furthest = f.i64("mul", f.i64("sub", self.columns, self.lanes), self.size)
        with f.counted(singles) as block:
            self.walk(self.least(f.i64("add", begin, f.i64("mul", block, one)), furthest), 1)
        with f.when(few):
            count = f.splat("i32", f.op(f"trunc i64 {self.columns} to i32"))
            self.some = ramp(f, "i32").compare("lt", count)
            self.walk("0", 1)
        close(f)

    def walk(self, at: str, together: int) -> None:
        """Down vectors that are side by side, of which the first begins at a byte of the rows."""
        self.give(self.added(self.reader(at, together), together * self.results), at)

    def long_rows(self, pairs: str) -> None:
        """Down as many pairs of vectors, side by side, of rows that no registers hold: the sums of blocks of
        rows, added up as in `added`.
        """
        f, zero = self.function, self.function.const(self.kind, 0.0)
        sums, totals = self._memory(pairs, self.size), self._memory(pairs, _DOUBLE)
        self._fill(totals, pairs, f.const("double", 0.0))
        with f.counted(self.over(self.rows, ROWS_AT_ONCE)) as block:
            first = f.i64("mul", block, ROWS_AT_ONCE)
            self._fill(sums, pairs, zero)
            count = self.least(f.i64("sub", self.rows, first), ROWS_AT_ONCE)
            self.combine(sums, pairs, (first, count), Lane.__add__)
            with f.counted(pairs) as p:
                held = self._held(totals, p, "double")
                self._hold(totals, p, self._more(held, self._held(sums, p, self.kind)))
        with f.counted(pairs) as p:
            found = [self._cast(total, self.kind) for total in self._held(totals, p, "double")]
            self.give(found, f.i64("mul", p, _TWO * self.lanes * self.size))

    def combine(
        self, memory: str, pairs: str, rows: tuple[str, str], together: Callable[[Lane, Lane], Lane]
    ) -> None:
        """Combine rows (the first, how many) with what is held in memory."""
        f = self.function
        first, count = rows
        with f.counted(count) as i, f.counted(pairs) as p:
            values = self.reader(f.i64("mul", p, _TWO * self.lanes * self.size), _TWO)(f.i64("add", first, i))
            held = self._held(memory, p, self.kind)
            self._hold(memory, p, [together(h, v) for h, v in zip(held, values, strict=True)])

    def _memory(self, pairs: str, size: int) -> str:
        """Memory of as many pairs of vectors of each result, of elements of so many bytes."""
        each = _TWO * self.results * self.lanes * size
        return self.function.op(f"alloca i8, i64 {self.function.i64('mul', pairs, each)}, align {_LINE}")

    def _fill(self, memory: str, pairs: str, value: Lane) -> None:
        with self.function.counted(pairs) as p:
            self._hold(memory, p, [value] * (_TWO * self.results))

    def _place(self, memory: str, p: str, k: int, kind: str) -> str:
        f, step = self.function, self.lanes * BITS[kind] // 8
        return f.at(f.at(memory, f.i64("mul", p, _TWO * self.results * step)), k * step)

    def _held(self, memory: str, p: str, kind: str) -> list[Lane]:
        """The vectors of a pair."""
        f, wide = self.function, f"<{self.lanes} x {kind}>"
        places = [self._place(memory, p, k, kind) for k in range(_TWO * self.results)]
        return [f.lanes(kind, f"load {wide}, ptr {place}, align {_ALIGNED}") for place in places]

    def _hold(self, memory: str, p: str, values: Sequence[Lane]) -> None:
        for k, value in enumerate(values):
            place = self._place(memory, p, k, value.kind)
            self.function.emit(f"store {value!r}, ptr {place}, align {_ALIGNED}")

    def reader(self, at: str, together: int) -> Row:
        """What gives the vectors of a row: the first result's, and so on."""
        raise NotImplementedError

    def give(self, found: Sequence[Lane], at: str) -> None:
        """Write the results."""
        raise NotImplementedError

    def taken(self, line: str, together: int, stored: str = "") -> list[Lane]:
        """Vectors in memory, widened where they are stored in two bytes."""
        f, some = self.function, self.some
        if not stored:
            if some is not None:
                return [load_some(f, line, some, f.const(self.kind, 0.0))]
            return [self.read(line, v * self.lanes * self.size) for v in range(together)]
        if some is not None:
            return [widen(load_some(f, line, some, f.const(storage_kind(stored), 0)), stored)]
        step = self.lanes * item_size(stored)
        return [load(f, f.at(line, v * step), stored) for v in range(together)]

    def beginning(self, pointer: str, at: str, stored: str = "") -> str:
        """Where a column lies that begins at a byte of rows of the sums' dtype."""
        return self.function.at(pointer, self.function.i64("lshr", at, 1) if stored else at)

    def put(self, found: Sequence[Lane], line: str) -> None:
        """Vectors to memory."""
        if self.some is not None:
            store_some(self.function, found[0], line, self.some)
            return
        for v, value in enumerate(found):
            self.write(value, line, v * self.lanes * self.size)

    def added(self, row: Row, count: int) -> list[Lane]:
        """The sums of blocks of rows, added up: several blocks side by side, then one after the other."""
        f, abreast = self.function, max(1, _AT_ONCE // count)
        totals, first = [f.const("double", 0.0)] * count, "0"
        for blocks in sorted({abreast, 1}, reverse=True):
            height = blocks * ROWS_AT_ONCE
            times = f.i64("udiv", f.i64("sub", self.rows, first), height)
            with f.vectors(times, totals) as (i, running, updated):
                start = f.i64("add", first, f.i64("mul", i, height))
                updated += self._more(running, self.sums(row, start, str(ROWS_AT_ONCE), count, blocks))
            first, totals = f.i64("add", first, f.i64("mul", times, height)), running
        totals = self._more(totals, self.sums(row, first, f.i64("sub", self.rows, first), count))
        return [self._cast(total, self.kind) for total in totals]

    def sums(self, row: Row, first: str, rows: str, count: int, blocks: int = 1) -> list[Lane]:
        """The sums of so many rows from the first one on, and of the blocks after them."""
        f = self.function
        with f.vectors(rows, [f.const(self.kind, 0.0)] * (count * blocks)) as (k, sums, updated):
            i = f.i64("add", first, k)
            values = [v for b in range(blocks) for v in row(f.i64("add", i, b * ROWS_AT_ONCE))]
            updated += [total + value for total, value in zip(sums, values, strict=True)]
        return sums

    def _more(self, totals: Sequence[Lane], sums: Sequence[Lane]) -> list[Lane]:
        """The totals and the blocks' sums, one after the other."""
        totals = list(totals)
        for k, value in enumerate(sums):
            totals[k % len(totals)] += self._cast(value, "double")
        return totals

    def _cast(self, x: Lane, kind: str) -> Lane:
        return x if x.kind == kind else x.cast("fpext" if kind == "double" else "fptrunc", kind)


class _Columns(Down):
    def __init__(self, module: Module, name: str, kind: str, lanes: int, how: str, stored: str) -> None:
        super().__init__(module, name, kind, lanes)
        f, self.how, self.stored = self.function, how, stored
        self.a, self.out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
        self.step = f.load("i64", "%dims", SLOT * 2)

    def reader(self, at: str, together: int) -> Row:
        """Of the matrix."""
        f = self.function
        begin = self.beginning(self.a, at, self.stored)
        return lambda i: self.taken(f.at(begin, f.i64("mul", i, self.step)), together, self.stored)

    def give(self, found: Sequence[Lane], at: str) -> None:
        """To the result."""
        self.put(found, self.function.at(self.out, at))

    def walk(self, at: str, together: int) -> None:
        """As `how` says."""
        f, row = self.function, self.reader(at, together)
        if self.how == "add":
            found = self.added(row, together)
        elif self.how == "line":
            found = self.sums(row, "0", self.rows, together)
        else:
            with f.vectors(self.rows, row("0")) as (i, found, updated):
                updated += [self._further(best, value) for best, value in zip(found, row(i), strict=True)]
        self.give(found, at)

    def long_rows(self, pairs: str) -> None:
        """As `how` says."""
        f, line = self.function, _TWO * self.lanes * self.size
        if self.how == "add":
            super().long_rows(pairs)
            return
        memory = self._memory(pairs, self.size)
        if self.how == "line":
            self._fill(memory, pairs, f.const(self.kind, 0.0))
        else:
            with f.counted(pairs) as p:
                self._hold(memory, p, self.reader(f.i64("mul", p, line), _TWO)("0"))
        self.combine(memory, pairs, ("0", self.rows), Lane.__add__ if self.how == "line" else self._further)
        with f.counted(pairs) as p:
            self.give(self._held(memory, p, self.kind), f.i64("mul", p, line))

    def _further(self, best: Lane, value: Lane) -> Lane:
        """The extreme of two; nan where there is one."""
        extreme = f"llvm.{self.how}imum" if is_float(self.kind) else f"llvm.s{self.how}"
        return self.function.intrinsic(extreme, best, value)
