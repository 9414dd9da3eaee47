"""Planes resampled along both dims, an element of the result from two lines by two columns, in one pass.

Each line of a plane is widened into scratch memory, which caches hold; the result's lines are blends of two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close, memory

# Of each element along a dim: the two that it is made of, and their weights, (n, 2) each.
Taps = tuple[Array, Array]


def blended(a: Array, lines: Taps, columns: Taps) -> Array | None:
    """(*, n, m) from planes (*, h, w): line i of the result is the blend of lines[0][i] by lines[1][i], and
    so its columns. None where there is no machine code.
    """
    if not suits(a) or not a.size or not a.flags.c_contiguous or not team.possible():
        return None
    out = np.empty((*a.shape[:-2], len(lines[0]), len(columns[0])), a.dtype)
    key = [(places.tobytes(), weights.tobytes()) for places, weights in (lines, columns)]
    _call(a.dtype, a.shape, *key)(parallel.get_num_threads(), a, out)
    return out


@lru_cache(maxsize=32)
def _call(of: Any, shape: tuple[int, ...], *given: tuple[bytes, bytes]) -> team.Call:
    """A job for each plane."""
    *lead, height, width = shape
    (lines, low), (columns, across) = [
        (
            np.frombuffer(places, np.int64).reshape(-1, 2).T,
            np.frombuffer(weights, np.float64).reshape(-1, 2).T.astype(of),
        )
        for places, weights in given
    ]
    n, m, item = lines.shape[1], columns.shape[1], of.itemsize
    tables = [np.ascontiguousarray(t) for t in (lines * m * item, low, columns * item, across)]
    planes = int(np.prod(lead))
    jobs = np.empty((planes, 10), np.int64)
    jobs[:, :2] = np.arange(planes)[:, None] * [height * width * item, n * m * item]
    jobs[:, 2:] = [*map(pointer, tables), height, width, n, m]
    return team.Call(
        team.CallStage(native.loop(blend, of.name), jobs, range(2), 6, np.zeros(1, np.int64), tables)
    )


def blend(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR. args: plane, out, lines, their weights, columns, their weights: all firsts, then all seconds.
    dims: lines and columns of the plane, of out. Lines and columns are bytes.
    """
    _Blend(module, name, kind, lanes).write_all()


class _Blend(Writer):
    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        self.tables = [f.load("ptr", "%args", SLOT * k) for k in range(6)]
        self.height, self.width, self.out_height, self.out_width = (
            f.load("i64", "%dims", SLOT * k) for k in range(4)
        )

    def write_all(self) -> None:
        """The whole function."""
        f, (plane, out, *_) = self.function, self.tables
        line = f.i64("mul", self.out_width, self.size)
        with memory(f, f.i64("mul", self.height, line)) as scratch:
            with f.counted(self.height) as y:
                source = f.at(plane, f.i64("mul", y, f.i64("mul", self.width, self.size)))
                self._widened(source, f.at(scratch, f.i64("mul", y, line)))
            with f.counted(self.out_height) as y:
                self._line(scratch, y, f.at(out, f.i64("mul", y, line)))
        close(f)

    def _pair(self, table: str, count: str, i: str, kind: str) -> tuple[str, str]:
        """Entry i of both halves of a table."""
        f = self.function
        size = SLOT if kind == "i64" else self.size
        first, second = [
            f.load(kind, f.at(table, f.i64("mul", k, size))) for k in (i, f.i64("add", count, i))
        ]
        return first, second

    def _sum(self, first: str, second: str, low: str, high: str, kind: str) -> str:
        f = self.function
        return f.op(
            f"fadd {kind} {f.op(f'fmul {kind} {first}, {low}')}, {f.op(f'fmul {kind} {second}, {high}')}"
        )

    def _widened(self, source: str, to: str) -> None:
        """A line of the plane, column by column."""
        f, kind = self.function, self.kind
        with f.counted(self.out_width) as x:
            a, b = [
                f.load(kind, f.at(source, at)) for at in self._pair(self.tables[4], self.out_width, x, "i64")
            ]
            found = self._sum(a, b, *self._pair(self.tables[5], self.out_width, x, kind), kind)
            f.store(kind, found, f.at(to, f.i64("mul", x, self.size)))

    def _line(self, scratch: str, y: str, to: str) -> None:
        """A line of the result, vector by vector, and what is left."""
        f, kind = self.function, self.kind
        lines = [f.at(scratch, at) for at in self._pair(self.tables[2], self.out_height, y, "i64")]
        weights = self._pair(self.tables[3], self.out_height, y, kind)
        low, high = [f.splat(kind, w) for w in weights]
        vectors = f.i64("udiv", self.out_width, self.lanes)
        with f.counted(vectors) as v:
            at = f.i64("mul", v, self.lanes * self.size)
            a, b = [self.read(line, at) for line in lines]
            self.write(a * low + b * high, to, at)
        begin = f.i64("mul", vectors, self.lanes)
        with f.counted(f.i64("sub", self.out_width, begin)) as left:
            at = f.i64("mul", f.i64("add", begin, left), self.size)
            a_one, b_one = [f.load(kind, f.at(line, at)) for line in lines]
            f.store(kind, self._sum(a_one, b_one, *weights, kind), f.at(to, at))
