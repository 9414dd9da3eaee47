"""NumPy's BLAS as a loop of the team: small products inside a program, with the bits of np.matmul."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from glob import glob
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.runtime import native, team
from rushlight._engine.kernels.runtime.abi import BLAS

Array = np.ndarray[Any, Any]
_PLAIN, _TURNED = 111, 112


@cache
def _gemm(dtype: str) -> int:
    """The address of the product of matrices in the library inside NumPy; 0 where there is none."""
    root = os.path.dirname(os.path.abspath(np.__file__))
    for pattern in ("../numpy.libs/*openblas64*", ".dylibs/*openblas64*"):
        for path in glob(os.path.join(root, pattern)):
            try:
                found = getattr(ctypes.CDLL(path), f"scipy_cblas_{BLAS[dtype]}gemm64_")
            except (OSError, AttributeError):
                continue
            return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


def planned(a: Array, b: Array, out: Array) -> tuple[int, Array, Array] | None:
    """The loop, jobs (a matrix each) and steps that write a @ b to a dense `out`; None where BLAS cannot."""
    found = relative(a, b) if out.dtype == a.dtype and out.size else None
    return found and (found[0], team.placed(found[1], (a, b, out)), found[2])


def relative(a: Array, b: Array) -> tuple[int, Array, Array] | None:
    """`planned`, with jobs relative to the operands' beginnings."""
    name, left, right = a.dtype.name, _order(a), _order(b)
    if (
        a.dtype != b.dtype
        or name not in BLAS
        or left is None
        or right is None
        or not (_gemm(name) and a.shape[-1])
    ):
        return None
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    begins = starts(batch, [(x.shape, x.strides) for x in (a, b)], m * n * a.itemsize)
    jobs = np.concatenate([begins, np.broadcast_to((m, n, k), begins.shape)], 1)
    steps = np.array([_gemm(name), left[0], right[0], left[1], right[1], max(n, 1)], np.int64)
    return native.runtime_address(f"rl_{BLAS[name]}gemm"), jobs, steps


def starts(
    batch: tuple[int, ...], operands: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], size: int
) -> Array:
    """Where each matrix of a batch begins, in both operands and in the result."""
    if not batch:
        return np.zeros((1, len(operands) + 1), np.int64)
    steps = [
        [0] * (len(batch) + 2 - len(shape))
        + [0 if n == 1 else s for n, s in zip(shape[:-2], strides, strict=False)]
        for shape, strides in operands
    ]
    count = prod(batch)
    places = np.indices(batch).reshape(len(batch), count).T @ np.array(steps, np.int64).T
    return np.concatenate([places, np.arange(count)[:, None] * size], 1)


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
