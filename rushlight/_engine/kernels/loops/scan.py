"""Running sums and products along a dim of dense arrays, shared out by the team (`scan_code.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.atom_code import LLVM
from rushlight._engine.kernels.loops import scan_code
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.handwritten_kernels import HandwrittenKernel

# Rows of a job; elements from which on threads are worth waking.
_ROWS, _PARALLEL = 64, 1 << 15


class Scan(HandwrittenKernel):
    """The kernel of "add" or "mul" along "rows", which lie dense (few: "lines"), or "columns", for float32 or
    float64; totals are kept in `wide`, float64 or the dtype itself.

    Called with (a, into, d); says if it was done: before there is machine code, callers go NumPy's way.
    """

    def __init__(self, op: str, along: str, dtype: str, wide: str = "float64") -> None:
        # Rows one by one are rows beside each other in vectors of one element.
        lanes, along = (1, "rows") if along == "lines" else (target.lanes(dtype), along)
        self.along, kinds = along, (LLVM[dtype], LLVM[wide])
        super().__init__(
            "scan",
            f"{op} {along} {dtype} {wide} {lanes}",
            lambda module, name: scan_code.write(module, name, op, along, *kinds, lanes),
            (),
            bool,
        )

    def build(self) -> Callable[..., bool] | None:
        """The machine code; None without LLVM or a team."""
        if not target.available() or not team.possible():
            return None
        loop = native.address(*self.source, self.write)
        calls = lru_cache(maxsize=256)(lambda shape, d, item: _call(loop, self.along, shape, d, item))

        def run(a: Any, into: Any, d: int, out: Any = None) -> bool:
            calls(a.shape, d, a.itemsize)(parallel.get_num_threads() if a.size >= _PARALLEL else 1, a, into)
            return True

        return run


def _call(loop: int, along: str, shape: tuple[int, ...], d: int, item: int) -> team.Call:
    n, inner = shape[d], prod(shape[d + 1 :])
    if along == "rows":
        step, count = n * item, prod(shape[:d])
        jobs = [[low * step, low * step, min(_ROWS, count - low), n] for low in range(0, count, _ROWS)]
    else:
        step = inner * item
        jobs = []
        for block in range(prod(shape[:d])):
            for low in range(0, inner, scan_code.STRIP):
                start = block * n * step + low * item
                jobs.append([start, start, min(scan_code.STRIP, inner - low), n])
    return team.Call(team.CallStage(loop, np.array(jobs, np.int64), (0, 1), 2, np.array([step], np.int64)))


# The kernel, kept.
scan = lru_cache(maxsize=None)(Scan)
