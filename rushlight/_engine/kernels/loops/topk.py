"""The first elements of rows' orders as machine code: one pass keeps the best so far, in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.lanes import is_float
from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.runtime import parallel
from rushlight._engine.kernels.runtime.handwritten_kernels import Prepared

Array = np.ndarray[Any, Any]
_FLOATS = {"f4": "float", "f8": "double"}
_PARAMETERS = "ptr %a, ptr %values, ptr %places, i64 %rows, i64 %n, i64 %k, i64 %steps"


@cache
def first(of: Any, largest: bool) -> Prepared | None:
    """Called with (a, values, places, numbers): the k first of each row (.., n), and where they are, (.., k).

    Refuses rows in which the best keep coming, as in ascending ones: each would move k elements. All are
    contiguous; largest: whether the order falls. Of equal ones the first come first; nan is larger
    than any number.
    """
    kind = f"i{8 * of.itemsize}" if of.kind in "iu" else _FLOATS.get(of.str[1:])
    order = ("s" if of.kind == "i" else "u") + ("gt" if largest else "lt")
    return (
        None
        if kind is None
        else Prepared("topk", f"{order} {kind}", lambda module, name: write(module, name, order, kind), 4)
    )


def shared(kernel: Callable[..., bool], *arrays: Array) -> bool:
    """`first` of a, into values and places, on threads where there are rows for all."""
    matrices = [x.reshape(-1, x.shape[-1]) for x in arrays]
    count = len(matrices[0])

    def part(low: int, high: int) -> bool:
        rows = [x[low:high] for x in matrices]
        return kernel(*rows, numbers(rows[0].shape, rows[1].shape))

    if not 1 < parallel.get_num_threads() <= count:
        return part(0, count)
    return all(parallel.ranges(part, count))


@lru_cache(maxsize=256)
def numbers(a: tuple[int, ...], values: tuple[int, ...]) -> Array:
    """What `first` is called with, after arrays of these shapes."""
    return np.array([prod(a[:-1]), a[-1], values[-1], values[-1].bit_length()], np.int64)


def _sooner(f: Function, order: str, kind: str, x: str, y: str, place: str) -> str:
    """Whether x comes before y in the order, or y's place is free (-1)."""
    free, compare = f.i64("icmp slt", place, 0), "fcmp" if is_float(kind) else "icmp"
    before = f.op(f"{compare} {order} {kind} {x}, {y}")
    if is_float(kind):  # unordered: one of them is nan, which must be x if the largest are sought
        number = y if order == "ugt" else x
        before = f.op(f"and i1 {before}, {f.op(f'fcmp ord {kind} {number}, {number}')}")
    return f.op(f"or i1 {free}, {before}")


def write(module: Module, name: str, order: str, kind: str) -> None:
    """The IR of `i64 name(ptr a, ptr values, ptr places, i64 rows, i64 n, i64 k, i64 steps)`."""
    f, size = Function(module, f"define i64 @{name}({_PARAMETERS})"), BITS[kind] // 8
    module.declare("memmove", "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
    last, made = f.i64("sub", "%k", 1), f.var(0)
    limit = f.i64("mul", "%rows", f.i64("add", f.i64("lshr", "%n", 4), f.i64("shl", "%k", 3)))
    with f.counted("%rows") as row:
        line, start = f.at("%a", f.i64("mul", row, f.i64("mul", "%n", size))), f.i64("mul", row, "%k")
        found = [
            (of, s, f.at(p, f.i64("mul", start, s)))
            for of, s, p in ((kind, size, "%values"), ("i64", 8, "%places"))
        ]

        def before(x: str, j: str) -> str:
            return _sooner(f, order, kind, x, *[f.load(of, p, f.i64("mul", j, s)) for of, s, p in found])

        with f.counted("%k") as j:
            f.store("i64", -1, found[1][2], f.i64("mul", j, 8))
        with f.counted("%n") as i:
            x = f.load(kind, line, f.i64("mul", i, size))
            with f.when(f.op(f"and i1 {before(x, last)}, {f.i64('icmp slt', made.get(), limit)}")):
                made.set(f.i64("add", made.get(), 1))
                low, left = f.var(0), f.var("%k")
                with f.counted("%steps"):
                    half = f.i64("lshr", left.get(), 1)
                    middle = f.i64("add", low.get(), half)
                    sooner = before(x, middle)
                    low.set(f.op(f"select i1 {sooner}, i64 {low.get()}, i64 {f.i64('add', middle, 1)}"))
                    rest = f.i64("sub", f.i64("sub", left.get(), half), 1)
                    left.set(f.op(f"select i1 {sooner}, i64 {half}, i64 {rest}"))
                to = low.get()
                for (of, s, p), value in zip(found, (x, i), strict=True):
                    here = f.at(p, f.i64("mul", to, s))
                    moved = f"ptr {f.at(here, s)}, ptr {here}, i64 {f.i64('mul', f.i64('sub', last, to), s)}"
                    f.emit(f"call void @llvm.memmove.p0.p0.i64({moved}, i1 false)")
                    f.store(of, value, here)
    full = f.i64("icmp sge", made.get(), limit)
    f.emit(f"ret i64 {f.op(f'zext i1 {full} to i64')}")
    f.finish()
