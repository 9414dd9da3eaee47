"""Large matrix products: NumPy's BLAS, one thread for each part, the parts shared out by the team.

BLAS's own threads wait in spins that take the processor from everybody else, and they cannot share
out a batch. Where matrices are cut depends on their shapes alone, so that results have the same
bits for any number of threads.
"""
from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from glob import glob
from itertools import product as indices
from math import prod
from typing import Any

import numpy as np

from rushlight.base.config import knobs
from rushlight.compiler import native, pool, team
from rushlight.compiler.dots import dots, fits
from rushlight.compiler.gemmcode import PREFIX

Array = np.ndarray[Any, Any]
# At most so many strips. BLAS packs the other operand for each of them: few and long ones are faster, and an
# even number keeps two threads busy.
_PIECES, _LONG = 16, 256
# Multiplications from which on threads are worth waking.
_PARALLEL = 1 << 19
_PLAIN, _TURNED = 111, 112


class _Blas:
    """The library inside NumPy: its products of matrices, and how many threads it may use."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        self.gemm = {dtype: ctypes.cast(getattr(library, f"scipy_cblas_{prefix}gemm64_"),
                                        ctypes.c_void_p).value or 0 for dtype, prefix in PREFIX.items()}
        self.set_threads = library.scipy_openblas_set_num_threads64_
        self.get_threads = library.scipy_openblas_get_num_threads64_


@lru_cache(maxsize=None)
def _blas() -> _Blas | None:
    root = os.path.dirname(os.path.abspath(np.__file__))
    for pattern in ("../numpy.libs/*openblas64*", ".dylibs/*openblas64*"):
        for path in glob(os.path.join(root, pattern)):
            try:
                return _Blas(path)
            except (OSError, AttributeError):
                continue
    return None


@lru_cache(maxsize=None)
def _loop(dtype: str) -> int | None:
    from rushlight.compiler.target import available

    return native.runtime_address(f"rl_{PREFIX[dtype]}gemm") if available() else None


def multiplier(a: Array, b: Array) -> Callable[[Array, Array], Any]:
    """np.matmul of operands of two or more axes that lie like these, for large products."""
    if fits(a, b):
        return dots
    shape = *np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]
    of, known = a.dtype, a.dtype == b.dtype and a.dtype.name in PREFIX
    found = _relative(a, b, np.empty(shape, of)) if known and team.possible() else None
    if found is None:
        return np.matmul
    call = team.Call((*found[:2], range(3), 3, found[2]))

    def run(a: Array, b: Array) -> Array:
        out = np.empty(shape, of)
        with one_thread():
            call(pool.get_num_threads(), a, b, out)
        return out
    return run


def planned(a: Array, b: Array, out: Array, strips: int = 0) -> tuple[int, Array, Array] | None:
    """The loop, jobs and steps that write a @ b to `out`, in C order; None where BLAS cannot.

    strips: how many of them; 0 for what suits most.
    """
    found = _relative(a, b, out, strips)
    return None if found is None else (found[0], team.placed(found[1], (a, b, out)), found[2])


def _relative(a: Array, b: Array, out: Array, strips: int = 0) -> tuple[int, Array, Array] | None:
    """`planned`, with jobs relative to the operands' beginnings."""
    blas = None if knobs.kernels == "numpy" else _blas()
    loop = _loop(a.dtype.name) if blas is not None else None
    if blas is None or loop is None or a.shape[-1] != b.shape[-2] or not a.shape[-1] or not out.size:
        return None
    left, right = _order(a), _order(b)
    if left is None or right is None:
        return None
    jobs = _jobs(tuple([(x.shape, x.strides) for x in (a, b, out)]), strips)
    return loop, jobs, np.array([blas.gemm[a.dtype.name], left[0], right[0], left[1], right[1],
                                 max(out.shape[-1], 1)], np.int64)


_setting = threading.Lock()


def _renew() -> None:
    global _setting
    _setting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS's own threads are put off; the number is the process's, so callers take turns."""
    blas: Any = _blas()
    with _setting:
        before = blas.get_threads()
        blas.set_threads(1)
        try:
            yield
        finally:
            blas.set_threads(before)


def _order(x: Array) -> tuple[int, int] | None:
    """(whether the matrices lie transposed, their leading dimension), or None if neither fits."""
    rows, columns = x.shape[-2:]
    down, along = x.strides[-2] // x.itemsize, x.strides[-1] // x.itemsize
    if x.strides[-2] % x.itemsize or x.strides[-1] % x.itemsize:
        return None
    if (along == 1 or columns == 1) and (down >= columns or rows == 1):
        return _PLAIN, max(down if rows > 1 else columns, columns)
    if (down == 1 or rows == 1) and (along >= rows or columns == 1):
        return _TURNED, max(along if columns > 1 else rows, rows)
    return None


@lru_cache(maxsize=1024)
def _jobs(layouts: Any, strips: int = 0) -> Array:
    """Jobs, relative to the operands' starts: whole matrices of a batch, or strips of them.

    The strips depend on the shapes alone, as BLAS adds up otherwise for other extents.
    """
    (sa, ta), (sb, tb), (so, to) = layouts
    m, k, n = sa[-2], sa[-1], sb[-1]
    batch = so[:-2]
    lead = np.array([_broadcast(s[:-2], t[:-2], len(batch)) for s, t in zip(
        (sa, sb, so), (ta, tb, to), strict=True)], np.int64).reshape(3, len(batch))
    starts = np.array(list(indices(*map(range, batch))), np.int64).reshape(prod(batch), len(batch)) @ lead.T
    rows = m >= n
    extent = m if rows else n
    few = prod(so) * k < _PARALLEL or len(starts) >= _PIECES
    step = extent if few and not strips else _strip(extent, strips)
    spans = [(low, min(low + step, extent)) for low in range(0, extent, step)]
    steps = (ta[-2], 0, to[-2]) if rows else (0, tb[-1], to[-1])
    return np.array([[*(start + low * np.array(steps)), *((high - low, n) if rows else (m, high - low)), k]
                     for start in starts for low, high in spans], np.int64)


def _strip(extent: int, strips: int) -> int:
    """Rows of a strip: a fourth or half of what is not long, in whole tiles of BLAS."""
    usual = min(extent // _LONG, _PIECES) if extent >= 4 * _LONG else 4 if extent >= _LONG else 2
    pieces = strips or usual
    return -(-extent // (16 * pieces)) * 16


def _broadcast(shape: tuple[int, ...], strides: tuple[int, ...], axes: int) -> list[int]:
    """Byte steps along the axes of the batch; 0 where the operand repeats."""
    own = [0 if n == 1 else s for n, s in zip(shape, strides, strict=True)]
    return [0] * (axes - len(own)) + own
