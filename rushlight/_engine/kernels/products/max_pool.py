"""Maxima and means of windows, plane by plane, in machine code (`max_pool_code.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.products import max_pool_code
from rushlight._engine.kernels.products.tiles import Array, Ints, offsets, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.ops.nn.sliding_windows import lies_last, reach

# Elements from which on threads are worth waking.
_PARALLEL = 1 << 15
# Elements of the longest vector, by which tables go on.
_VECTOR = 16


def _call(
    write: Any, of: Any, planes: int, sizes: Sequence[int], tables: Sequence[Array], dims: Sequence[int]
) -> team.Call:
    """A job for each plane: of operands that take so many bytes for one, then what all have in common."""
    k = len(sizes)
    jobs = np.empty((planes, k + len(tables) + len(dims)), np.int64)
    jobs[:, :k] = np.arange(planes)[:, None] * sizes
    jobs[:, k:] = [*map(pointer, tables), *dims]
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
    windows = _Reads(shape, kernel, stride, pad, dilation, out, of.itemsize, last)
    # A window's first tap that is not padding, dim by dim.
    first = np.zeros(1, np.int64)
    for k, o, s, p, d in zip(kernel, out, stride, pad, dilation, strict=True):
        first = (first[:, None] * k + np.maximum(0, -((np.arange(o) * s - p) // d))).ravel()
    (pi, pt), before = windows.offsets(1)
    ai, pi, first = map(windows.of_vectors, (windows.ai, pi - before, first))
    count, item = windows.count, of.itemsize
    return _call(
        max_pool_code.maxima,
        of,
        windows.planes,
        (windows.size * item, count * item, count * 8),
        (ai, windows.at, pi, pt, first, windows.lines),
        windows.dims,
    )


class _Reads:
    """Which elements windows of planes read. last: channels lie last, as one more dim of a sample's plane."""

    def __init__(
        self,
        shape: Ints,
        kernel: Ints,
        stride: Ints,
        pad: Ints,
        dilation: Ints,
        out: Ints,
        item: int,
        last: bool = False,
    ) -> None:
        n = len(kernel)
        self.space = space = shape[-n:]
        self.how = kernel, stride, pad, dilation, out
        pads = reach(space, kernel, stride, pad, dilation, out)
        wide = tuple([low + size + high for size, (low, high) in zip(space, pads, strict=True)])
        self.item, self.channels = item, shape[1] if last else 1
        # Of each dim: bytes in the padded plane, and places in the space.
        line = item * self.channels
        self.steps = [(line * prod(wide[k + 1 :]), prod(space[k + 1 :])) for k in range(n)]
        (ai, self.at), before = self.offsets(0)
        self.ai = (ai[:, None] + np.arange(self.channels) * item).ravel()
        self.count, self.size = len(self.ai), prod(space) * self.channels
        self.planes = prod(shape[:-n]) // self.channels
        self.lines = before + offsets(space[:-1], [s for s, _ in self.steps[:-1]])
        padded = prod(wide) * self.channels * (wide != space)
        if self.count < _VECTOR and not padded:  # planes of few windows are one, so that vectors are filled
            together = max(k for k in range(1, _VECTOR * 4 // self.count) if self.planes % k == 0)
            apart = np.arange(together)[:, None] * (self.size * item)
            self.ai = (apart + self.ai).ravel()
            self.count, self.size = self.count * together, self.size * together
            self.planes //= together
        self.dims = self.count, prod(kernel), len(self.lines), space[-1] * line, padded

    def offsets(self, which: int) -> tuple[list[Array], int]:
        """Where windows begin, and where taps are from there; and how far the padding before them goes."""
        kernel, stride, pad, dilation, out = self.how
        steps = [s[which] for s in self.steps]
        found = [
            offsets(extents, [s * f for s, f in zip(steps, factors, strict=True)])
            for extents, factors in ((out, stride), (kernel, dilation))
        ]
        return found, sum(p * s for p, s in zip(pad, steps, strict=True))

    def of_vectors(self, table: Array) -> Array:
        """A table of windows as it is read: for each channel, plane by plane, and on for a vector."""
        if len(table) < self.count:
            table = table.repeat(self.channels)
        planes = np.tile(table, self.count // len(table))
        return np.append(planes, np.zeros(_VECTOR, table.dtype))


def means(a: Array, shares: Array, kernel: Ints, stride: Ints, pad: Ints, out: Ints) -> Array | None:
    """The sums of windows of dense planes (*lead, *space) over their shares, one for each window of a plane.
    None where there is no machine code.
    """
    if not suits(a) or not a.size or not prod(out) or not a.flags.c_contiguous or not team.possible():
        return None
    found = np.empty((*a.shape[: a.ndim - len(kernel)], *out), a.dtype)
    _averaging(a.dtype, a.shape, shares.tobytes(), kernel, stride, pad, out)(threads(a), a, found)
    return found


@lru_cache(maxsize=64)
def _averaging(
    of: Any, shape: Ints, shares: bytes, kernel: Ints, stride: Ints, pad: Ints, out: Ints
) -> team.Call:
    """What `means` runs, of the planes and the means."""
    windows = _Reads(shape, kernel, stride, pad, (1,) * len(kernel), out, of.itemsize)
    tables = (
        windows.of_vectors(np.frombuffer(shares, of)),
        windows.of_vectors(windows.ai),
        windows.at,
        windows.lines,
    )
    sizes = windows.size * of.itemsize, windows.count * of.itemsize
    return _call(max_pool_code.means, of, windows.planes, sizes, tables, windows.dims)


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
