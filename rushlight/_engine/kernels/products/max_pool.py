"""Maxima of windows, plane by plane, in machine code (`max_pool_code.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.products import max_pool_code
from rushlight._engine.kernels.products.tiles import Array, Ints, offsets, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.ops.nn.sliding_windows import reach

# Elements from which on threads are worth waking.
_PARALLEL = 1 << 15


def _call(
    write: Any, of: Any, planes: int, sizes: Sequence[int], tables: Sequence[Array], dims: Sequence[int]
) -> team.Call:
    """A job for each plane: of operands that take so many bytes for one, then what all have in common."""
    k = len(sizes)
    jobs = np.empty((planes, k + len(tables) + len(dims)), np.int64)
    jobs[:, :k] = np.arange(planes)[:, None] * sizes
    jobs[:, k:] = [*map(team.pointer, tables), *dims]
    loop, pointers = native.loop(write, of.name), k + len(tables)
    return team.Call(team.CallStage(loop, jobs, range(k), pointers, np.zeros(1, np.int64), tables))


def threads(*operands: Array) -> int:
    """How many may work on these."""
    return parallel.get_num_threads() if max(a.size for a in operands) >= _PARALLEL else 1


def maxima(a: Array, kernel: Ints, *how: Ints) -> tuple[Array, Array] | None:
    """(maxima, places) of windows of dense planes (*lead, *space); how: stride, padding, dilation, how many.

    Where (N, C, *space) has channels last, so have the results. None where there is no machine code.
    """
    n = len(kernel)
    last = lies_last(a, n)
    if not suits(a) or not a.size or not prod(how[-1]) or not team.possible():
        return None
    if not (last or a.flags.c_contiguous):
        return None
    shape = (len(a), *how[-1], a.shape[1]) if last else (*a.shape[: a.ndim - n], *how[-1])
    found, places = np.empty(shape, a.dtype), np.empty(shape, np.int64)
    pooling(a.dtype, a.shape, *map(tuple, (kernel, *how)), last)(threads(a), a, found, places)
    return (np.moveaxis(found, -1, 1), np.moveaxis(places, -1, 1)) if last else (found, places)


def lies_last(a: Array, n: int) -> bool:
    """Whether (N, C, *space), of n dims of space, lies as dense (N, *space, C), and not as (N, C, *space)."""
    return a.ndim == n + 2 and not a.flags.c_contiguous and np.moveaxis(a, 1, -1).flags.c_contiguous


@lru_cache(maxsize=64)
def pooling(
    of: Any,
    shape: Ints,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    dilation: Ints,
    out: Ints,
    last: bool = False,
) -> team.Call:
    """What `maxima` runs, of the planes, the maxima and the places. last: channels lie last, as one more dim
    of a sample's one plane.
    """
    n, item, space = len(kernel), of.itemsize, shape[-len(kernel) :]
    pads = reach(space, kernel, stride, pad, dilation, out)
    wide = tuple([low + size + high for size, (low, high) in zip(space, pads, strict=True)])
    channels = shape[1] if last else 1
    # Of each dim: bytes in the padded plane, and places in the space.
    steps = [(item * channels * prod(wide[k + 1 :]), prod(space[k + 1 :])) for k in range(n)]
    (ai, pi), (at, pt) = (
        [offsets(extents, [s[which] * f for s, f in zip(steps, factors, strict=True)]) for which in (0, 1)]
        for extents, factors in ((out, stride), (kernel, dilation))
    )
    before, places = (sum(p * s[which] for p, s in zip(pad, steps, strict=True)) for which in (0, 1))
    # A window's first tap that is not padding, dim by dim.
    first = np.zeros(1, np.int64)
    for k, o, s, p, d in zip(kernel, out, stride, pad, dilation, strict=True):
        first = (first[:, None] * k + np.maximum(0, -((np.arange(o) * s - p) // d))).ravel()
    ai = (ai[:, None] + np.arange(channels) * item).ravel()
    pi, first = pi.repeat(channels), first.repeat(channels)
    count, size = len(ai), prod(space) * channels
    ai, pi, first = (np.append(table, np.zeros(16, np.int64)) for table in (ai, pi - places, first))
    lines = before + offsets(space[:-1], [s for s, _ in steps[:-1]])
    return _call(
        max_pool_code.maxima,
        of,
        prod(shape[:-n]) // channels,
        (size * item, count * item, count * 8),
        (ai, at, pi, pt, first, lines),
        (
            count,
            prod(kernel),
            len(lines),
            space[-1] * channels * item,
            prod(wide) * channels * (wide != space),
        ),
    )


def spread(g: Array, places: Array, size: int, last: bool = False) -> Array | None:
    """Zeros (*lead, size) with g (*lead, n) added at places; last: zeros (N, size, C) with g (N, n, C). None
    where there is no machine code.
    """
    dense = g.flags.c_contiguous and places.flags.c_contiguous
    if not suits(g) or not g.size or not dense or not team.possible():
        return None
    out = np.zeros((g.shape[0], size, g.shape[2]) if last else (*g.shape[:-1], size), g.dtype)
    spreading(g.dtype, g.shape, size, last)(threads(g, out), g, places, out)
    return out


@lru_cache(maxsize=64)
def spreading(of: Any, shape: Ints, size: int, last: bool = False) -> team.Call:
    """What `spread` runs, of gradients, places and zeros."""
    *lead, n, channels = shape if last else (*shape, 1)
    whole, item = n * channels, of.itemsize
    sizes = whole * item, whole * 8, size * channels * item
    return _call(max_pool_code.spread, of, prod(lead), sizes, (), (n, channels))
