"""Running sums and products along rows as machine code: NumPy's own go through memory for each element."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.compiler import native
from rushlight.compiler.ir import Function, Module
from rushlight.compiler.target import available
from rushlight.compiler.team import pointer
from rushlight.compiler.tier import Tiered

Array = np.ndarray[Any, Any]
_IDENTITY = {"fadd": "0.0", "fmul": "1.0"}


class Scan(Tiered):
    """Called with (rows, into), dense float32 matrices: totals in double, rounded at each element.

    Answers whether it was done.
    """

    def __init__(self, op: str) -> None:
        super().__init__()
        self.op = op

    def reference(self, *arrays: Any, out: Any = None) -> bool:
        """Nothing is done: the caller has NumPy's way."""
        return False

    @property
    def content(self) -> str:
        return self.op

    def build(self) -> Callable[..., bool] | None:
        """The machine code, or None without LLVM."""
        if not available():
            return None
        address, integer = ctypes.c_void_p, ctypes.c_int64
        code = ctypes.CFUNCTYPE(None, address, address, integer, integer)(
            native.address("scan", self.op, lambda module, name: write(module, name, self.op)))

        def run(rows: Array, into: Array, out: Any = None) -> bool:
            code(pointer(rows), pointer(into), *rows.shape)
            return True
        return run


@lru_cache(maxsize=None)
def scan(op: str) -> Scan:
    """The kernel of an LLVM operation, fadd or fmul."""
    return Scan(op)


def write(module: Module, name: str, op: str) -> None:
    """The IR of `void name(ptr rows, ptr into, i64 count, i64 n)`: four rows at a time."""
    f = Function(module, f"define void @{name}(ptr %rows, ptr %into, i64 %count, i64 %n)")
    fours = f.i64("sdiv", "%count", 4)
    for width, count, first in ((4, fours, "0"), (1, f.i64("srem", "%count", 4), f.i64("mul", fours, 4))):
        totals = [f.var(_IDENTITY[op], "double") for _ in range(width)]
        with f.loop(count) as block:
            row = f.i64("add", f.i64("mul", block, width), first)
            for total in totals:
                total.set(_IDENTITY[op])
            with f.loop("%n") as i:
                for number, total in enumerate(totals):
                    place = f.i64("mul", f.i64("add", f.i64("mul", f.i64("add", row, number), "%n"), i), 4)
                    value = f.op(f"fpext float {f.load('float', f.at('%rows', place))} to double")
                    total.set(f.op(f"{op} double {total.get()}, {value}"))
                    f.store("float", f.op(f"fptrunc double {total.get()} to float"), f.at("%into", place))
    f.emit("ret void")
    f.finish()
