"""Products addressed by tables (`tile_code.py`) as jobs for the team: parts of the rows, by column blocks.

A row's result does not depend on which rows share its job, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.loops.pointwise import conversion
from rushlight._engine.kernels.products import tile_code
from rushlight._engine.kernels.products.tile_code import STRIP, height
from rushlight._engine.kernels.runtime import native, parallel, team

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# Shape, and strides in bytes.
Layout = tuple[Ints, Ints]
_KINDS = np.dtype(np.float32), np.dtype(np.float64)
# Jobs that a product's columns are shared out to, at most twice as many: a block each where they are few.
_SPANS = 32
# Rows of a matrix that share a job.
_ROWS = 4 * STRIP
# Instructions for an element that is laid out.
_PACK = 0.5
# Inner dims from which on a product is one of parts of them, which are added up: its panels stay in cache.
DEEP = 1 << 16
# Multiplications from which on threads are worth waking.
PARALLEL = 1 << 19


def offsets(extents: Sequence[int], strides: Sequence[int]) -> Array:
    """Those of all elements of an array, in C order."""
    found = np.zeros(1, np.int64)
    for n, s in zip(extents, strides, strict=True):
        found = (found[:, None] + np.arange(n) * s).ravel()
    return found


def effort(rows: int, columns: int, packed: int, dtype: Any) -> float:
    """What a step of the inner dim takes, in instructions: the tiles of a product, and elements laid out."""
    lanes = target.lanes(dtype.name)
    high = height(lanes, dtype.itemsize)
    wide = 1 if columns <= lanes else 2 * -(-columns // (2 * lanes))  # vectors of a row of tiles
    return -(-rows // high) * high * wide + packed * _PACK


def suits(*arrays: Array) -> bool:
    """Whether there is machine code for products of these."""
    return (
        settings.kernels != "numpy"
        and arrays[0].dtype in _KINDS
        and target.available()
        and all([a.dtype == arrays[0].dtype for a in arrays[1:]])
    )


class Product:
    """The jobs of C = A B, relative to the beginnings of A, of what B is packed from, and of C.

    steps_j: bytes of j in the source and in C; steps_s: of s in A and in the source. stored: as what the
    source lies in memory, where that is not the sums' dtype; apart: bytes between the halves of a pair.
    made: as what C does.
    """

    # Once it is finished: the jobs of packing and of tiles, and the steps of both in memory.
    packs: np.ndarray[Any, Any]
    tiles: np.ndarray[Any, Any]
    pack_steps: np.ndarray[Any, Any]
    steps: np.ndarray[Any, Any]

    def __init__(
        self,
        dtype: Any,
        steps_j: tuple[int, int],
        steps_s: tuple[int, int] = (0, 0),
        segments: int = 1,
        stored: str = "",
        apart: int = 0,
        made: str = "",
    ) -> None:
        self.pack_code = native.loop(tile_code.pack, dtype.name, stored)
        self.made, self.apart_a = made, 0
        left = stored if stored == tile_code.PAIRS else ""
        self.tile_code = native.loop(tile_code.tiles, dtype.name, left, made)
        self.dtype, self.high, self.apart = dtype, height(target.lanes(dtype.name), dtype.itemsize), apart
        self.columns = 2 * target.lanes(dtype.name)
        self.line = self.columns * dtype.itemsize
        self.steps_j, self.steps_s, self.segments = steps_j, steps_s, segments
        self.jobs: tuple[list[Any], list[Any]] = [], []
        self.size, self.work, self.step_b, self.kept = 0, 0, 0, list[Array]()
        # Whether sums are added to what C holds.
        self.adds = False

    def divide(self, apart: int) -> None:
        """The halves of A's pairs lie so many bytes from each other."""
        self.apart_a = apart
        self.tile_code = native.loop(tile_code.tiles, self.dtype.name, tile_code.APART, self.made)

    def _spans(self, columns: int) -> list[tuple[int, int]]:
        """What jobs take of so many columns: whole blocks, more of them where there are many."""
        each = self.columns * max(columns // (self.columns * _SPANS), 1)
        return [(low, min(each, columns - low)) for low in range(0, columns, each)]

    def panels(self, source: int, columns: int, bt: Array, bj: Array | None = None) -> int:
        """Pack columns of the source at `bt`; where they begin. bj: where columns lie that are not even."""
        first, self.step_b = self.size, len(bt) * self.line
        even = np.arange(self.columns) * self.steps_j[0]
        tables = [np.append(bt, even), even if bj is None else np.append(bj, even)]
        self.kept += tables
        of_t, of_j = [pointer(v) for v in tables]
        # To the next block: in the source, in the panels, and in the table of columns.
        to, on = self.step_b * self.segments, self.columns
        moves = (on * self.steps_j[0], to, 0, 0) if bj is None else (0, to, 0, 8 * on)
        for low, valid in self._spans(columns):
            at = (source + low * self.steps_j[0], of_j) if bj is None else (source, of_j + 8 * low)
            for s in range(self.segments):
                begin = at[0] + s * self.steps_s[1], self.size + s * self.step_b, of_t, at[1]
                self.jobs[0].append((*begin, len(bt), valid, self.apart, *moves))
            self.size += to * -(-valid // on)
        return first

    def add(
        self,
        starts: Sequence[Sequence[int]],
        source: int,
        columns: int,
        ai: Array,
        ci: Array,
        at: Array,
        bt: Array,
    ) -> None:
        """C[c + ci] = A[a + ai + at] B for `starts` (a, c, first i, how many); B is the source at `bt`."""
        self.multiply(starts, self.panels(source, columns, bt), columns, ai, ci, at)

    def multiply(
        self, starts: Sequence[Sequence[int]], first: int, columns: int, ai: Array, ci: Array, at: Array
    ) -> None:
        """`add` for a B whose panels begin at `first`."""
        tables = [ai, at, np.append(ci, np.arange(self.columns))]
        self.kept += tables
        of_i, of_t, of_c = [pointer(v) for v in tables]
        panel, on = self.segments * self.step_b, self.columns
        moves = 0, panel, on * self.steps_j[1], 0, 0, 0
        spans = self._spans(columns)
        for a, c, begin, count in starts:
            self.work += count * len(at) * columns * self.segments
            rows, last = of_i + 8 * begin, of_c + 8 * begin
            for low, valid in spans:
                of = a, first + low // on * panel, c + low * self.steps_j[1], rows, of_t, last
                self.jobs[1].append((*of, count, valid, len(at), self.segments, *moves))

    def finish(self) -> None:
        """No more parts."""
        own = [self.steps_s[0], self.step_b, self.steps_j[1], int(self.adds), self.apart_a]
        self.pack_code, self.packs, self.pack_steps = self._stage(self.pack_code, self.jobs[0], 4, 7, own)
        self.tile_code, self.tiles, self.steps = self._stage(self.tile_code, self.jobs[1], 6, 10, own)

    def _stage(
        self, loop: int, rows: list[Any], pointers: int, words: int, steps: list[int]
    ) -> tuple[int, Array, Array]:
        """The loop, its jobs and its steps: block by block where a job has more than one."""
        jobs = np.array(rows, np.int64).reshape(-1, words + pointers)
        if (jobs[:, pointers + 1] <= self.columns).all():
            return loop, np.ascontiguousarray(jobs[:, :words]), np.array(steps, np.int64)
        steps = [loop, pointers, words, self.columns, *steps]
        return native.runtime_address("rl_blocks"), jobs, np.array(steps, np.int64)

    def threads(self) -> int:
        """How many may work on it."""
        return parallel.get_num_threads() if self.work >= PARALLEL else 1


@lru_cache(maxsize=256)
def _matrix(
    dtype: Any, shape: tuple[int, int], strides: tuple[int, int], parts: int, rows: int
) -> tuple[Product, team.Call, team.Call]:
    """x @ w for dense x of some rows; what packs w, and what multiplies. Of two bytes w holds pairs of
    bfloat16, and so does x: sums are of float32.
    """
    item, (deep, wide) = dtype.itemsize, shape
    pair = 2 if item == 2 else 1
    sums = np.dtype(np.float32) if pair == 2 else dtype
    stored, apart = (tile_code.PAIRS, strides[0]) if pair == 2 else ("", 0)
    made = Product(sums, (strides[1], sums.itemsize), stored=stored, apart=apart)
    starts = [(0, 0, low, min(_ROWS, rows - low)) for low in range(0, rows, _ROWS)]
    made.add(
        starts,
        0,
        wide,
        np.arange(rows) * deep * item,
        np.arange(rows) * wide * sums.itemsize,
        np.arange(deep // pair) * item * pair,
        np.arange(deep // pair) * strides[0] * pair,
    )
    # Threads begin with a range of jobs each: for its columns of every part.
    each = max(wide // made.columns // parts, 1)
    made.jobs[1].sort(key=lambda job: job[2] % (wide * sums.itemsize) // made.line % each)
    made.finish()
    return (
        made,
        team.Call(team.CallStage(made.pack_code, made.packs, (0, 1), 4, made.pack_steps)),
        team.Call(team.CallStage(made.tile_code, made.tiles, (0, 1, 2), 6, made.steps)),
    )


class Packed:
    """A function of (x, out), both dense: x @ w, for a w that is packed once, or `again` when it changed.

    parts: of a row of the result, of which the same columns are read together afterwards.
    """

    def __init__(self, w: Array, parts: int = 1) -> None:
        self.weight, self.layout = w, (w.dtype, w.shape, w.strides, parts)
        self.panels = np.empty(self.at(1).size, np.uint8)
        self.again()

    def again(self) -> None:
        """Pack w once more."""
        _matrix(*self.layout, 1)[1](self.at(1).threads(), self.weight, self.panels)

    def __call__(self, x: Array, out: Array) -> None:
        made, _, multiply = _matrix(*self.layout, len(x))
        multiply(made.threads(), x, self.panels, out)

    def at(self, rows: int) -> Product:
        """The product for so many rows."""
        return _matrix(*self.layout, rows)[0]


class PackedPairs:
    """The same for a w of bfloat16, whose pairs an instruction multiplies: rows of float32 are rounded to
    bfloat16, and sums are of float32.
    """

    def __init__(self, w: Array, parts: int = 1) -> None:
        self.pairs, self.of = Packed(w, parts), w.dtype
        self.panels = self.pairs.panels

    def again(self) -> None:
        """Pack w once more."""
        self.pairs.again()

    def __call__(self, x: Array, out: Array) -> None:
        rounded = np.empty(x.shape, self.of)
        conversion("float32", "bfloat16")(x, out=rounded)
        self.pairs(rounded, out)


def packed(w: Array, parts: int = 1) -> Packed | PackedPairs | None:
    """The product by w; None without machine code, and for those that are made in parts."""
    if not w.size or len(w) > DEEP or not team.possible():
        return None
    if w.itemsize == 2:
        name = dt.from_numpy_dtype(w.dtype).name
        usual = settings.kernels != "numpy" and target.available() and target.pairs()
        return PackedPairs(w, parts) if usual and name == "bfloat16" and len(w) % 2 == 0 else None
    return Packed(w, parts) if suits(w) else None
