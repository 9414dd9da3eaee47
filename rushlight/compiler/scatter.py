"""Adding rows at given places: the gradient of a table look-up, and index_add.

Rows are added in order, so that the result is always the same; threads share out the columns.
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
_LARGE, _COLUMNS = 1 << 17, 256


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
    columns = out.shape[1]
    threads = pool.get_num_threads() if values.size >= _LARGE else 1
    step = -(-columns // max(1, min(threads, columns // _COLUMNS)))
    to, across, source, along = pointer(out), out.strides[1], pointer(values), values.strides[1]
    jobs = [[found, to + low * across, pointer(index), source + low * along, len(index),
             min(step, columns - low)] for low in range(0, columns, step)]
    steps = [out.strides[0], index.strides[0], values.strides[0], across, along]
    return team.run_loop(native.runtime_address("rl_add_rows"), np.array(jobs, np.int64), 4,
                         np.array(steps, np.int64), threads)
