"""Stages of kernels that are written by hand: attention, convolutions, maxima, tables, sums of everything."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.loops.full_reductions import CHUNK, FullReduction
from rushlight._engine.kernels.moves import gather, scatter
from rushlight._engine.kernels.products import (
    attention as attend,
    attention_code,
    convolution as convolve,
    depthwise,
    gemm,
    gemv,
    max_pool as maxima,
)
from rushlight._engine.kernels.products.tiles import Array, suits
from rushlight._engine.kernels.runtime import autotune, parallel, stages, team
from rushlight._engine.kernels.runtime.stages import Stage, Stages, add_reduce, copy, formula, joined
from rushlight._engine.ops.expressions import symbol
from rushlight._engine.ops.linalg.matmul import is_large_product

_ALIGNED = 64


class Scratch:
    """Memory that the stages of one entry after another work in: `held`, and more where that is small."""

    def __init__(self, held: Array | None = None) -> None:
        self.held, self.used = np.empty(0, np.uint8) if held is None else held, 0

    def again(self) -> Scratch:
        """All of it, for the next entry."""
        self.used = 0
        return self

    def empty(self, shape: Sequence[int], dtype: Any) -> Array:
        """A dense array that holds anything."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if self.used + size > self.held.size:
            self.held, self.used = np.empty(2 * (self.used + size), np.uint8), 0
        start = self.used
        self.used += -(-size // _ALIGNED) * _ALIGNED
        return np.ndarray(tuple(shape), dtype, self.held, start)


def _stages(call: team.Call, threads: int, *operands: Array, owner: Any = None) -> Stages:
    """A call's loops, on these operands; owner: who holds tables that jobs point to, if not the call."""
    return [
        Stage(
            loop,
            team.placed(jobs, [operands[k] for k in of]),
            before,
            steps,
            threads,
            (operands, tables, call, owner),
        )
        for loop, jobs, of, before, steps, *tables in call.kept
    ]


def _zeros(*arrays: Array) -> list[Stages | None]:
    return [copy(a, np.zeros((), a.dtype)) for a in arrays]


def _widened(
    scratch: Scratch, a: Array, pads: Sequence[tuple[int, int]]
) -> tuple[Array, list[Stages | None]]:
    """An array with zeros before and behind its last dims, and what fills it in."""
    if not any(any(p) for p in pads):
        return a, []
    space = a.shape[a.ndim - len(pads) :]
    wide = scratch.empty(
        (
            *a.shape[: a.ndim - len(pads)],
            *[low + n + high for n, (low, high) in zip(space, pads, strict=True)],
        ),
        a.dtype,
    )
    inside: Any = ..., *[slice(low, low + n) for n, (low, _) in zip(space, pads, strict=True)]
    return wide, [*_zeros(wide), copy(wide[inside], a)]


def product(scratch: Scratch, out: Array, a: Array, b: Array) -> Stages | None:
    """a @ b: ops/linalg/matmul.py's."""
    if not is_large_product(a, b):
        return stages.matmul(a, b, out)
    plan = None if gemv.fits(a, b) else gemm.planned(a, b, autotune.rows(a, b) if settings.autotune else 0)
    if plan is None or not out.flags.c_contiguous or out.dtype != plan.dtype:
        return None
    workspaces = [scratch.empty((size,), np.uint8) for size in (plan.left, plan.right)]
    return _stages(plan.call, plan.threads(), a, b, *workspaces, out, owner=plan)


def attention(result: Array, kept: Array, q: Array, k: Array, v: Array, causal: bool, scale: float) -> Stages:
    """ops/nn/attention.py's _attention."""
    return _attended(attention_code.attend, causal, scale, q, k, v, result, kept)


def attention_backward(
    dq: Array,
    dk: Array,
    dv: Array,
    g: Array,
    q: Array,
    k: Array,
    v: Array,
    kept: Array,
    causal: bool,
    scale: float,
) -> Stages | None:
    """ops/nn/attention.py's _attention_backward."""
    found = _attended(attention_code.unattend, causal, scale, q, k, v, g, kept, dq, dk, dv)
    return joined([*_zeros(dk, dv), found])


def _attended(write: Any, causal: bool, scale: float, *operands: Array) -> Stages:
    call, many = attend.over(write, causal, scale, *operands)
    return _stages(call, parallel.get_num_threads() if many else 1, *operands)


def convolution(scratch: Scratch, out: Array, which: str, a: Array, b: Array, *how: Any) -> Stages | None:
    """kernels/products/convolution.py's product."""
    aside = depthwise.fits(which, a, b, *how) or convolve.divided(which, a, b)
    plan = None if aside else convolve.planned(which, a, b, *how)
    lying = plan is not None and (out.flags.c_contiguous if plan.relaid else plan.strides == out.strides)
    if plan is None or not lying or a.dtype != out.dtype:
        return None
    if plan.reads_last:
        moved, filled = _widened(scratch, np.moveaxis(a, 1, -1), [*plan.pads, (0, 0)])
        wide = np.moveaxis(moved, -1, 1)
    else:
        wide, filled = _widened(scratch, a, plan.pads)
    packed = scratch.empty((plan.size,), np.uint8)
    first = seen = out
    if plan.turned:
        first = scratch.empty(out.swapaxes(0, 1).shape, out.dtype)
        seen = first.swapaxes(0, 1)
    elif plan.relaid:
        first = seen = np.moveaxis(scratch.empty(np.moveaxis(out, 1, -1).shape, out.dtype), -1, 1)
    return joined(
        [
            *filled,
            _stages(plan.call, plan.threads(), b, packed, wide, first, owner=plan),
            *([] if seen is out else [copy(out, seen)]),
        ]
    )


def max_pool(found: Array, places: Array, input: Array, *how: Any) -> Stages | None:
    """ops/nn/pooling.py's _max_pool."""
    if not suits(input) or not input.flags.c_contiguous:
        return None
    call = maxima.pooling(input.dtype, input.shape, *map(tuple, how))
    return _stages(call, maxima.threads(input), input, found, places)


def spread(out: Array, input: Array, places: Array, size: int) -> Stages | None:
    """ops/nn/pooling.py's _spread."""
    if not suits(input) or not (input.flags.c_contiguous and places.flags.c_contiguous):
        return None
    call = maxima.spreading(input.dtype, input.shape, size)
    return joined([*_zeros(out), _stages(call, maxima.threads(input, out), input, places, out)])


def look_up(out: Array, table: Array, numbers: Array, *how: Any) -> Stages | None:
    """Rows of a table: ops/indexing/embedding.py's embedding."""
    if not _numbered(out, table, numbers):
        return None
    threads, call = maxima.threads(out), gather.copying(numbers.size, table.strides[0])
    return [_inside(numbers, table), *_stages(call, threads, table, numbers, out)]


def look_up_backward(
    out: Array, grad: Array, numbers: Array, size: int, padding: int, by_count: bool
) -> Stages | None:
    """ops/indexing/embedding.py's embedding_dense_backward."""
    if by_count or not _numbered(out, grad, numbers):
        return None
    strides, threads = (*out.strides, 8, *out.strides), maxima.threads(grad)
    call = scatter.adding(out.dtype, strides, numbers.size, *out.shape, threads)
    added = call and _stages(call, threads, out, numbers, grad)
    kept_at_zero = _zeros(out[padding]) if 0 <= padding < len(out) else []
    return joined([[_inside(numbers, out)], *_zeros(out), added, *kept_at_zero])


def _numbered(*arrays: Array) -> bool:
    return all(a.size and a.flags.c_contiguous for a in arrays) and arrays[-1].dtype == np.int64


def _inside(numbers: Array, table: Array) -> Stage:
    """Refuses if one is out of range."""
    return Stage("rl_inside", [[pointer(numbers), numbers.size, len(table)]], 1, [], 1, numbers)


def everything(made: FullReduction, arrays: Sequence[Array], out: Array) -> Stages | None:
    """The sum of an expression over all elements: that of chunks, and theirs as NumPy adds them up."""
    if made.combine is not np.add or not made.kernel.compile_now():
        return None
    if arrays[0].size <= CHUNK:  # one row
        partial = np.empty(1, dt.BY_NAME[made.partial].np)
        flat, axes = [a.reshape(1, -1) for a in arrays], [*[True] * len(arrays), False]
        row = stages.kernel(made.kernel.fn, (*flat, partial), axes)
        return joined([row, formula(symbol("x"), ("x",), (partial, out.reshape(1)))])
    call, threads, partials = made.chunks(arrays[0].size)
    wide, total = np.empty(partials.shape), np.empty(())
    x = symbol("x")
    return joined(
        [
            _stages(call, threads, *arrays, partials),
            formula(x, ("x",), (partials, wide)),
            add_reduce(wide, (0,), total),
            formula(x, ("x",), (total, out.reshape(()))),
        ]
    )
