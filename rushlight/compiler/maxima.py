"""Maxima of windows, plane by plane, in machine code (`maximacode.py`)."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight.compiler import maximacode, native, pool, team
from rushlight.compiler.tiles import offsets, suits
from rushlight.ops.windows import reach

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# Elements from which on threads are worth waking.
_PARALLEL = 1 << 15


def _call(write: Any, of: Any, planes: int, sizes: Sequence[int], tables: Sequence[Array],
          dims: Sequence[int]) -> team.Call:
    """A job for each plane: of operands that take so many bytes for one, then what all have in common."""
    k = len(sizes)
    jobs = np.empty((planes, k + len(tables) + len(dims)), np.int64)
    jobs[:, :k] = np.arange(planes)[:, None] * sizes
    jobs[:, k:] = [*map(team.pointer, tables), *dims]
    loop, pointers = native.loop(write, of.name), k + len(tables)
    return team.Call((loop, jobs, range(k), pointers, np.zeros(1, np.int64), tables))


def threads(*operands: Array) -> int:
    """How many may work on these."""
    return pool.get_num_threads() if max(a.size for a in operands) >= _PARALLEL else 1


def maxima(a: Array, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints,
           placed: bool = True) -> tuple[Array, Array] | None:
    """(maxima, places) of the windows of dense planes (*lead, *space); places hold anything unless `placed`.

    None where there is no machine code.
    """
    if not suits(a) or not a.size or not prod(out) or not a.flags.c_contiguous or not team.possible():
        return None
    shape = *a.shape[:a.ndim - len(kernel)], *out
    found, places = np.empty(shape, a.dtype), np.empty(shape, np.int64)
    pooling(a.dtype, a.shape, placed, *map(tuple, (kernel, stride, pad, dilation, out)))(
        threads(a), a, found, places)
    return found, places


@lru_cache(maxsize=64)
def pooling(of: Any, shape: Ints, placed: bool, kernel: Ints, *how: Ints) -> team.Call:
    """What `maxima` runs, of the planes, the maxima and the places."""
    n, out, item = len(kernel), prod(how[-1]), of.itemsize
    space, pads = shape[-n:], reach(shape[-n:], kernel, *how)
    wide = tuple([low + size + high for size, (low, high) in zip(space, pads, strict=True)])
    steps = [item * prod(wide[k + 1:]) for k in range(n)]
    lines = offsets(space[:-1], steps[:-1]) + sum(low * step for (low, _), step in zip(pads, steps, strict=True))
    sizes, tables = (prod(space) * item, out * item, out * 8), _tables(wide, item, space, kernel, *how)
    return _call(maximacode.maxima, of, prod(shape[:-n]), sizes, (*tables, lines), (
        out, prod(kernel), placed, len(lines), space[-1] * item, prod(wide) * (wide != space)))


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
    if not suits(g) or not g.size or not (g.flags.c_contiguous and places.flags.c_contiguous):
        return None
    out = np.zeros((*g.shape[:-1], size), g.dtype)
    if not team.possible():
        return None
    spreading(g.dtype, g.shape, size)(threads(g, out), g, places, out)
    return out


@lru_cache(maxsize=64)
def spreading(of: Any, shape: Ints, size: int) -> team.Call:
    """What `spread` runs, of gradients, places and zeros."""
    n, item = shape[-1], of.itemsize
    return _call(maximacode.spread, of, prod(shape[:-1]), (n * item, n * 8, size * item), (), (n,))
