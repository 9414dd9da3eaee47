"""Running sums and products along rows as machine code: NumPy's own go through memory for each element."""
from __future__ import annotations

from functools import lru_cache

from rushlight.compiler.ir import Function, Module
from rushlight.compiler.team import pointer
from rushlight.compiler.written import ADDRESS, INTEGER, Written

_IDENTITY = {"fadd": "0.0", "fmul": "1.0"}


@lru_cache(maxsize=None)
def scan(op: str) -> Written:
    """Called with (a, into, rows, n, across, step): totals in double, rounded at each float32 element.

    Elements of a row are `step` apart, rows `across`.  op: LLVM's, fadd or fmul.
    """
    return Written("scan", op, lambda module, name: write(module, name, op), (ADDRESS,) * 2 + (INTEGER,) * 4,
                   lambda a, into, *steps: (pointer(a), pointer(into), *steps))


def write(module: Module, name: str, op: str) -> None:
    """The IR of `i64 name(ptr rows, ptr into, i64 count, i64 n, i64 across, i64 step)`: four rows at once."""
    f = Function(module, f"define i64 @{name}(ptr %rows, ptr %into, "
                         "i64 %count, i64 %n, i64 %across, i64 %step)")
    fours = f.i64("sdiv", "%count", 4)
    for width, count, first in ((4, fours, "0"), (1, f.i64("srem", "%count", 4), f.i64("mul", fours, 4))):
        totals = [f.var(_IDENTITY[op], "double") for _ in range(width)]
        with f.loop(count) as block:
            row = f.i64("add", f.i64("mul", block, width), first)
            for total in totals:
                total.set(_IDENTITY[op])
            with f.loop("%n") as i:
                for number, total in enumerate(totals):
                    start = f.i64("mul", f.i64("add", row, number), "%across")
                    place = f.i64("mul", f.i64("add", start, f.i64("mul", i, "%step")), 4)
                    value = f.op(f"fpext float {f.load('float', f.at('%rows', place))} to double")
                    total.set(f.op(f"{op} double {total.get()}, {value}"))
                    f.store("float", f.op(f"fptrunc double {total.get()} to float"), f.at("%into", place))
    f.emit("ret i64 0")
    f.finish()
