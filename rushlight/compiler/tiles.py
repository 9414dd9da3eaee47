"""Products addressed by tables (`tilecode.py`) as jobs for the team: parts of the rows, by blocks of columns.

A row's result does not depend on which rows share its job, nor on the number of threads.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base.config import knobs
from rushlight.compiler import native, pool, team
from rushlight.compiler.tilecode import STRIP

Array = np.ndarray[Any, Any]
KINDS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
# Rows of a matrix that share a job.
_ROWS = 4 * STRIP
# Multiplications from which on threads are worth waking.
_PARALLEL = 1 << 19


def offsets(extents: Sequence[int], strides: Sequence[int]) -> Array:
    """Those of all elements of an array, in C order."""
    found = np.zeros(1, np.int64)
    for n, s in zip(extents, strides, strict=True):
        found = (found[:, None] + np.arange(n) * s).ravel()
    return found


def suits(*arrays: Array) -> bool:
    """Whether there is machine code for products of these."""
    from rushlight.compiler.target import available

    return knobs.kernels != "numpy" and arrays[0].dtype in KINDS and available() and all(
        a.dtype == arrays[0].dtype for a in arrays)


@lru_cache(maxsize=None)
def _code(dtype: Any) -> tuple[int, int, int]:
    """The addresses of `pack` and `tiles`, and how many columns a block has."""
    kind = KINDS[dtype]
    lanes = ctypes.CFUNCTYPE(ctypes.c_int64)(native.runtime_address(f"rl_lanes_{kind}"))()
    return native.runtime_address(f"rl_pack_{kind}"), native.runtime_address(f"rl_tiles_{kind}"), 2 * lanes


class Product:
    """The jobs of C = A B, relative to the beginnings of A, of what B is packed from, and of C.

    steps_j: bytes of j in the source and in C; steps_s: of s in A and in the source.
    """

    def __init__(self, dtype: Any, steps_j: tuple[int, int], steps_s: tuple[int, int] = (0, 0),
                 segments: int = 1) -> None:
        self.pack_code, self.tile_code, self.columns = _code(dtype)
        self.line = self.columns * dtype.itemsize
        self.steps_j, self.steps_s, self.segments = steps_j, steps_s, segments
        self.jobs: tuple[list[Any], list[Any]] = [], []
        self.size, self.work, self.step_b, self.kept = 0, 0, 0, list[Array]()

    def add(self, starts: Sequence[Sequence[int]], source: int, columns: int, ai: Array, ci: Array, at: Array,
            bt: Array) -> None:
        """C[c + ci] = A[a + ai + at] B for `starts` (a, c, first i, how many); B is the source at `bt`."""
        bj = np.arange(self.columns) * self.steps_j[0]
        tables = [ai, at, np.append(ci, bj), np.append(bt, bj), bj]
        self.kept += tables
        of_i, of_t, of_c, *of_b = [team.pointer(v) for v in tables]
        self.step_b = len(bt) * self.line
        blocks = [(low, min(self.columns, columns - low)) for low in range(0, columns, self.columns)]
        first = self.size
        for low, valid in blocks:
            for s in range(self.segments):
                self.jobs[0].append((source + low * self.steps_j[0] + s * self.steps_s[1], self.size, *of_b,
                                     len(bt), valid))
                self.size += self.step_b
        for a, c, begin, count in starts:
            self.work += count * len(at) * columns * self.segments
            for k, (low, valid) in enumerate(blocks):
                self.jobs[1].append((a, first + k * self.segments * self.step_b, c + low * self.steps_j[1],
                                     of_i + 8 * begin, of_t, of_c + 8 * begin,
                                     count, valid, len(at), self.segments))

    def finish(self) -> None:
        """No more parts."""
        self.packs, self.tiles = (np.array(jobs, np.int64) for jobs in self.jobs)
        self.steps = np.array([self.steps_s[0], self.step_b, self.steps_j[1], 0], np.int64)

    def pack(self, source: Array) -> Array | None:
        """B; None where there is no team."""
        b = np.empty(self.size, np.uint8)
        return b if self._run(self.pack_code, self.packs, (source, b)) else None

    def multiply(self, a: Array, b: Array, c: Array) -> bool:
        """Whether C could be computed, of a B that was packed."""
        return self._run(self.tile_code, self.tiles, (a, b, c))

    def _run(self, code: int, jobs: Array, operands: Sequence[Array]) -> bool:
        threads = pool.get_num_threads() if self.work >= _PARALLEL else 1
        return team.run_loop(code, team.placed(jobs, operands), 2 * len(operands), self.steps, threads)


@lru_cache(maxsize=256)
def _matrix(dtype: Any, shape: tuple[int, int], strides: tuple[int, int], rows: int) -> Product:
    """x @ w for dense x of some rows."""
    item, (deep, wide) = dtype.itemsize, shape
    made = Product(dtype, (strides[1], item))
    starts = [(0, 0, low, min(_ROWS, rows - low)) for low in range(0, rows, _ROWS)]
    made.add(starts, 0, wide, np.arange(rows) * deep * item, np.arange(rows) * wide * item,
             np.arange(deep) * item, np.arange(deep) * strides[0])
    made.finish()
    return made


def packed(w: Array) -> Callable[[Array, Array], Array] | None:
    """A function of (x, out), both dense: x @ w, for a w that is packed once; None without machine code."""
    if not suits(w) or not w.size:
        return None
    b = _matrix(w.dtype, w.shape, w.strides, 1).pack(w)
    if b is None:
        return None

    def multiply(x: Array, out: Array) -> Array:
        _matrix(w.dtype, w.shape, w.strides, len(x)).multiply(x, b, out)
        return out
    return multiply
