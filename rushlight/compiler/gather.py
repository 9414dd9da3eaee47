"""Rows of a table by number, copied by the team."""
from __future__ import annotations

from functools import lru_cache

import numpy as np

from rushlight.compiler import native, team
from rushlight.compiler.ir import Function, Module
from rushlight.compiler.runtime import SLOT, slot
from rushlight.compiler.teamcode import MEMCPY
from rushlight.compiler.tilecode import HEADER

# Rows of a job.
_ROWS = 256


@lru_cache(maxsize=256)
def copying(count: int, size: int) -> team.Call:
    """Of a table, numbers and a result, rows of `size` bytes."""
    starts = np.arange(0, count, _ROWS)
    jobs = np.empty((len(starts), 5), np.int64)
    for column, step in enumerate((0, 8, size)):
        jobs[:, column] = starts * step
    jobs[:, 3], jobs[:, 4] = np.minimum(_ROWS, count - starts), size
    return team.Call((native.address("gather", "", write), jobs, range(3), 3, np.zeros(1, np.int64)))


def write(module: Module, name: str) -> None:
    """The IR. args: table, numbers, out. dims: how many rows, bytes of one."""
    f = Function(module, HEADER.format(name))
    module.declare(*MEMCPY)
    table, numbers, out = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    count, size = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    with f.counted(count) as i:
        source = f.at(table, f.i64("mul", f.load("i64", slot(f, numbers, i)), size))
        to = f.at(out, f.i64("mul", i, size))
        f.emit(f"call void {MEMCPY[0]}(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    f.emit("ret i32 0")
    f.finish()
