"""Stages: work on arrays that stay where they are, decided beforehand, so that a list of it is one native call.

A stage is a loop of NumPy's inner loop ABI and a table of its jobs. Each function here gives the stages that do
what NumPy or a kernel would do, with the same bits, or None where no loop is known for it.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import product as indices
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rushlight.base.ufunc import LOOPS
from rushlight.compiler import gemm, native, pool, team
from rushlight.compiler.full import CHUNK, Full, spans
from rushlight.compiler.pointwise import pointwise
from rushlight.compiler.team import pointer
from rushlight.ops.scalar import m, symbol

Array = np.ndarray[Any, Any]
# From how many elements on work is shared out: between the stages of a program threads are awake.
PARALLEL = 1 << 15
# From how many multiplications on NumPy would let BLAS use its own threads.
_THREADED = 1 << 18
_MOST_JOBS = 4096


class Stage(NamedTuple):
    """`jobs` has a row of `before` pointers, then dims, each; `kept` is the memory that they are about.

    threads: how many may work. alone: whether BLAS must keep to one thread meanwhile.
    """

    loop: int
    jobs: Array
    before: int
    steps: Array
    kept: Any
    threads: int = 1
    alone: bool = False


Stages = list[Stage]


class Run:
    """Pieces of work in one native call: each is its stages, and a function for when one of them refuses."""

    def __init__(self, pieces: Sequence[tuple[Stages, Callable[[], Any]]]) -> None:
        self.pieces = list(pieces)
        self.stages = [stage for stages, _ in pieces for stage in stages]
        ends = np.cumsum([len(stages) for stages, _ in pieces]).tolist()
        self.instead = [(python, end) for (stages, python), end in zip(pieces, ends, strict=True)
                        for _ in stages]
        self.table = np.array([[s.loop, pointer(s.jobs), len(s.jobs), s.jobs.strides[0], 8 * s.before,
                                pointer(s.steps), s.threads - 1, 0] for s in self.stages], np.int64)
        self.address, self.count = pointer(self.table), len(self.table)
        self.threads = max(s.threads for s in self.stages)
        self.alone = gemm.one_thread if any(s.alone for s in self.stages) else None

    def __call__(self) -> None:
        """All of it."""
        done = 0
        threads = self.threads if self.threads < 2 else min(self.threads, pool.get_num_threads())
        while done < self.count:
            with nullcontext() if self.alone is None else self.alone():
                done = team.run_stages(self.address, done, self.count, threads)
            if done < self.count:
                python, done = self.instead[done]
                python()


def kernel(function: Any, operands: Sequence[Array], cores: Sequence[bool]) -> Stages | None:
    """A generated kernel's ufunc on arrays; `cores` says which have the row's axis as their last."""
    loop, layouts = LOOPS.get(function), tuple([(a.shape, a.strides) for a in operands])
    shape = np.broadcast_shapes(*[a.shape[:-1] if core else a.shape for a, core in zip(
        operands, cores, strict=True)])
    large = shape and max(a.size for a in operands) >= PARALLEL
    for threads in ((pool.get_num_threads(), 1) if large else (1,)):
        plan = None if loop is None else team.lines(layouts, tuple(cores), shape, threads)
        if plan is not None and len(plan[0]) and all(a.size for a in operands):
            return [Stage(loop, team.placed(plan[0], operands), len(operands), plan[1], operands,  # type: ignore
                          threads)]
    return None


def matmul(a: Array, b: Array, out: Array) -> Stages | None:
    """np.matmul(a, b, out), as gemm.matmul cuts it where it is large."""
    work = a.size * b.shape[-1]
    # NumPy has other ways for vectors, and for a matrix times its own transpose.
    plain = min(*a.shape[-2:], b.shape[-1]) > 1 and pointer(a) != pointer(b)
    found = gemm.planned(a, b, out) if a.dtype == b.dtype == out.dtype and a.dtype.name in gemm.PREFIX and (
        out.flags.c_contiguous and (plain or work >= _THREADED)) else None
    if found is None or len(found[1]) > _MOST_JOBS:
        return None
    loop, jobs, steps = found
    large = work >= _THREADED
    return [Stage(loop, jobs, 3, steps, (a, b, out), min(pool.get_num_threads(), len(jobs)) if large else 1, large)]


def copy(to: Array, source: Array) -> Stages | None:
    """to[...] = source, of one dtype."""
    source = np.broadcast_to(source, to.shape)
    grid = [(1, 0, 0), (1, 0, 0), *_coalesced(to.shape, to.strides, source.strides)]
    *outer, (rows, down, below), (columns, along, beside) = grid
    if to.dtype != source.dtype or not to.size or prod(n for n, _, _ in outer) > _MOST_JOBS or (
            to.itemsize > 8 and (along, beside) != (to.itemsize, to.itemsize)):
        return None
    places = np.array(list(indices(*[range(n) for n, _, _ in outer])), np.int64)
    offsets = places @ np.array([steps for _, *steps in outer], np.int64).reshape(-1, 2)
    starts = (offsets + [pointer(to), pointer(source)]).tolist()
    jobs = np.array([[*place, rows, columns] for place in starts], np.int64)
    steps = np.array([down, below, along, beside, to.itemsize], np.int64)
    return [Stage(native.runtime_address("rl_copy"), jobs, 2, steps, (to, source),
                  pool.get_num_threads() if to.size >= PARALLEL else 1)]


def _coalesced(shape: Sequence[int], *strides: Sequence[int]) -> list[tuple[int, ...]]:
    """(extent, steps ...) of each axis that is needed to walk arrays."""
    found: list[tuple[int, ...]] = []
    for n, *steps in zip(shape, *strides, strict=True):
        if found and all(above == n * s for above, s in zip(found[-1][1:], steps, strict=True)):
            found[-1] = found[-1][0] * n, *steps
        elif n != 1:
            found.append((n, *steps))
    return found


def _numpy(function: np.ufunc, char: str, jobs: Any, before: int, steps: Sequence[int], kept: Any) -> Stage | None:
    """A loop of NumPy's own, all of whose operands have one type."""
    types = char * function.nin + "->" + char * function.nout
    if types not in function.types:
        return None
    # The fields of NumPy's object: counts, loops, their data.
    number, fields = function.types.index(types), id(function) + object.__basicsize__
    loops, data = (ctypes.c_void_p.from_address(fields + at).value or 0 for at in (16, 24))
    loop, own = (ctypes.c_void_p.from_address(base + 8 * number).value or 0 for base in (loops, data))
    return Stage(native.runtime_address("rl_numpy"), np.array(jobs, np.int64), before,
                 np.array([loop, own, *steps], np.int64), kept)


