"""Adding rows at given places: the gradient of a table look-up, and index_add.

Rows are added in order, so that the result is always the same; threads share out the rows that they go to.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.config import knobs
from rushlight.compiler import native, pool, team
from rushlight.compiler.meaning import Meaning
from rushlight.compiler.team import pointer
from rushlight.ops.scalar import symbol

Array = np.ndarray[Any, Any]
_LARGE, _WORD = 1 << 17, 1 << 16


@lru_cache(maxsize=None)
def _descriptor(dtype: str) -> int | None:
    """The address of the descriptor of an addition, or None where it cannot be compiled."""
    # Here, since the emitters are loaded for a kernel only.
    from rushlight.compiler.codegen import strip_descriptor

    return strip_descriptor(Meaning((symbol("a") + symbol("b"),), (("a", dtype), ("b", dtype)),
                                    (dtype,), dt.opmath(dt.BY_NAME[dtype]).name))


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
    (rows, columns), threads = out.shape, pool.get_num_threads() if values.size >= _LARGE else 1
    if threads > 1:
        # NumPy sorts short words several times faster.
        order = np.argsort(index.astype(np.uint16) if rows <= _WORD else index, kind="stable")
        pieces = pool.pieces_for(rows, threads)
        cuts = np.searchsorted(index[order], np.arange(pieces + 1) * rows // pieces)
    else:
        order, cuts = np.arange(len(index)), np.array([0, len(index)])
    jobs = np.empty((len(cuts) - 1, 7), np.int64)
    jobs[:] = found, *map(pointer, (out, order, index, values)), 0, columns
    jobs[:, 2] += cuts[:-1] * order.itemsize
    jobs[:, 5] = np.diff(cuts)
    steps = [out.strides[0], index.strides[0], values.strides[0], out.strides[1], values.strides[1]]
    return team.run_loop(native.runtime_address("rl_add_rows"), jobs, 5, np.array(steps, np.int64), threads)
