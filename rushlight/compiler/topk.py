"""The first elements of rows' orders as machine code: one pass keeps the best so far, in order."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.compiler.ir import BITS, Function, Module
from rushlight.compiler.lanes import is_float
from rushlight.compiler.team import pointer
from rushlight.compiler.written import ADDRESS, INTEGER, Written

Array = np.ndarray[Any, Any]
_FLOATS = {"f4": "float", "f8": "double"}


def first(a: Array, values: Array, places: Array, largest: bool) -> bool:
    """The k largest or smallest of each row (.., n), and where, into (.., k); whether it was done.

    All are contiguous. Of equal ones the first come first; nan is larger than any number.
    """
    found = kernel(a.dtype, largest)
    return found is not None and found.fn(a, values, places)


@lru_cache(maxsize=None)
def kernel(of: Any, largest: bool) -> Written | None:
    """Called with (a, values, places)."""
    kind = f"i{8 * of.itemsize}" if of.kind in "iu" else _FLOATS.get(of.str[1:])
    if kind is None:
        return None
    order = ("s" if of.kind == "i" else "u") + ("gt" if largest else "lt")
    return Written("topk", f"{order} {kind}", lambda module, name: write(module, name, order, kind),
                   (ADDRESS,) * 3 + (INTEGER,) * 3, _arguments, cost=64)


def _arguments(a: Array, values: Array, places: Array) -> tuple[int, ...]:
    n = a.shape[-1]
    return pointer(a), pointer(values), pointer(places), a.size // n, n, values.shape[-1]


def _sooner(f: Function, order: str, kind: str, x: str, y: str, place: str) -> str:
    """Whether x comes before y in the order, or y's place is free (-1)."""
    free, compare = f.i64("icmp slt", place, 0), "fcmp" if is_float(kind) else "icmp"
    before = f.op(f"{compare} {order} {kind} {x}, {y}")
    if is_float(kind):  # unordered: one of them is nan, which must be x if the largest are sought
        number = y if order == "ugt" else x
        before = f.op(f"and i1 {before}, {f.op(f'fcmp ord {kind} {number}, {number}')}")
    return f.op(f"or i1 {free}, {before}")


def write(module: Module, name: str, order: str, kind: str) -> None:
    """The IR of `i64 name(ptr a, ptr values, ptr places, i64 rows, i64 n, i64 k)`."""
    size, parameters = BITS[kind] // 8, "ptr %a, ptr %values, ptr %places, i64 %rows, i64 %n, i64 %k"
    f = Function(module, f"define i64 @{name}({parameters})")
    last = f.i64("sub", "%k", 1)
    with f.counted("%rows") as row:
        line, start = f.at("%a", f.i64("mul", row, f.i64("mul", "%n", size))), f.i64("mul", row, "%k")
        values, places = (f.at(p, f.i64("mul", start, s)) for p, s in (("%values", size), ("%places", 8)))
        with f.counted("%k") as j:
            f.store("i64", -1, places, f.i64("mul", j, 8))
        with f.counted("%n") as i:
            x = f.load(kind, line, f.i64("mul", i, size))
            end = f.load(kind, values, f.i64("mul", last, size)), f.load("i64", places, f.i64("mul", last, 8))
            with f.when(_sooner(f, order, kind, x, *end)):
                held = f.var(x, kind), f.var(i)
                with f.counted("%k") as j:
                    to = f.at(values, f.i64("mul", j, size)), f.at(places, f.i64("mul", j, 8))
                    new, old = [v.get() for v in held], (f.load(kind, to[0]), f.load("i64", to[1]))
                    change = _sooner(f, order, kind, new[0], *old)
                    for v, p, a, b in zip(held, to, new, old, strict=True):
                        f.store(v.kind, f.op(f"select i1 {change}, {v.kind} {a}, {v.kind} {b}"), p)
                        v.set(f.op(f"select i1 {change}, {v.kind} {b}, {v.kind} {a}"))
    f.emit("ret i64 0")
    f.finish()
