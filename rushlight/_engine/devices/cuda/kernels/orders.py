"""The text of kernels about orders: steps of a merge sort, sums of what shares a position, searches, running
extremes.
"""

from __future__ import annotations

from functools import lru_cache

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.kernels.reducing import wins
from rushlight._engine.devices.cuda.kernels.targets import TARGETS, Thread
from rushlight._engine.devices.cuda.kernels.writing import decomposed, offset_of, strided
from rushlight._engine.kernels.emit.atom_code import LLVM
from rushlight._engine.kernels.emit.llvm_ir import Module, Variable
from rushlight._engine.kernels.emit.scalar_code import item_size, load, storage_kind, store
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.loops.row_plan import combine


def _kernel(pointers: int, numbers: list[str], target: str) -> tuple[Module, Thread, str, str]:
    """(module, function, a thread's first piece of work, the step to its next)."""
    module = Module(fma=True)
    f: Thread = TARGETS[target](module, "kernel", [f"p{k}" for k in range(pointers)], numbers)
    f.begin()
    first, step = f.place()
    f.mark_early()
    return module, f, first, step


def _finished(module: Module, f: Thread) -> tuple[str, int]:
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers


def _least(f: Thread, a: str, b: str) -> str:
    return f.op(f"select i1 {f.i64('icmp slt', a, b)}, i64 {a}, i64 {b}")


def _halved(f: Thread, low: Variable, high: Variable, behind: object) -> None:
    """Search [low, high) for the first place of which `behind(place)` is not set; `low` is it then."""
    with f.endless() as done:
        a, b = low.get(), high.get()
        f.leave(f.i64("icmp sge", a, b), done)
        middle = f.i64("lshr", f.i64("add", a, b), 1)
        passed = behind(middle)  # type: ignore[operator]
        low.set(f.op(f"select i1 {passed}, i64 {f.i64('add', middle, 1)}, i64 {a}"))
        high.set(f.op(f"select i1 {passed}, i64 {b}, i64 {middle}"))


@lru_cache(maxsize=256)
def merged(of: str, descending: bool, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) of a step of a stable merge sort: pairs of runs become runs.

    A thread finds the new place of an element: its own in its run, and how many of the other run come before
    it. nan is the greatest. Pointers: the keys (lines of n, without gaps), the order so far, the new order
    (int64, positions within a line). Numbers: `all`, `n`, `width` of the runs.
    """
    kind, size = storage_kind(of), item_size(of)
    module, f, first, step = _kernel(3, ["all", "n", "width"], target)
    with strided(f, first, step, "%all") as i:
        line = f.i64("udiv", i, "%n")
        begin = f.i64("mul", line, "%n")
        place = f.i64("sub", i, begin)
        keys, order = f.at("%p0", f.i64("mul", begin, size)), f.at("%p1", f.i64("mul", begin, 8))
        pair = f.i64("mul", f.i64("udiv", place, f.i64("mul", "%width", 2)), f.i64("mul", "%width", 2))
        middle = _least(f, f.i64("add", pair, "%width"), "%n")
        end = _least(f, f.i64("add", middle, "%width"), "%n")
        left = f.i64("icmp slt", place, middle)
        mine = f.load("i64", order, f.i64("mul", place, 8))
        own = f.load(kind, keys, f.i64("mul", mine, size))
        low = f.var(f.op(f"select i1 {left}, i64 {middle}, i64 {pair}"))
        high = f.var(f.op(f"select i1 {left}, i64 {end}, i64 {middle}"))

        def behind(at: str) -> str:
            other = f.load(kind, keys, f.i64("mul", f.load("i64", order, f.i64("mul", at, 8)), size))
            greater, less = wins(f, "max", of, other, own), wins(f, "max", of, own, other)
            before, after = (greater, less) if descending else (less, greater)
            # Of equal ones those of the left run come first.
            return f.op(f"select i1 {left}, i1 {before}, i1 {f.op(f'xor i1 {after}, true')}")

        _halved(f, low, high, behind)
        found = low.get()
        # left: place + (found - middle); right: found + (place - middle)
        there = f.i64("sub", f.i64("add", place, found), middle)
        f.store("i64", mine, f.at("%p2", f.i64("mul", f.i64("add", begin, there), 8)))
    return _finished(module, f)


@lru_cache(maxsize=256)
def gathered_writes(how: str, of: str, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) of writes of rows at positions that were put in order.

    A thread has a column of the rows that share a position, and combines them in their order: so without
    atomics. how: "set" (the last one), "add", "mul", "max" or "min". Pointers: the positions in order
    (int64), where each was (int64), rows, the target's rows. Numbers: `all` (positions times width), `count`
    of positions, `width`.
    """
    kind, size = storage_kind(of), item_size(of)
    work = dt.opmath(dt.BY_NAME[of]).name
    if work not in LLVM:
        raise Unsupported(f"computing in {work}")
    module, f, first, step = _kernel(4, ["all", "count", "width"], target)
    with strided(f, first, step, "%all") as i:
        j = f.i64("udiv", i, "%width")
        column = f.i64("sub", i, f.i64("mul", j, "%width"))
        position = f.load("i64", "%p0", f.i64("mul", j, 8))
        before = f.i64("sub", j, f.op(f"zext i1 {f.i64('icmp sgt', j, 0)} to i64"))
        same = f.i64("icmp eq", position, f.load("i64", "%p0", f.i64("mul", before, 8)))
        begins = f.op(f"or i1 {f.i64('icmp eq', j, 0)}, {f.op(f'xor i1 {same}, true')}")
        with f.when(begins):
            to = f.at("%p3", f.i64("mul", f.i64("add", f.i64("mul", position, "%width"), column), size))
            held = f.load(kind, to) if how == "set" else load(f, to, of)
            total = f.var(held if isinstance(held, str) else f.op(f"extractelement {held!r}, i64 0"),
                          kind if how == "set" else LLVM[work])  # fmt: skip
            k = f.var(j)
            with f.endless() as done:
                now = k.get()
                f.leave(f.i64("icmp sge", now, "%count"), done)
                f.leave(f.i64("icmp ne", f.load("i64", "%p0", f.i64("mul", now, 8)), position), done)
                row = f.load("i64", "%p1", f.i64("mul", now, 8))
                here = f.at("%p2", f.i64("mul", f.i64("add", f.i64("mul", row, "%width"), column), size))
                if how == "set":
                    total.set(f.load(kind, here))
                else:
                    found = combine(how, work, f.splat(LLVM[work], total.get()), load(f, here, of))
                    total.set(f.op(f"extractelement {found!r}, i64 0"))
                k.set(f.i64("add", now, 1))
            if how == "set":
                f.store(kind, total.get(), to)
            else:
                store(f, f.splat(LLVM[work], total.get()), to, of)
    return _finished(module, f)


