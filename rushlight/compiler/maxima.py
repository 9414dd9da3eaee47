"""Maxima of windows, plane by plane, in machine code (`maximacode.py`)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from rushlight.compiler import maximacode, native, pool, team
from rushlight.compiler.tiles import offsets, suits

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# Elements from which on threads are worth waking.
_PARALLEL = 1 << 15


class _Planes:
    """A loop whose jobs are the planes of dense operands: plane by plane `sizes` bytes of each."""

    def __init__(self, write: Any, dtype: Any, planes: int, sizes: Ints, tables: Sequence[Array],
                 counts: Ints) -> None:
        common = [*map(team.pointer, tables), *counts]
        jobs = np.empty((planes, len(sizes) + len(common)), np.int64)
        jobs[:, :len(sizes)] = np.arange(planes)[:, None] * np.array(sizes)
        jobs[:, len(sizes):] = common
        self.call = team.Call((native.loop(write, dtype.name), jobs, range(len(sizes)),
                               len(sizes) + len(tables), np.zeros(1, np.int64), tables))
        self.many = planes * max(sizes) >= _PARALLEL * dtype.itemsize

    def __call__(self, *operands: Array) -> None:
        self.call(pool.get_num_threads() if self.many else 1, *operands)


def maxima(a: Array, wide: Ints, *how: Ints) -> Callable[[Array], Any] | None:
    """A function of arrays (*lead, *wide) of a's dtype: (maxima, places) of the windows of their planes; None
    where there is no machine code. how: space (what is not padding), kernel, stride, pad, dilation, out."""
    space, out = how[0], how[-1]
    lead = a.shape[:a.ndim - len(space)]
    if not suits(a) or not team.possible() or not prod(lead) * prod(wide) * prod(out):
        return None
    loop = partial(_maxima, a.dtype, prod(lead), wide, *how)

    def run(a: Array) -> tuple[Array, Array]:
        found, places = np.empty((*lead, *out), a.dtype), np.empty((*lead, *out), np.int64)
        loop()(np.ascontiguousarray(a), found, places)
        return found, places
    return run


@lru_cache(maxsize=64)
def _maxima(dtype: Any, planes: int, wide: Ints, space: Ints, kernel: Ints, *how: Ints) -> _Planes:
    item, windows = dtype.itemsize, prod(how[-1])
    tables = _tables(wide, item, space, kernel, *how)
    return _Planes(maximacode.maxima, dtype, planes, (prod(wide) * item, windows * item, windows * 8), tables,
                   (windows, prod(kernel)))


def _tables(wide: Ints, item: int, space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints,
            out: Ints) -> tuple[Array, ...]:
    """ai, at, pi, pt and first of maximacode.py."""
    steps = [(item * prod(wide[k + 1:]), prod(space[k + 1:])) for k in range(len(wide))]
    (ai, pi), (at, pt) = ([offsets(extents, [s[which] * f for s, f in zip(steps, factors, strict=True)])
                           for which in (0, 1)] for extents, factors in ((out, stride), (kernel, dilation)))
    pi = pi - sum(p * s for p, (_, s) in zip(pad, steps, strict=True))
    # A window's first tap that is not padding, dim by dim.
    first = np.zeros(1, np.int64)
    for k, o, s, p, d in zip(kernel, out, stride, pad, dilation, strict=True):
        before = np.maximum(0, -((np.arange(o) * s - p) // d))
        first = (first[:, None] * k + before).ravel()
    beyond = np.zeros(16, np.int64)
    return np.append(ai, beyond), at, np.append(pi, beyond), pt, np.append(first, beyond)


def spread(g: Array, places: Array, size: int) -> Array | None:
    """Zeros (*lead, size) with g (*lead, n) added at places; None where there is no machine code."""
    dense = g.flags.c_contiguous and places.flags.c_contiguous
    if not suits(g) or not team.possible() or not g.size or not dense:
        return None
    out = np.zeros((*g.shape[:-1], size), g.dtype)
    each = g.shape[-1], g.shape[-1] * 8 // g.itemsize, size
    loop = _Planes(maximacode.spread, g.dtype, prod(g.shape[:-1]), tuple([n * g.itemsize for n in each]), (),
                   g.shape[-1:])
    loop(g, places, out)
    return out
