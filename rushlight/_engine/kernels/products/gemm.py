"""Large matrix products as jobs for the team: one operand is packed in panels, tiles of the result stay in
registers (`tile_code.py`).

Every element is added up in the order of the inner dim, so results do not depend on how a product is cut, on
other rows, or on the number of threads. BLAS's own threads would wait in spins that take the processor from
everybody else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.products import blas
from rushlight._engine.kernels.products.blas import starts
from rushlight._engine.kernels.products.gemv import dots, fits, thin
from rushlight._engine.kernels.products.tile_code import PAIRS
from rushlight._engine.kernels.products.tiles import DEEP, PARALLEL, Array, Layout, Product, effort
from rushlight._engine.kernels.runtime import parallel, team

# Rows of a job, at most and at least; jobs that are enough to share out.
_MOST, _LEAST, _JOBS = 384, 24, 8
# Bytes of panels at a time for each thread, which a processor's own cache holds; threads that count; matrices
# of a batch beyond which NumPy's own loop is as good.
_WORKSPACE, _THREADS, _BATCH = 1 << 20, 8, 4096
_PIECES = 64  # of an operand that is packed piece by piece, at most
# Steps of a part of a deep product's inner dim.
_PART = 1 << 13
# What an element of an operand costs that is laid out as a whole, beside one of panels that stay in cache.
_WHOLE = 2
# Multiplications below which BLAS would not use its threads: many such matrices are shared out, each whole.
_SMALL = 1 << 18


class PreparedProduct(NamedTuple):
    """A call of (a, b, workspace for panels of the left one, of the right one, out): bytes of the two
    workspaces, the dtype of sums, and whether threads are worth waking.
    """

    call: team.Call
    left: int
    right: int
    dtype: Any
    large: bool

    def threads(self) -> int:
        """How many may work on it."""
        return parallel.get_num_threads() if self.large else 1


class _Side(NamedTuple):
    """An operand's lines: how many, bytes from one to the next, along one, and to the next in the result."""

    lines: int
    step: int
    along: int
    to: int


class _Kind(NamedTuple):
    """sums: their dtype. stored: the operands', where it is another, or "pairs" (see tile_code.py). made: the
    result's.
    """

    sums: Any
    stored: str
    made: Any

    @property
    def deep(self) -> int:
        """Elements of the inner dim that are multiplied at once."""
        return 2 if self.stored == PAIRS else 1

    def direct(self, side: _Side, item: int) -> bool:
        """Whether the lines of the left operand are read where they are."""
        return self.stored in ("", PAIRS) and side.along == item


@cache
def _kind(dtype: Any, odd: bool) -> _Kind | None:
    """How operands of a dtype are multiplied, with an odd inner dim or an even one."""
    if not target.available():
        return None
    name = dt.from_numpy_dtype(dtype).name
    if name in ("float32", "float64"):
        return _Kind(dtype, "", dtype)
    wide = np.dtype(np.float32)
    if name == "bfloat16":
        return _Kind(wide, PAIRS if target.pairs() and not odd else name, wide)
    return _Kind(wide, name, wide) if name == "float16" and target.host().half else None


def rounded(a: Array, b: Array) -> Callable[[Array, Array], Any] | None:
    """The product of large matrices of two-byte floats that lie like these, in their dtype; None where that
    is not made at once.
    """
    return None if fits(a, b) or a.shape[-1] > DEEP else multiplier(a, b, made=a.dtype)


def multiplier(a: Array, b: Array, rows: int = 0, made: Any = None) -> Callable[[Array, Array], Any] | None:
    """The product of large operands of two or more axes that lie like these, in the dtype of sums or as
    `made`; None where there is no machine code for them. rows: see `planned`.
    """
    if fits(a, b):
        return dots
    plan = planned(a, b, rows, made)
    if plan is None:
        return None
    shape = *np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]

    def run(a: Array, b: Array) -> Array:
        out = np.empty(shape, plan.dtype)
        workspaces = [np.empty(size, np.uint8) for size in (plan.left, plan.right)]
        plan.call(plan.threads(), a, b, *workspaces, out)
        return out

    return run