@lru_cache(maxsize=64)
def searches(of: str, right: bool, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers): how many elements of a line in order are less than a value, or not
    greater if `right`; nan is the greatest.

    Pointers: lines of n edges, values, counts (int64), all without gaps. Numbers: `all` values, `n`, `each`:
    how many values a line has.
    """
    kind, size = storage_kind(of), item_size(of)
    module, f, first, step = _kernel(3, ["all", "n", "each"], target)
    with strided(f, first, step, "%all") as i:
        line = f.at("%p0", f.i64("mul", f.i64("mul", f.i64("udiv", i, "%each"), "%n"), size))
        value = f.load(kind, "%p1", f.i64("mul", i, size))
        low, high = f.var("0"), f.var("%n")

        def behind(at: str) -> str:
            edge = f.load(kind, line, f.i64("mul", at, size))
            if right:
                return f.op(f"xor i1 {wins(f, 'max', of, edge, value)}, true")
            return wins(f, "max", of, value, edge)

        _halved(f, low, high, behind)
        f.store("i64", low.get(), "%p2", f.i64("mul", i, 8))
    return _finished(module, f)


@lru_cache(maxsize=64)
def extremes(how: str, of: str, rank: int, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) of running extremes along a dim and where each lies last; the first
    nan stays. A thread has a line.

    Pointers: the array, values, places (int64). Numbers: `lines`, `n`, the strides along the dim in all
    three, sizes of the lines' dims, their strides in all three (bytes).
    """
    kind = storage_kind(of)
    numbers = ["lines", "n", "s0", "s1", "s2", *[f"d{i}" for i in range(rank)]]
    numbers += [f"s{k}_{i}" for k in range(3) for i in range(rank)]
    module, f, first, step = _kernel(3, numbers, target)
    with strided(f, first, step, "%lines") as i:
        places = decomposed(f, i, [f"%d{k}" for k in range(rank)])
        bases = [
            f.at(f"%p{k}", offset_of(f, places, [f"%s{k}_{axis}" for axis in range(rank)])) for k in range(3)
        ]
        best, where = f.var(f.load(kind, bases[0]), kind), f.var("0")
        with strided(f, "0", "1", "%n") as j:
            given = f.load(kind, f.at(bases[0], f.i64("mul", j, "%s0")))
            now = best.get()
            worse = wins(f, how, of, now, given)
            with f.when(f.op(f"xor i1 {worse}, true")):
                best.set(given)
                where.set(j)
            f.store(kind, best.get(), f.at(bases[1], f.i64("mul", j, "%s1")))
            f.store("i64", where.get(), f.at(bases[2], f.i64("mul", j, "%s2")))
    return _finished(module, f)
