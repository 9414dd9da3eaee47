"""Running sums and products along a dim of dense arrays, shared out by the team (`scancode.py`)."""
from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from rushlight.compiler import scancode, target, team
from rushlight.compiler.atoms import LLVM
from rushlight.compiler.written import Shared

# Rows of a job; elements from which on threads are worth waking.
_ROWS, _PARALLEL = 64, 1 << 15


def _jobs(loop: int, along: str, item: int, shape: tuple[int, ...], d: int) -> tuple[team.Call, bool]:
    n, inner = shape[d], prod(shape[d + 1:])
    if along == "rows":
        step, count = n * item, prod(shape[:d])
        jobs = [[low * step, low * step, min(_ROWS, count - low), n] for low in range(0, count, _ROWS)]
    else:
        step = inner * item
        jobs = [[start, start, min(scancode.STRIP, inner - low), n] for block in range(prod(shape[:d]))
                for low in range(0, inner, scancode.STRIP) for start in (block * n * step + low * item,)]
    call = team.Call((loop, np.array(jobs, np.int64), (0, 1), 2, np.array([step], np.int64)))
    return call, prod(shape) >= _PARALLEL


@lru_cache(maxsize=None)
def scan(op: str, along: str, dtype: str) -> Shared:
    """The kernel of "add" or "mul" along "rows", which lie dense, or "columns", for float32 or float64.

    Called with (a, into, d): before there is machine code, callers go NumPy's way.
    """
    kind, lanes = LLVM[dtype], target.lanes(dtype)
    return Shared("scan", f"{op} {along} {dtype} {lanes}", lambda module, name: scancode.write(
        module, name, op, along, kind, lanes),
        lambda loop, shape, _, d: _jobs(loop, along, np.dtype(dtype).itemsize, shape, d))