def add_reduce(a: Array, axes: Sequence[int], out: Array) -> Stages | None:
    """np.add.reduce of a C-ordered array along all, the first or the last axes, into `out`, of one dtype."""
    long = [n > 1 for n in a.shape]
    over = [i in axes for i, n in enumerate(a.shape) if n > 1]
    if not (a.flags.c_contiguous and out.flags.c_contiguous and a.size) or a.dtype != out.dtype or (
            a.dtype.char not in "fd" or over != sorted(over) and over != sorted(over, reverse=True)):
        return None
    to, start, item, width = pointer(out), pointer(a), a.itemsize, a.size // out.size
    if over and over[0] and not over[-1]:
        jobs = [[to, start + i * item * out.size, to, out.size] for i in range(width)]
        steps = [item] * 3
    else:
        jobs = [[to + i * item, start + i * item * width, to + i * item, width] for i in range(out.size)]
        steps = [0, item, 0]
    zero = copy(out, np.zeros((), a.dtype))
    added = None if len(jobs) > _MOST_JOBS or not any(long) else _numpy(np.add, a.dtype.char, jobs, 3, steps, (a, out))
    return None if zero is None or added is None else [*zero, added]


def full(made: Full, arrays: Sequence[Array], out: Array) -> Stages | None:
    """A full reduction of contiguous arrays."""
    loop, n = LOOPS.get(made.kernel.fn), arrays[0].size
    partial = np.dtype(made.partial) if made.partial != "bfloat16" else None
    if loop is None or partial is None or made.out != partial or not n:
        return None
    sizes = tuple([a.itemsize for a in (*arrays, out)])
    if n <= CHUNK:
        jobs = np.array([[*map(pointer, (*arrays, out)), 1, n]], np.int64)
        return [Stage(loop, jobs, len(sizes), np.array([0] * len(sizes) + list(sizes[:-1]), np.int64), (arrays, out))]
    if made.kind != "add" or partial.char not in "fd":
        return None
    threads = pool.get_num_threads()
    parts, total = np.empty(-(-n // CHUNK), partial), np.empty((), np.float64)
    offsets, steps = spans(n, sizes, threads)
    first = Stage(loop, team.placed(offsets, (*arrays, parts)), len(sizes), steps, (arrays, parts), threads)
    wide = parts.astype(np.float64)
    steps = [cast(wide, parts), add_reduce(wide, (0,), total), cast(out, total)]
    return None if None in steps else [first, *[s for found in steps for s in found]]


def cast(to: Array, source: Array) -> Stages | None:
    """to[...] = source, in the dtype of `to`."""
    if to.dtype == source.dtype:
        return copy(to, source)
    made = pointwise((m.cast(symbol("x"), arg=to.dtype.name),), (("x", source.dtype.name),), (to.dtype.name,))
    return kernel(made.fn, (source, to), (False, False)) if made.compile_now() else None


def targets(classes: Array, count: int, ignored: int, total: Array) -> Stages:
    """How many classes are not `ignored`; refused where one is neither that nor below `count`."""
    jobs = np.array([[pointer(classes), pointer(total), classes.size]], np.int64)
    return [Stage(native.runtime_address("rl_targets"), jobs, 2,
                  np.array([classes.strides[0], count, ignored], np.int64), (classes, total))]
