"""Weighted sums of a few rows each: resampling along a dim, windows in channels last, bags of a table's rows.

Row i of a result is the sum of weights[k] * source[places[k]], k from starts[i] to starts[i + 1], in order.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close, slot

# Vectors of a row that are summed side by side; elements of the result from which on threads are worth
# waking, and of a job about.
_TOGETHER, _PARALLEL, _JOB = 4, 1 << 15, 1 << 13


def along(a: Array, dim: int, starts: Array, places: Array, weights: Array | None = None) -> Array | None:
    """(*, n, *) from a dense (*, size, *): sums along a dim. starts: (n + 1,), places and weights (in a's
    dtype; None: 1 each) of all sums one after the other. None where there is no machine code.
    """
    if not suits(a) or not a.flags.c_contiguous or not team.possible():
        return None
    out = np.empty((*a.shape[:dim], len(starts) - 1, *a.shape[dim + 1 :]), a.dtype)
    if out.size:
        sizes = prod(a.shape[:dim]), a.shape[dim], len(starts) - 1, prod(a.shape[dim + 1 :])
        threads = parallel.get_num_threads() if out.size >= _PARALLEL else 1
        given = places if weights is None else weights
        _along(a.dtype, *sizes, weights is None)(threads, a, starts, places, given, out)
    return out


def bags(table: Array, starts: Array, places: Array, weights: Array | None) -> Array | None:
    """(n, width) sums of rows of a dense (rows, width): of bag i those from starts[i] to starts[i + 1] of
    `places`, which lie in the table. None where there is no machine code.
    """
    if not suits(table) or not table.flags.c_contiguous or not team.possible():
        return None
    given = () if weights is None else (weights,)
    whole = all(t.flags.c_contiguous for t in (starts, places, *given))
    if not whole or starts.dtype != np.int64 or places.dtype != np.int64:
        return None
    return along(table, 0, starts, places, weights)


@lru_cache(maxsize=256)
def _along(of: Any, outer: int, size: int, n: int, inner: int, plain: bool = False) -> team.Call:
    """Of the source, starts, places, weights and the result: a job for some rows of some blocks."""
    item = of.itemsize
    blocks = max(1, _JOB // (n * inner))
    rows = n if blocks > 1 else max(1, _JOB // inner)
    first, low = (np.ravel(t) for t in np.mgrid[0:outer:blocks, 0:n:rows])
    jobs = np.zeros((len(first), 10), np.int64)
    jobs[:, 0] = first * (size * inner * item)
    jobs[:, 1] = low * SLOT
    jobs[:, 4] = (first * n + low) * (inner * item)
    jobs[:, 5] = np.minimum(blocks, outer - first)
    jobs[:, 6] = np.minimum(rows, n - low)
    jobs[:, 7:] = inner, size * inner * item, n * inner * item
    loop = native.loop(_plain if plain else _weighted, of.name)
    return team.Call(team.CallStage(loop, jobs, range(5), 5, np.zeros(1, np.int64)))


def _weighted(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR. args: source, starts, places, weights, out. dims: blocks, rows, elements of a row, bytes from
    block to block of the source and of the result.
    """
    _RowSums(module, name, kind, lanes, True).write_all()


def _plain(module: Module, name: str, kind: str, lanes: int) -> None:
    """The same without weights."""
    _RowSums(module, name, kind, lanes, False).write_all()


class _RowSums(Writer):
    def __init__(self, module: Module, name: str, kind: str, lanes: int, weighted: bool) -> None:
        super().__init__(module, name, kind, lanes)
        f, self.weighted = self.function, weighted
        self.source, self.starts, self.places, self.weights, self.out = (
            f.load("ptr", "%args", SLOT * k) for k in range(5)
        )
        self.blocks, self.rows, self.inner, *self.apart = (f.load("i64", "%dims", SLOT * k) for k in range(5))
        self.row_bytes = f.i64("mul", self.inner, self.size)

    def write_all(self) -> None:
        """Block by block, row by row; of each some vectors at a time, one by one, then its last elements."""
        f, one = self.function, self.lanes * self.size
        many = f.i64("udiv", self.inner, _TOGETHER * self.lanes)
        singles = f.i64("udiv", f.i64("urem", self.inner, _TOGETHER * self.lanes), self.lanes)
        rest = f.i64("urem", self.inner, self.lanes)
        source, out = self.source, self.out
        with f.counted(self.blocks) as block, f.counted(self.rows) as i:
            self.source, self.out = (
                f.at(p, f.i64("mul", block, step)) for p, step in zip((source, out), self.apart, strict=True)
            )
            first = self.entry(self.starts, i)
            count = f.i64("sub", f.load("i64", slot(f, self.starts, i, 1)), first)
            to = f.at(self.out, f.i64("mul", i, self.row_bytes))
            with f.counted(many) as block:
                self._vectors(first, count, to, f.i64("mul", block, _TOGETHER * one), _TOGETHER)
            begin = f.i64("mul", many, _TOGETHER * one)
            with f.counted(singles) as block:
                self._vectors(first, count, to, f.i64("add", begin, f.i64("mul", block, one)), 1)
            begin = f.i64("add", begin, f.i64("mul", singles, one))
            with f.counted(rest) as k:
                self._element(first, count, to, f.i64("add", begin, f.i64("mul", k, self.size)))
        close(f)

    def _term(self, first: str, k: str) -> tuple[str, str]:
        """The row that term k of a sum reads, and its weight."""
        f = self.function
        at = f.i64("add", first, k)
        row = f.at(self.source, f.i64("mul", self.entry(self.places, at), self.row_bytes))
        return row, f.load(self.kind, self.weights, f.i64("mul", at, self.size)) if self.weighted else ""

    def _vectors(self, first: str, count: str, to: str, at: str, together: int) -> None:
        f, step = self.function, self.lanes * self.size
        zero = [f.const(self.kind, 0.0)] * together
        with f.vectors(count, zero) as (k, totals, updated):
            row, weight = self._term(first, k)
            start = f.at(row, at)
            factor = f.splat(self.kind, weight) if self.weighted else None
            for v, total in enumerate(totals):
                term = self.read(start, v * step)
                updated.append(total + (term if factor is None else term * factor))
        for v, total in enumerate(totals):
            self.write(total, f.at(to, at), v * step)

    def _element(self, first: str, count: str, to: str, at: str) -> None:
        f, kind = self.function, self.kind
        total = f.var("0.0", kind)
        with f.counted(count) as k:
            row, weight = self._term(first, k)
            term = f.load(kind, row, at)
            term = f.op(f"fmul {kind} {term}, {weight}") if self.weighted else term
            total.set(f.op(f"fadd {kind} {total.get()}, {term}"))
        f.store(kind, total.get(), to, at)
