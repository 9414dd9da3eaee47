"""Entries that only move elements, or look them up along a dim, as stages."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.kernels.moves import along_dim
from rushlight._engine.kernels.products.tiles import offsets
from rushlight._engine.kernels.runtime import native
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import close
from rushlight._engine.kernels.runtime.stages import WORDS, Stage, Stages, copy
from rushlight._engine.numerics.ufunc import LOOPS
from rushlight._engine.ops.expressions import symbol
from rushlight._engine.trace.recorder import Array, Entry

# Rows whose results are elements of their first operand, and constants.
MOVED = frozenset("flip roll repeat _repeat_each constant_pad_nd tril triu im2col diag_embed".split())
_MOST_RUNS = 4096


def moved(entry: Entry) -> Stages | None:
    """Copies of what follows each other in both memories, after what is the same at every replay.

    Where an element comes from is found by moving places instead of elements.
    """
    (a, *how), (out,) = entry.operands, entry.outs
    if not isinstance(a, np.ndarray) or a.itemsize not in WORDS or not a.size:
        return None
    places = offsets(a.shape, a.strides).reshape(a.shape)
    source, other = [np.asarray(entry.function(p, *how)).ravel() for p in (places, np.asarray(places + 1))]
    to, taken = offsets(out.shape, out.strides), source != other
    if source.dtype != np.int64 or len(source) != len(to):
        return None
    apart = np.diff(source)
    step = a.itemsize if 2 * (apart == a.itemsize).sum() >= apart.size else -a.itemsize
    goes_on = taken[1:] & taken[:-1] & (apart == step) & (np.diff(to) == out.itemsize)
    starts = np.flatnonzero(taken & ~np.append(False, goes_on))
    if not 0 < len(starts) <= _MOST_RUNS:
        return None
    ends = np.flatnonzero(taken & ~np.append(goes_on, False)) + 1
    made = pointwise((symbol("x"),), (("x", WORDS[a.itemsize]),), (WORDS[a.itemsize],))
    rest = [] if taken.all() else copy(out, np.asarray(entry.function(np.zeros_like(a), *how)))
    if rest is None or not made.compile_now():
        return None
    jobs = np.stack([pointer(a) + source[starts], pointer(out) + to[starts], ends - starts], 1)
    loop: Any = made.fn
    return [*rest, Stage(LOOPS[loop], jobs, 2, [step, out.itemsize], 1, (a, out))]


def looked_up(slices: bool, out: Array, a: Array, dim: int, index: Array, *_: Any) -> Stages | None:
    """gather, or index_select with `slices`: refuses where a place is outside."""
    d = wrap_dim(dim, a.ndim)
    found = along_dim.planned("read", a, d, index, out, slices)
    return found and _called(*found, (a, index, out))


def _called(code: int, words: tuple[int, ...], kept: Any) -> Stages:
    loop = native.address("called", str(len(words)), lambda module, name: _call(module, name, len(words)))
    return [Stage(loop, [[code, *words]], 1, [], 1, kept)]


def _call(module: Module, name: str, count: int) -> None:
    """The IR of a loop that calls an `i64 code(i64, ...)`. args: code, words."""
    f = Function(module, HEADER.format(name))
    words = [f"i64 {f.load('i64', '%args', SLOT * (1 + k))}" for k in range(count)]
    found = f.op(f"call i64 {f.load('ptr', '%args')}({', '.join(words)})")
    close(f, f"i32 {f.op(f'trunc i64 {found} to i32')}")