def planned(a: Array, b: Array, rows: int = 0, made: Any = None) -> PreparedProduct | None:
    """What `multiplier` runs, for a result in C order. rows: those of a job; 0 for what suits most."""
    if (
        settings.kernels == "numpy"
        or a.dtype != b.dtype
        or a.shape[-1] != b.shape[-2]
        or not (a.size and b.size and team.possible())
    ):
        return None
    kind = _kind(a.dtype, a.shape[-1] % 2 == 1)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if kind is None or prod(batch) > _BATCH:
        return None
    kind = kind if made is None else kind._replace(made=made)
    work = prod(a.shape[-2:]) * b.shape[-1]
    found = blas.relative(a, b) if work < _SMALL else None
    if found is not None:
        loop, jobs, steps = found
        call = team.Call(team.CallStage(loop, jobs, (0, 1, 4), 3, steps))
        return PreparedProduct(call, 0, 0, a.dtype, len(jobs) * work >= PARALLEL)
    lines = thin(a, b) if kind.stored == "" else None
    if lines is not None:
        loop, order, jobs, steps = lines
        call = team.Call(team.CallStage(loop, jobs, order, 3, steps))
        return PreparedProduct(call, 0, 0, a.dtype, prod(batch) * work >= PARALLEL)
    # Of huge operands larger pieces, so that the list of jobs stays short.
    least = _WORKSPACE * min(parallel.get_num_threads(), _THREADS)
    workspace = max(least, max(a.nbytes, b.nbytes) // _PIECES)
    return _plan(kind, a.itemsize, (a.shape, a.strides), (b.shape, b.strides), batch, rows, workspace)


@lru_cache(maxsize=1024)
def _plan(
    kind: _Kind, item: int, a: Layout, b: Layout, batch: tuple[int, ...], rows: int, workspace: int
) -> PreparedProduct:
    (*_, m, depth), (*_, n) = a[0], b[0]
    left = _Side(m, a[1][-2], a[1][-1], n * kind.made.itemsize)
    right = _Side(n, b[1][-1], b[1][-2], kind.made.itemsize)
    begins = starts(batch, (a, b), m * n * kind.made.itemsize).tolist()

    def cost(left: _Side, right: _Side) -> float:
        packed = right.lines + (0 if kind.direct(left, item) else _WHOLE * left.lines)
        return effort(left.lines, right.lines, packed * kind.deep, kind.sums)

    turned = cost(right, left) < cost(left, right)
    if turned:
        left, right = right, left
        begins = [[second, first, to] for first, second, to in begins]
    made = _Writer(kind, item, depth // kind.deep, left, right, begins, workspace)
    return made.plan(rows, (1, 0) if turned else (0, 1))


def _moved(stage: team.CallStage, by: int) -> team.CallStage:
    """A stage that reads its first operand so many bytes further on."""
    jobs = stage.jobs.copy()
    jobs[:, 0] += by
    return stage._replace(jobs=jobs)


class _Writer:
    """Writes the jobs of a product down."""

    def __init__(
        self,
        kind: _Kind,
        item: int,
        depth: int,
        left: _Side,
        right: _Side,
        starts: list[list[int]],
        workspace: int,
    ) -> None:
        self.kind, self.depth, self.left, self.right, self.starts = kind, depth, left, right, starts
        self.workspace = workspace
        self.direct = kind.direct(left, item)

    def _product(self, side: _Side) -> Product:
        made = "" if self.kind.made == self.kind.sums else dt.from_numpy_dtype(self.kind.made).name
        steps = side.step, self.right.to
        return Product(self.kind.sums, steps, stored=self.kind.stored, apart=side.along, made=made)

    def _lines(self, side: _Side) -> Array:
        return np.arange(self.depth) * (side.along * self.kind.deep)

    def plan(self, rows: int, order: tuple[int, int]) -> PreparedProduct:
        """All of it. order: the numbers of the left and the right operand."""
        whole, begins = self.depth, self.starts
        each = _PART if whole * self.kind.deep > DEEP else whole
        ways = [side.along * self.kind.deep for side in (self.left, self.right)]
        to_next = {operand: each * way for operand, way in zip(order, ways, strict=True)}
        stages, left, right, work = list[team.CallStage](), 0, 0, 0
        own, sizes = list[team.CallStage](), [0, 0, 0]
        for begin in range(0, whole, each):
            if each < begin <= whole - each:  # as the part before, but for where it is read
                own = [_moved(stage, to_next.get(stage.operands[0], 0)) for stage in own]
            else:
                self.depth = min(each, whole - begin)
                a, b = (begin * way for way in ways)
                self.starts = [[first + a, second + b, to] for first, second, to in begins]
                own, *sizes = self._stages(rows, order, begin > 0)
            stages += own
            left, right, work = max(left, sizes[0]), max(right, sizes[1]), work + sizes[2]
        large = work * self.kind.deep >= PARALLEL
        return PreparedProduct(team.Call(*stages), left, right, self.kind.made, large)

    def _stages(
        self, rows: int, order: tuple[int, int], adds: bool
    ) -> tuple[list[team.CallStage], int, int, int]:
        """Those of a part of the inner dim, bytes of both workspaces, and how many multiplications."""
        (first, second), (count, wide) = order, (self.left.lines, self.right.lines)
        packed, stages, size, work = self._product(self.left), list[team.CallStage](), 0, 0
        rows = min(rows or self._rows(len(self.starts) * -(-wide // packed.columns)), count)
        ai, at, places = self._left(packed, rows)
        if not self.direct:
            packed.finish()
            own = packed.packs, (first, 2), 4, packed.pack_steps, packed.kept
            stages.append(team.CallStage(packed.pack_code, *own))
        ci = np.arange(len(ai)) * self.left.to
        most = max(packed.columns, self.workspace // (self.depth * packed.line) * packed.columns)
        spans = [(start, low, min(most, wide - low)) for start in self.starts for low in range(0, wide, most)]
        while spans:
            made, panels = self._product(self.right), dict[int, int]()
            made.adds = adds
            while spans and (not made.size or made.size + self._bytes(spans[0][2], made) <= self.workspace):
                start, low, columns = spans.pop(0)
                source, to = start[1] + low * self.right.step, start[2] + low * self.right.to
                if source not in panels:
                    panels[source] = made.panels(source, columns, self._lines(self.right))
                parts = [
                    (*self._part(places[start[0]], to, i), min(rows, count - i))
                    for i in range(0, count, rows)
                ]
                made.multiply(parts, panels[source], columns, ai, ci, at)
            made.finish()
            stages += [
                team.CallStage(made.pack_code, made.packs, (second, 3), 4, made.pack_steps, made.kept),
                team.CallStage(
                    made.tile_code,
                    made.tiles,
                    (first if self.direct else 2, 3, 4),
                    6,
                    made.steps,
                    made.kept,
                ),
            ]
            size, work = max(size, made.size), work + made.work
        return stages, packed.size, size, work

    def _bytes(self, columns: int, made: Product) -> int:
        return int(-(-columns // made.columns) * self.depth * made.line)

    def _part(self, a: int, c: int, i: int) -> tuple[int, int, int]:
        """Where rows from i on begin, and their number in the tables: 0 where rows are read in place."""
        return (a + i * self.left.step, c + i * self.left.to, 0) if self.direct else (a, c, i)

    def _left(self, packed: Product, rows: int) -> tuple[Array, Array, dict[int, int]]:
        """Offsets of a job's rows or of all, and of steps along them; where each matrix begins."""
        count, own = self.left.lines, sorted({start[0] for start in self.starts})
        if self.direct:
            return np.arange(rows) * self.left.step, self._lines(self.left), {a: a for a in own}
        block, line = np.divmod(np.arange(count), packed.columns)
        ai = block * (self.depth * packed.line) + line * self.kind.sums.itemsize
        return (
            ai,
            np.arange(self.depth) * packed.line,
            {a: packed.panels(a, count, self._lines(self.left)) for a in own},
        )

    def _rows(self, blocks: int) -> int:
        """Rows of a job: a block of B should be worth reading, and there be enough to share out."""
        rows = _MOST
        while rows > _LEAST and -(-self.left.lines // rows) * blocks < _JOBS:
            rows //= 2
        return rows
