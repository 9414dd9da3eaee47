"""QR decompositions by Householder's reflections, a block of columns at a time, in double precision."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite, prod

import numpy as np

from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.services import service
from rushlight._engine.ops.linalg.matmul import product
from rushlight._engine.ops.table import Array

# Columns whose reflections follow each other before what is behind them follows in products; the most columns
# of matrices that have no other.
_BLOCK, _ALONE = 32, 64
_LARGE = 1 << 20  # multiplications of a product that threads share


def factors(a: Array, complete: bool = False) -> tuple[Array, Array]:
    """(Q, R) of matrices (*, m, n) with m, or min(m, n), columns of Q: LAPACK's, to the sign."""
    found = _by_blocks(a, complete) if a.dtype.char in "fd" and a.size else None
    return np.linalg.qr(a, mode="complete" if complete else "reduced") if found is None else found


def _by_blocks(a: Array, complete: bool) -> tuple[Array, Array] | None:
    """None where there is no machine code, and for what is not finite."""
    rows, wide = a.shape[-2:]
    small, count = min(rows, wide), prod(a.shape[:-2])
    packed = np.array(a.reshape(count, rows, wide), np.float64, order="C")
    if not isfinite(np.add.reduce(packed, None)):
        return None
    taus, reflect = np.empty((count, small)), service("reflections")
    step = small if small <= _ALONE else _BLOCK
    blocks, known = range(0, small, step), []
    for start in blocks:
        stop = min(start + step, small)
        if not reflect(packed, taus, start, stop):
            return None
        if stop < wide or step < small:
            v, links = _block(packed, taus, start, stop)
            known.append((v, links))
            rest = packed[:, start:, stop:]
            if stop < wide:
                turned = links.swapaxes(-1, -2)
                rest -= _times(v, _through(turned, _times(v.swapaxes(-1, -2), rest), False))
    high = rows if complete else small
    q = np.empty((count, rows, high))
    q[...] = _unit(rows, high)
    if step == small:
        reflect(packed, taus, 0, small, q)
    else:
        for start, (v, links) in zip(blocks[::-1], known[::-1], strict=True):
            rest = q[:, start:, start:]
            rest -= _times(v, _through(links, _times(v.swapaxes(-1, -2), rest), True))
    r = np.where(_upper(high, wide), packed[:, :high], 0)
    return _laid_out(q, a), _laid_out(r, a)


def _laid_out(found: Array, a: Array) -> Array:
    """Results for a's batch in its dtype, column by column."""
    turned = np.asarray(found.swapaxes(-1, -2), a.dtype, order="C")
    return turned.reshape(*a.shape[:-2], *turned.shape[1:]).swapaxes(-1, -2)


@lru_cache(maxsize=64)
def _upper(rows: int, wide: int, first: int = 0) -> Array:
    """Which elements are `first` places above the diagonal, or more."""
    return np.tri(wide, rows, -first, bool).T


@lru_cache(maxsize=64)
def _unit(rows: int, wide: int) -> Array:
    return np.eye(rows, wide)


def _times(a: Array, b: Array) -> Array:
    """The product; BLAS begins sooner, and leaves large ones to the team."""
    found: Array = product(a, b) if a[0].size * b.shape[-1] >= _LARGE else np.matmul(a, b)
    return found


def _block(packed: Array, taus: Array, start: int, stop: int) -> tuple[Array, Array]:
    """(V, S) with I - V S^-1 V^T the product of a block's reflections, whose vectors are V's columns."""
    rows, wide = packed.shape[1] - start, stop - start
    v = np.where(_upper(rows, wide), _unit(rows, wide), packed[:, start:, start:stop])
    links = np.where(_upper(wide, wide, 1), _times(v.swapaxes(-1, -2), v), 0)
    places = np.arange(wide)
    token = hush()  # a reflection that does nothing: by infinity, nothing
    try:
        links[:, places, places] = 1 / taus[:, start:stop]
    finally:
        restore(token)
    return v, links


def _through(links: Array, x: Array, upper: bool) -> Array:
    """S^-1 x, or S^-T x of the triangle turned over, which is given so."""
    service("substitution")(np.ascontiguousarray(links), x, upper, False)
    return x
