"""Reads and writes at positions along a dim as machine code: what gather and scatter are made of.

One pass checks a position, finds its element and moves it; NumPy's ways take a pass for each of these.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight.compiler import team
from rushlight.compiler.ir import BITS, Function, Module
from rushlight.compiler.lanes import Lane, is_float
from rushlight.compiler.runtime import SLOT, slot
from rushlight.compiler.tilecode import HEADER
from rushlight.compiler.written import Shared

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
_NUMBERS = {"f4": "float", "f8": "double", "i4": "i32", "i8": "i64"}
_MOVED = {(how, bits // 8): f"i{bits}" for how in ("read", "write") for bits in (8, 16, 32, 64)}


def along(how: str, a: Array, d: int, index: Array, other: Array) -> bool:
    """What `mover` says, done at once."""
    move = mover(how, a, d, index, other)
    return move is not None and move(a, index, other)


def mover(how: str, a: Array, d: int, index: Array, other: Array) -> Callable[..., bool] | None:
    """A function of (a, index, other) like these: other[.., i, ..] = a[.., index[.., i, ..], ..] for how
    "read"; else `other` goes there, as how says. An index that is a vector of several holds for all lines.

    how: "write", or "sum", "prod", "amax" or "amin" with what is there.  It says whether it was done: not where
    a position is outside (others may be written already).  None for dtypes and layouts that NumPy is left to.
    """
    sizes, given, of = a.shape, other.shape, a.dtype
    kind = _NUMBERS.get(of.str[1:]) if how in _COMBINE else _MOVED.get((how, of.itemsize))
    if (kind is None or not sizes or len(given) != len(sizes) or index.dtype != np.int64 or not a.size
            or given != sizes and (given[:d] != sizes[:d] or given[d + 1:] != sizes[d + 1:])
            or of is not other.dtype or index.shape not in (given, given[d:d + 1])
            or not (index.flags.c_contiguous and a.flags.c_contiguous and other.flags.c_contiguous)):
        return None
    found, how_far = _kernel(how, kind), (d, index.ndim < len(sizes))
    return lambda a, index, other: found.fn(a, index, other, how_far)


@lru_cache(maxsize=None)
def _kernel(how: str, kind: str) -> Shared:
    return Shared("along", f"{how} {kind}", lambda module, name: write(module, name, how, kind), _jobs, 64)


def _jobs(loop: int, a: Ints, _: Ints, other: Ints, how: tuple[int, bool]) -> tuple[team.Call, bool]:
    d, vector = how
    outer, size, n = prod(a[:d]), a[d], other[d]
    inner = prod(a[d + 1:])
    steps = (outer, 1, n, size, 1, 0) if inner == 1 else (outer, n, inner, size * inner, inner, 1)
    each = [0, *((0, 1) if inner == 1 else (1, 0))] if vector else [steps[1] * steps[2], steps[2], 1]
    table = np.array([*steps, size, *each], np.int64)
    return team.Call((loop, np.zeros((1, 3), np.int64), range(3), 3, table)), False


def write(module: Module, name: str, how: str, kind: str) -> None:
    """The IR; it refuses by whether a position was outside. args: a, index, other. steps: how many outer, n and
    m; of a: line, step and unit; size; of the index: outer, n and m. In elements."""
    f = Function(module, HEADER.format(name))
    a, index, other = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    outer, n, m, line_of, step, unit, size, *each = (f.load("i64", "%steps", SLOT * k) for k in range(10))
    outside = f.var(0)
    with f.loop(outer) as o, f.loop(n) as i, f.loop(m) as k:
        place = f.i64("add", f.i64("mul", f.i64("add", f.i64("mul", o, n), i), m), k)
        at, *rest = [f.i64("mul", c, e) for c, e in zip((o, i, k), each, strict=True)]
        j = f.load("i64", slot(f, index, f.i64("add", f.i64("add", at, rest[0]), rest[1])))
        line = f.i64("add", f.i64("mul", o, line_of), f.i64("mul", k, unit))
        at = f.i64("add", line, f.i64("mul", j, step))
        both = [f.at(p, f.i64("mul", q, BITS[kind] // 8)) for p, q in ((a, at), (other, place))]
        inside = f.i64("icmp ult", j, size)
        with f.when(inside):
            source, to = both if how == "read" else both[::-1]
            moved, old = (f.lanes(kind, f"load {f.type(kind)}, ptr {p}, align 1") for p in (source, to))
            moved = _COMBINE[how](f, old, moved) if how in _COMBINE else moved
            f.emit(f"store {moved!r}, ptr {to}, align 1")
        outside.set(f.i64("or", outside.get(), f.op(f"zext i1 {f.op(f'xor i1 {inside}, true')} to i64")))
    f.emit(f"ret i32 {f.op(f'trunc i64 {outside.get()} to i32')}")
    f.finish()


def _extreme(name: str) -> Callable[[Function, Lane, Lane], Lane]:
    # LLVM's maximum of floats is nan where one is, as NumPy's.
    return lambda f, a, b: f.intrinsic(f"llvm.{name}imum" if is_float(a.kind) else f"llvm.s{name}", a, b)


_COMBINE: dict[str, Callable[[Function, Lane, Lane], Lane]] = {
    "sum": lambda _, a, b: a + b, "prod": lambda _, a, b: a * b,
    "amax": _extreme("max"), "amin": _extreme("min")}
