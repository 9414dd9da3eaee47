"""Reads and writes at positions along a dim as machine code: what gather and scatter are made of.

One pass checks a position, finds its element and moves it; NumPy's ways take a pass for each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.lanes import Lane, is_float
from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.runtime import native
from rushlight._engine.kernels.runtime.handwritten_kernels import Prepared

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]
_NUMBERS = {"f4": "float", "f8": "double", "i4": "i32", "i8": "i64"}
_MOVED = {(how, bits // 8): f"i{bits}" for how in ("read", "write") for bits in (8, 16, 32, 64)}


def along(how: str, a: Array, d: int, index: Array, other: Array, slices: bool = False) -> bool:
    """other[.., i, ..] = a[.., index[.., i, ..], ..] for how "read"; else `other` goes there, as how says.

    how: "write", or "sum", "prod", "amax" or "amin" with what is there.  slices: whether index is a vector,
    of places of whole slices.  Whether it was done: not where a position is outside (others may be written
    already), nor for dtypes and layouts that NumPy is left to.
    """
    found = _suited(how, a, d, index, other, slices)
    return found is not None and found[0].fn(a, index, other, found[1])


def planned(
    how: str, a: Array, d: int, index: Array, other: Array, slices: bool
) -> tuple[int, tuple[int, ...]] | None:
    """The address of the function that does what `along` says, and what it is to be called with."""
    found = _suited(how, a, d, index, other, slices)
    return found and (
        native.address("along", f"{found[0].source[1]} by pointers", found[0].plain),
        (pointer(a), pointer(index), pointer(other), *found[1]),
    )


def _suited(how: str, a: Array, d: int, index: Array, other: Array, slices: bool) -> Any:
    if d and not slices and index.ndim == a.ndim and len(index) < len(a):
        a = a[: len(index)]
    found = _plan(how, a.shape, d, index.shape, other.shape, slices, a.dtype, index.dtype, other.dtype)
    whole = index.flags.c_contiguous and a.flags.c_contiguous and other.flags.c_contiguous
    return found if whole else None


@lru_cache(maxsize=1024)
def _plan(
    how: str, sizes: Sizes, d: int, index: Sizes, given: Sizes, slices: bool, *dtypes: Any
) -> tuple[Prepared, Any] | None:
    """The kernel for such arrays, and its numbers."""
    if (
        not sizes
        or len(given) != len(sizes)
        or index != (given[d : d + 1] if slices else given)
        or (given != sizes and (given[:d] != sizes[:d] or given[d + 1 :] != sizes[d + 1 :]))
        or dtypes[0] is not dtypes[2]
        or not prod(sizes)
    ):
        return None
    outer, size, n, inner = prod(sizes[:d]), sizes[d], given[d], prod(sizes[d + 1 :])
    found = kernel(how, *dtypes[:2], inner == 1 and not slices)
    steps = (outer, 1, n, size, 1, 0) if inner == 1 else (outer, n, inner, size * inner, inner, 1)
    at = (0, inner > 1, inner == 1) if slices else (n * inner, inner, 1)
    return None if found is None else (found, np.array([*steps, size, *at], np.int64))


@cache
def kernel(how: str, of: Any, index: Any, lines: bool) -> Prepared | None:
    """Called with a, index, other, the last two of one shape or the index a vector, and `_plan`'s numbers.

    lines: whether positions are those along the last dim, of which an element's own line is known.
    """
    kind = _NUMBERS.get(of.str[1:]) if how in _COMBINE else _MOVED.get((how, of.itemsize))
    if kind is None or index != np.int64:
        return None
    text = f"{how} {kind}{' lines' if lines else ''}"
    return Prepared("along", text, lambda module, name: write(module, name, how, kind, lines), 10)


def write(module: Module, name: str, how: str, kind: str, lines: bool) -> None:
    """The IR of `i64 name(ptr a, ptr index, ptr other, i64 outer, i64 n, i64 m, i64 line, i64 step, i64 unit,
    i64 size, i64 i0, i64 i1, i64 i2)`: whether a position was outside.
    """
    f = Function(
        module,
        f"define i64 @{name}(ptr %a, ptr %index, ptr %other, i64 %outer, i64 %n, i64 %m, "
        "i64 %line, i64 %step, i64 %unit, i64 %size, i64 %i0, i64 %i1, i64 %i2)",
    )
    n, step, unit, of_index = "%n", "%step", "%unit", ["%i0", "%i1", "%i2"]
    if lines:
        n, step, unit, of_index = "1", "1", "0", ["%m", "0", "1"]
    with (
        f.vectors("%outer", [f.const("i64", 0)]) as (o, t0, u0),
        f.vectors(n, t0) as (i, t1, u1),
        f.vectors("%m", t1) as (k, outside, updated),
    ):
        place = f.i64("add", f.i64("mul", f.i64("add", f.i64("mul", o, n), i), "%m"), k)
        parts = [f.i64("mul", at, by) for at, by in zip((o, i, k), of_index, strict=True)]
        j = f.load("i64", "%index", f.i64("mul", f.i64("add", f.i64("add", *parts[:2]), parts[2]), 8))
        line = f.i64("add", f.i64("mul", o, "%line"), f.i64("mul", k, unit))
        at = f.i64("add", line, f.i64("mul", j, step))
        inside = f.i64("icmp ult", j, "%size")
        if how == "read":  # a position outside reads the first element, so that there is no branch
            at = f.op(f"select i1 {inside}, i64 {at}, i64 0")
        both = [f.at(p, f.i64("mul", q, BITS[kind] // 8)) for p, q in (("%a", at), ("%other", place))]
        with nullcontext() if how == "read" else f.when(inside):
            source, to = both if how == "read" else both[::-1]
            moved, old = (f.lanes(kind, f"load {f.type(kind)}, ptr {p}, align 1") for p in (source, to))
            moved = _COMBINE[how](f, old, moved) if how in _COMBINE else moved
            f.emit(f"store {moved!r}, ptr {to}, align 1")
        wrong = f.op(f"zext i1 {f.op(f'xor i1 {inside}, true')} to i64")
        updated.append(outside[0].bits("or", f.splat("i64", wrong)))
        u1 += outside
        u0 += t1
    f.emit(f"ret i64 {f.op(f'extractelement {t0[0]!r}, i64 0')}")
    f.finish()


def _extreme(name: str) -> Callable[[Function, Lane, Lane], Lane]:
    # LLVM's maximum of floats is nan where one is, as NumPy's.
    return lambda f, a, b: f.intrinsic(f"llvm.{name}imum" if is_float(a.kind) else f"llvm.s{name}", a, b)


_COMBINE: dict[str, Callable[[Function, Lane, Lane], Lane]] = {
    "sum": lambda _, a, b: a + b,
    "prod": lambda _, a, b: a * b,
    "amax": _extreme("max"),
    "amin": _extreme("min"),
}
