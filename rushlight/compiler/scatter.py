"""Adding rows at given places: the gradient of a table look-up, and index_add.

Rows are added in order, so that the result is always the same; threads share out the columns.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.config import knobs
from rushlight.compiler import pool
from rushlight.compiler.meaning import Meaning
from rushlight.compiler.team import pointer
from rushlight.ops.scalar import symbol

Array = np.ndarray[Any, Any]
_LARGE, _COLUMNS = 1 << 17, 256


@lru_cache(maxsize=None)
def _descriptor(dtype: str) -> int | None:
    """The address of the descriptor of an addition, or None where it cannot be compiled."""
    # Here, since the emitters are loaded for a kernel only.
    from rushlight.compiler.codegen import strip_descriptor

    return strip_descriptor(Meaning((symbol("a") + symbol("b"),), (("a", dtype), ("b", dtype)),
                                    (dtype,), dt.opmath(dt.BY_NAME[dtype]).name))


@lru_cache(maxsize=None)
def _entry() -> Callable[..., None]:
    from rushlight.compiler import native

    address, integer = ctypes.c_void_p, ctypes.c_int64
    prototype = ctypes.CFUNCTYPE(None, address, address, address, address, integer, integer, address)
    return prototype(native.runtime_address("rl_add_rows"))


def add_rows(out: Array, index: Array, values: Array) -> bool:
    """out[index[i]] += values[i] for every i in order, in place; whether it was done.

    out is (rows, n), index (m,) of int64, not empty, with repetitions, values (m, n) of out's dtype.
    IndexError for an index out of range.
    """
    if np.maximum.reduce(index.view(np.uint64)) >= out.shape[0]:
        raise IndexError(f"add_rows: expected indices from 0 to {out.shape[0] - 1}, got {index.tolist()}")
    found = None if knobs.kernels == "numpy" else _descriptor(dt.from_numpy_dtype(out.dtype).name)
    if found is None:
        return False
    columns = out.shape[1]
    pieces = 1
    if values.size >= _LARGE:
        pieces = max(1, min(pool.get_num_threads(), columns // _COLUMNS))
    cuts = [columns * i // pieces for i in range(pieces + 1)]
    pool.run([_job(found, out[:, a:b], index, values[:, a:b]) for a, b in zip(cuts, cuts[1:], strict=False)])
    return True


def _job(descriptor: int, out: Array, index: Array, values: Array) -> Callable[[], None]:
    steps = np.array([out.strides[0], index.strides[0], values.strides[0], out.strides[1],
                      values.strides[1]], np.int64)
    rows, columns = values.shape

    def run() -> None:
        _entry()(descriptor, pointer(out), pointer(index), pointer(values), rows, columns, pointer(steps))
    return run
