"""Adding rows at given places: the gradient of a table look-up, and index_add.

Rows are added in order, so that the result is always the same; threads share out the rows they go to.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import machine_code
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.ops.expressions import symbol

Array = np.ndarray[Any, Any]
LARGE = 1 << 17


@cache
def _descriptor(dtype: str) -> int | None:
    """The address of the descriptor of an addition, or None where it cannot be compiled."""
    meaning = Meaning(
        (symbol("a") + symbol("b"),),
        (("a", dtype), ("b", dtype)),
        (dtype,),
        dt.opmath(dt.BY_NAME[dtype]).name,
    )
    return machine_code.address(("strip", meaning.text()), "descriptor", meaning)


def add_rows(out: Array, index: Array, values: Array) -> bool:
    """out[index[i]] += values[i] for every i in order, in place; whether it was done.

    out is (rows, n), index (m,) of int64, not empty, with repetitions, values (m, n) of out's dtype.
    What goes to no row is left out.
    """
    threads = parallel.get_num_threads() if values.size >= LARGE else 1
    call = (
        None
        if settings.kernels == "numpy" or not team.possible()
        else adding(
            out.dtype, (*out.strides, *index.strides, *values.strides), len(index), *out.shape, threads
        )
    )
    if call is not None:
        call(threads, out, index, values)
    return call is not None


@lru_cache(maxsize=256)
def adding(of: Any, strides: tuple[int, ...], count: int, rows: int, columns: int, threads: int) -> Any:
    """The team.Call, or None, that adds `count` rows to `rows` others where all is in range.

    strides: of out, index and values.
    """
    found, (down, across, number, line, along) = _descriptor(dt.from_numpy_dtype(of).name), strides
    pieces = parallel.pieces_for(rows, threads) if threads > 1 else 1
    cuts = [rows * i // pieces for i in range(pieces + 1)]
    jobs = [[0, 0, 0, found, count, columns, low, cuts[k + 1] - low] for k, low in enumerate(cuts[:-1])]
    return found and team.Call(
        team.CallStage(
            native.runtime_address("rl_add_rows"),
            np.array(jobs, np.int64),
            range(3),
            4,
            np.array([down, number, line, across, along], np.int64),
        )
    )
