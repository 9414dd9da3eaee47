"""Sums of the rows of dense matrices, several rows at once, since each addition waits for the one before it.

"add": with the bits of row kernels (row_body.py): as many lanes as those have add up blocks of a row, which
are added in double precision, and lanes are combined pairwise. "line": with NumPy's, which has eight totals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.emit.scalar_code import VECTOR_BYTES, load_some
from rushlight._engine.kernels.loops.row_body import BLOCK
from rushlight._engine.kernels.loops.row_plan import ramp
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

# Elements of a job, those from which on threads are worth waking, and of a row that NumPy adds in one go.
_JOB, _PARALLEL, LINE = 1 << 14, 1 << 15, 128
# NumPy's totals, and elements of very short rows.
_EIGHT, _FEW = 8, 4
Sums = Callable[[Sequence[str]], list[str]]


def sums_of(how: str, of: Any, rows: int, n: int) -> Callable[[Array], Array] | None:
    """What gives the sums of the rows of a dense matrix of floats; None where there is no machine code.

    "line" is for rows of at most LINE elements.
    """
    if not suits(np.empty(0, of)) or not team.possible():
        return None
    call, many = _call(how, of, rows, n), rows * n >= _PARALLEL

    def run(a: Array) -> Array:
        out = np.empty(rows, of)
        call(parallel.get_num_threads() if many else 1, a, out)
        return out

    return run


@lru_cache(maxsize=256)
def _call(how: str, of: Any, rows: int, n: int) -> team.Call:
    """Of the matrix and the results: a job for some rows."""
    each = max(1, _JOB // n, rows >> 8)
    first = np.arange(0, rows, each)
    jobs = np.stack(
        [first * (n * of.itemsize), first * of.itemsize, np.minimum(each, rows - first), 0 * first + n], 1
    )
    loop = native.loop(_row_sums, of.name, how)
    return team.Call(team.CallStage(loop, jobs, range(2), 2, np.zeros(1, np.int64)))


def _row_sums(module: Module, name: str, kind: str, lanes: int, how: str) -> None:
    """The IR. args: matrix, out. dims: how many rows, elements of each."""
    _Rows(module, name, kind, lanes).write_all(how)


class _Rows(Writer):
    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        # Those of a row kernel, and rows side by side.
        self.own, self.abreast = 2 * VECTOR_BYTES // self.size, 4 if lanes * self.size == VECTOR_BYTES else 2
        self.a, self.out = (f.load("ptr", "%args", SLOT * k) for k in range(2))
        self.rows, self.n = (f.load("i64", "%dims", SLOT * k) for k in range(2))
        self.step = f.i64("mul", self.n, self.size)

    def write_all(self, how: str) -> None:
        """The branches by how long rows are."""
        f = self.function
        ways: list[tuple[str | int, Sums]] = [(_EIGHT - 1, self._one_by_one), (self.n, self._eight)]
        if how == "add":
            ways = [(width, partial(self._short, width)) for width in (_FEW, self.own // 2)]
            ways.append((self.n, self._long))
        above: str | int = 0
        for most, sums in ways:
            longer, fits = f.i64("icmp sgt", self.n, above), f.i64("icmp sle", self.n, most)
            with f.when(f.op(f"and i1 {longer}, {fits}")):
                self._each(sums)
            above = most
        close(f)

    def _each(self, sums: Sums) -> None:
        """All rows: some at a time, then one by one."""
        f, first = self.function, "0"
        for together in (self.abreast, 1):
            count = f.i64("udiv", f.i64("sub", self.rows, first), together)
            with f.counted(count) as group:
                row = f.i64("add", first, f.i64("mul", group, together))
                begin, to = f.i64("mul", row, self.step), f.at(self.out, f.i64("mul", row, self.size))
                at = [f.at(self.a, begin)]
                for _ in range(together - 1):
                    at.append(f.at(at[-1], self.step))
                for k, total in enumerate(sums(at)):
                    f.store(self.kind, total, to, k * self.size)
            first = f.i64("mul", count, together)

    def _short(self, width: int, rows: Sequence[str]) -> list[str]:
        """Of rows of at most so many elements: lanes beyond would add zeros."""
        self._lanes(width)
        nothing = self.function.const("double", 0.0)
        return [self._across(nothing + self._wide(self._some(row, self.n))) for row in rows]

    def _long(self, rows: Sequence[str]) -> list[str]:
        self._lanes(self.own)
        f, most = self.function, BLOCK // self.own
        whole = f.i64("udiv", self.n, self.own)
        rest = f.i64("sub", self.n, f.i64("mul", whole, self.own))
        nothing = [[f.const(kind, 0.0)] * len(rows) for kind in (self.kind, "double")]
        with f.vectors(self.over(whole, most), nothing[1]) as (block, totals, following):
            first = f.i64("mul", block, most)
            now = self.least(f.i64("sub", whole, first), most)
            with f.vectors(now, nothing[0]) as (k, sums, updated):
                at = f.i64("mul", f.i64("add", first, k), self.own * self.size)
                updated += [total + self.read(row, at) for total, row in zip(sums, rows, strict=True)]
            following += [total + self._wide(part) for total, part in zip(totals, sums, strict=True)]
        with f.changed(f.i64("icmp ne", rest, 0), totals) as (found, updated):
            at = f.i64("mul", whole, self.own * self.size)
            updated += [
                total + self._wide(self._some(f.at(row, at), rest))
                for total, row in zip(totals, rows, strict=True)
            ]
        return [self._across(total) for total in found]

    def _one_by_one(self, rows: Sequence[str]) -> list[str]:
        self._lanes(1)
        totals = [self.function.const(self.kind, 0.0)] * len(rows)
        return [self._first(total) for total in self._added(totals, rows, "0")]

    def _eight(self, rows: Sequence[str]) -> list[str]:
        f = self.function
        self._lanes(_EIGHT)
        times = f.i64("sdiv", f.i64("sub", self.n, _EIGHT), _EIGHT)
        with f.vectors(times, [self.read(row) for row in rows]) as (k, totals, updated):
            at = f.i64("mul", f.i64("add", k, 1), _EIGHT * self.size)
            updated += [total + self.read(row, at) for total, row in zip(totals, rows, strict=True)]
        for half in (1, 2, 4):
            totals = [total + self._moved(total, half) for total in totals]
        ones = [self._first(total) for total in totals]
        self._lanes(1)
        totals = self._added([f.splat(self.kind, one) for one in ones], rows, f.i64("and", self.n, -_EIGHT))
        return [self._first(total + 0.0) for total in totals]

    def _added(self, totals: Sequence[Lane], rows: Sequence[str], first: str) -> list[Lane]:
        """The totals and the elements from the first one on, one after the other."""
        f = self.function
        with f.vectors(f.i64("sub", self.n, first), totals) as (k, running, updated):
            at = f.i64("mul", f.i64("add", first, k), self.size)
            updated += [total + self.read(row, at) for total, row in zip(running, rows, strict=True)]
        return running

    def _lanes(self, count: int) -> None:
        self.function.width, self.vector = count, f"<{count} x {self.kind}>"

    def _some(self, pointer: str, count: str) -> Lane:
        """The first elements, and zeros."""
        f = self.function
        mask = ramp(f, "i32").compare("lt", f.splat("i32", f.op(f"trunc i64 {count} to i32")))
        return load_some(f, pointer, mask, f.const(self.kind, 0.0))

    def _wide(self, x: Lane) -> Lane:
        return x if x.kind == "double" else x.cast("fpext", "double")

    def _moved(self, x: Lane, by: int) -> Lane:
        """Each lane has what one further on had."""
        f = self.function
        order = ", ".join(f"i32 {(k + by) % f.width}" for k in range(f.width))
        return f.lanes(x.kind, f"shufflevector {x!r}, {x.type} poison, <{f.width} x i32> <{order}>")

    def _across(self, total: Lane) -> str:
        """The lanes, halves added, then quarters, and so on."""
        f, width = self.function, self.function.width
        half = width // 2
        while half:
            parts = []
            for start in (0, half):
                order = ", ".join(f"i32 {start + k}" for k in range(half))
                parts.append(f"shufflevector {total!r}, {total.type} poison, <{half} x i32> <{order}>")
            f.width = half
            total = f.lanes(total.kind, parts[0]) + f.lanes(total.kind, parts[1])
            half //= 2
        one = total if total.kind == self.kind else total.cast("fptrunc", self.kind)
        found = self._first(one)
        self._lanes(width)
        return found

    def _first(self, x: Lane) -> str:
        return self.function.op(f"extractelement {x!r}, i64 0")
