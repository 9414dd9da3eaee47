"""The text of writes at positions along a dim: target[.., index[.., j, ..], ..] = or += source[.., j, ..].

A thread walks a line, so that positions that come again are combined in their order, without atomics. Where
lines are few, the target's positions are shared out: each of a line's threads writes to its own span of them.
"""

from __future__ import annotations

import math
from functools import lru_cache

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.kernels.reducing import wins
from rushlight._engine.devices.cuda.kernels.targets import TARGETS, Thread
from rushlight._engine.devices.cuda.kernels.writing import decomposed, note_outside, offset_of, strided
from rushlight._engine.kernels.emit import vector_math as vm
from rushlight._engine.kernels.emit.atom_code import LLVM, convert
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module, literal
from rushlight._engine.kernels.emit.scalar_code import load, storage_kind, store
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.loops.row_plan import combine

NUMBERS = ("lines", "n", "parts", "span", "low", "high", "si", "ss", "st")


@lru_cache(maxsize=256)
def writes(how: str, of: str, index: str, rank: int, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers).

    how: "set", "add", "mul", "max" or "min".  of, index: dtypes.  rank: dims of the lines.
    Pointers: index, source, target. Numbers: NUMBERS (positions lie in [low, high), negative ones count from
    the end; the strides along the dim in bytes), sizes of the lines' dims, their strides in index, source and
    target, the address where a wrong position is told.
    """
    kind = storage_kind(of)
    work = dt.opmath(dt.BY_NAME[of]).name
    if work not in LLVM:
        raise Unsupported(f"computing in {work}")
    names = [*NUMBERS, *[f"d{i}" for i in range(rank)]]
    names += [f"s{k}_{i}" for k in range(3) for i in range(rank)] + ["failed"]
    module = Module(fma=True)
    f: Thread = TARGETS[target](module, "kernel", ["p0", "p1", "p2"], names)
    f.begin()
    first, step = f.place()
    f.mark_early()
    with strided(f, first, step, f.i64("mul", "%lines", "%parts")) as i:
        line = f.i64("udiv", i, "%parts")
        part = f.i64("sub", i, f.i64("mul", line, "%parts"))
        places = decomposed(f, line, [f"%d{k}" for k in range(rank)])
        bases = [
            f.at(f"%p{k}", offset_of(f, places, [f"%s{k}_{axis}" for axis in range(rank)])) for k in range(3)
        ]
        begin = f.i64("mul", part, "%span")
        end = f.i64("add", begin, "%span")
        with strided(f, "0", "1", "%n") as j:
            given = convert(load(f, f.at(bases[0], f.i64("mul", j, "%si")), index), index, "int64")
            wrong = note_outside(f, given, f.splat("i64", "%low"), f.splat("i64", "%high"))
            position = f.op(f"extractelement {given!r}, i64 0")
            negative = f.i64("icmp slt", position, 0)
            position = f.op(f"select i1 {negative}, i64 {f.i64('add', position, '%high')}, i64 {position}")
            inside = f.op(f"and i1 {f.i64('icmp sge', position, begin)}, {f.i64('icmp slt', position, end)}")
            with f.when(f.op(f"and i1 {inside}, {f.op(f'xor i1 {wrong}, true')}")):
                there = f.at(bases[2], f.i64("mul", position, "%st"))
                here = f.at(bases[1], f.i64("mul", j, "%ss"))
                if how == "set":
                    f.store(kind, f.load(kind, here), there)
                else:
                    store(f, combine(how, work, load(f, there, of), load(f, here, of)), there, of)
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers


def _begun(count: str, rank: int, target: str) -> tuple[Module, Thread, str, str]:
    """(module, function, a thread's first piece of work, the step to its next) of a kernel from an array to a
    result, both walked along a dim: its numbers are `count`, n, and the geometry of the lines.
    """
    names = [count, "n", "s0", "s1", *[f"d{i}" for i in range(rank)]]
    names += [f"s{k}_{i}" for k in range(2) for i in range(rank)]
    module = Module(fma=True)
    f: Thread = TARGETS[target](module, "kernel", ["p0", "p1"], names)
    f.begin()
    first, step = f.place()
    f.mark_early()
    return module, f, first, step


def _bases(f: Thread, line: str, rank: int) -> list[str]:
    """Where a line begins in the array, and in the result."""
    places = decomposed(f, line, [f"%d{k}" for k in range(rank)])
    return [f.at(f"%p{k}", offset_of(f, places, [f"%s{k}_{axis}" for axis in range(rank)])) for k in range(2)]


def _logaddexp(a: Lane, b: Lane) -> Lane:
    large, small = (a >= b).where(a, b), (a >= b).where(b, a)
    found = large + vm.log1p(vm.exp(small - large))
    endless = large.abs().equal(math.inf)
    return (a.is_nan() | b.is_nan()).where(a + b, endless.where(large, found))


@lru_cache(maxsize=256)
def scan(how: str, of: str, result: str, rank: int, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) of running totals along a dim, a thread a line.

    how: "add", "mul" or "logaddexp".  Pointers: the array, the result. Numbers: `lines`, `n`, the strides
    along the dim in both, sizes of the lines' dims, their strides in both (bytes).
    """
    work = dt.opmath(dt.BY_NAME[result]).name
    if work not in LLVM or dt.opmath(dt.BY_NAME[of]).name not in LLVM:
        raise Unsupported(f"computing in {work}")
    module, f, first, step = _begun("lines", rank, target)
    kind = LLVM[work]
    with strided(f, first, step, "%lines") as i:
        bases = _bases(f, i, rank)
        floating = kind in ("float", "double")
        begin = {"add": 0.0, "mul": 1.0, "logaddexp": -math.inf}[how]
        total = f.var(literal(kind, begin if floating else int(begin)), kind)
        with strided(f, "0", "1", "%n") as j:
            given = load(f, f.at(bases[0], f.i64("mul", j, "%s0")), of)
            value = convert(given, dt.opmath(dt.BY_NAME[of]).name, work)
            before = f.splat(kind, total.get())
            found = _logaddexp(before, value) if how == "logaddexp" else combine(how, work, before, value)
            total.set(f.op(f"extractelement {found!r}, i64 0"))
            store(f, found, f.at(bases[1], f.i64("mul", j, "%s1")), result)
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers


@lru_cache(maxsize=256)
def ranks(of: str, descending: bool, rank: int, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers): how many elements of an element's line come before it; nan is the
    greatest, equal ones keep their order.

    A thread has an element, and reads its whole line. Pointers: the array, the ranks (int64). Numbers: `all`,
    `n`, the strides along the dim in both, sizes of the lines' dims, their strides in both (bytes).
    """
    kind = storage_kind(of)
    module, f, first, step = _begun("all", rank, target)
    with strided(f, first, step, "%all") as i:
        line = f.i64("udiv", i, "%n")
        me = f.i64("sub", i, f.i64("mul", line, "%n"))
        bases = _bases(f, line, rank)
        mine = f.load(kind, f.at(bases[0], f.i64("mul", me, "%s0")))
        count = f.var("0")
        with strided(f, "0", "1", "%n") as j:
            other = f.load(kind, f.at(bases[0], f.i64("mul", j, "%s0")))
            greater, less = wins(f, "max", of, other, mine), wins(f, "max", of, mine, other)
            before, behind = (greater, less) if descending else (less, greater)
            earlier = f.op(f"and i1 {f.i64('icmp slt', j, me)}, {f.op(f'xor i1 {behind}, true')}")
            counts = f.op(f"or i1 {before}, {earlier}")
            count.set(f.i64("add", count.get(), f.op(f"zext i1 {counts} to i64")))
        f.store("i64", count.get(), f.at(bases[1], f.i64("mul", me, "%s1")))
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers


@lru_cache(maxsize=8)
def orders_of_pivots(inverse: bool, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers): the permutations of rows that swaps make, one after the other.

    Pointers: pivots (int32, counted from 1), the orders (int64), whose lines lie without gaps. Numbers:
    lines, swaps of a line, rows. inverse: where each row goes, in the place of the row that comes to each
    place.
    """
    module = Module(fma=True)
    f: Thread = TARGETS[target](module, "kernel", ["p0", "p1"], ["lines", "swaps", "rows"])
    f.begin()
    first, step = f.place()
    f.mark_early()
    with strided(f, first, step, "%lines") as line:
        pivots = f.at("%p0", f.i64("mul", line, f.i64("mul", "%swaps", 4)))
        order = f.at("%p1", f.i64("mul", line, f.i64("mul", "%rows", 8)))
        with strided(f, "0", "1", "%rows") as k:
            f.store("i64", k, order, f.i64("mul", k, 8))
        with strided(f, "0", "1", "%swaps") as k:
            # The inverse of swaps one after the other is the same swaps from the last to the first.
            at = f.i64("sub", f.i64("sub", "%swaps", 1), k) if inverse else k
            other = f.op(f"sext i32 {f.load('i32', pivots, f.i64('mul', at, 4))} to i64")
            one, two = (f.i64("mul", x, 8) for x in (at, f.i64("sub", other, 1)))
            here, there = f.load("i64", order, one), f.load("i64", order, two)
            f.store("i64", there, order, one)
            f.store("i64", here, order, two)
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers
