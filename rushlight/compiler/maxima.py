"""Maxima of windows, plane by plane, in machine code (`maximacode.py`)."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight.compiler import maximacode, native, pool, team
from rushlight.compiler.tiles import offsets, suits

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# Elements from which on threads are worth waking.
_PARALLEL = 1 << 15


def _work(write: Any, jobs: Sequence[Any], operands: Sequence[Array], planes: int) -> team.Work:
    """Jobs for each plane: operands' pointers, plane by plane, then what all have in common."""
    table = np.empty((planes, len(operands) + len(jobs)), np.int64)
    for k, a in enumerate(operands):
        table[:, k] = team.pointer(a) + np.arange(planes) * (a.nbytes // max(planes, 1))
    table[:, len(operands):] = [team.pointer(j) if isinstance(j, np.ndarray) else j for j in jobs]
    threads = pool.get_num_threads() if max(a.size for a in operands) >= _PARALLEL else 1
    before = len(operands) + sum(isinstance(j, np.ndarray) for j in jobs)
    loop = native.loop(write, operands[0].dtype.name)
    return team.Work(loop, table, before, np.zeros(1, np.int64), threads)


def maxima(a: Array, space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints,
           out: Ints) -> tuple[Array, Array] | None:
    """(maxima, places) of the windows of dense planes (*lead, *wide), of which `space` is not padding.

    None where there is no machine code.
    """
    if not suits(a) or not a.size or not prod(out) or not a.flags.c_contiguous:
        return None
    lead = a.shape[:a.ndim - len(space)]
    found, places = np.empty((*lead, *out), a.dtype), np.empty((*lead, *out), np.int64)
    done = pooling(found, places, a, space, kernel, stride, pad, dilation, out).run()
    return (found, places) if done else None


def pooling(found: Array, places: Array, a: Array, space: Ints, kernel: Ints, *how: Ints) -> team.Work:
    """What `maxima` does, into memory."""
    n = a.ndim - len(space)
    tables = _tables(a.shape[n:], a.itemsize, *map(tuple, (space, kernel, *how)))
    jobs = (*tables, prod(how[-1]), prod(kernel))
    return _work(maximacode.maxima, jobs, (a, found, places), prod(a.shape[:n]))


@lru_cache(maxsize=64)
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
    return out if spreading(out, g, places).run() else None


def spreading(out: Array, g: Array, places: Array) -> team.Work:
    """What `spread` does, to zeros."""
    return _work(maximacode.spread, (g.shape[-1],), (g, places, out), prod(g.shape[:-1]))
