"""The text of reductions over some dims of an array of any strides.

Either a block's threads take the elements of one result (where the innermost dim is reduced, so that
neighbours read neighbours), or each thread takes one result (where it is not). The elements of a result may
be shared out over `parts`, whose results a second reduction combines. The tree depends on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.kernels.targets import TARGETS, WARP, Thread
from rushlight._engine.devices.cuda.kernels.writing import (
    ThreadBody,
    across,
    decomposed,
    offset_of,
    one,
    strided,
)
from rushlight._engine.kernels.emit.atom_code import LLVM, convert
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module, literal
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import item_size, load, result, storage_kind, store, widen
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.loops.row_plan import combine, first_lane, identity, wide


@lru_cache(maxsize=1024)
def reduction(
    how: str, mapped: Meaning, finish: Meaning | None, kept: int, reduced: int, block: bool, target: str
) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) of a reduction of what `mapped` makes of elements.

    how: one of REDUCTIONS.  mapped: of the input "input", to the dtype that is reduced in.  finish: of the
    inputs "combined" and "count", to the result; None: the combined value.  block: whether a block has one
    result.  Pointers: the array, the results, which lie without gaps. Numbers: `outs`, `n` (elements of a
    result), `parts`, `chunk` (elements of a part), the bits of the count, sizes of the kept dims, their
    strides, sizes of the reduced dims, their strides (in bytes). Result o of part k is number o * parts + k.
    """
    return _Reduction(how, mapped, finish, kept, reduced, block, target).text()


class _Reduction:
    """A reduction being written."""

    # Of a kernel that works in blocks: this thread, the threads of a block, and memory that they share.
    me: str
    threads: str
    shared: str

    def __init__(
        self,
        how: str,
        mapped: Meaning,
        finish: Meaning | None,
        kept: int,
        reduced: int,
        block: bool,
        target: str,
    ) -> None:
        self.how, self.mapped, self.finish, self.block = how, mapped, finish, block
        ((_, self.source),) = mapped.inputs
        # Sums of float32 are kept in double precision: memory is what a reduction waits for.
        self.dtype = "bool" if how in ("any", "all") else wide(how, mapped.types()[mapped.outputs[0]])
        for d in (self.source, self.dtype, *mapped.out_dtypes):
            storage_kind(d)
        if self.dtype not in LLVM:
            raise Unsupported(f"computing in {self.dtype}")
        self.kept, self.reduced = [f"%k{i}" for i in range(kept)], [f"%r{i}" for i in range(reduced)]
        numbers = ["outs", "n", "parts", "chunk", "count"]
        numbers += [f"k{i}" for i in range(kept)] + [f"ks{i}" for i in range(kept)]
        numbers += [f"r{i}" for i in range(reduced)] + [f"rs{i}" for i in range(reduced)]
        self.module = Module(fma=True)
        self.function: Thread = TARGETS[target](self.module, "kernel", ["p0", "p1"], numbers)

    def text(self) -> tuple[str, int]:
        """The module."""
        f = self.function
        f.begin()
        if self.block:
            self.me, self.threads, self.shared = f.special("tid"), f.special("ntid"), f.shared("i64", WARP)
            first, step = f.special("ctaid"), f.special("nctaid")
        else:
            first, step = f.place()
        f.mark_early()
        every = f.i64("mul", "%outs", "%parts")
        with strided(f, first, step, every) as i:
            self._one_result(i)
        f.emit("ret void")
        f.finish()
        return self.module.text(), f.barriers

    def _one_result(self, i: str) -> None:
        f, kind = self.function, LLVM[self.dtype]
        out = f.i64("udiv", i, "%parts")
        part = f.i64("sub", i, f.i64("mul", out, "%parts"))
        base = f.at("%p0", offset_of(f, decomposed(f, out, self.kept), [f"%ks{k[2:]}" for k in self.kept]))
        start = f.i64("mul", part, "%chunk")
        end = self._least(f.i64("add", start, "%chunk"), "%n")
        total = f.var(literal(kind, identity(self.how, self.dtype)), kind)
        begin = f.i64("add", start, self.me) if self.block else start
        with strided(f, begin, self.threads if self.block else "1", end) as j:
            place = f.at(
                base, offset_of(f, decomposed(f, j, self.reduced), [f"%rs{r[2:]}" for r in self.reduced])
            )
            total.set(one(f, combine(self.how, self.dtype, f.splat(kind, total.get()), self._element(place))))
        found = total.get()
        if self.block:
            found = across(f, self.how, self.dtype, found, self.me, self.threads, self.shared)
            with f.when(f.i64("icmp eq", self.me, 0)):
                self._store(i, f.splat(kind, found))
        else:
            self._store(i, f.splat(kind, found))

    def _least(self, a: str, b: str) -> str:
        return self.function.op(f"select i1 {self.function.i64('icmp slt', a, b)}, i64 {a}, i64 {b}")

    def _element(self, place: str) -> Lane:
        f, types = self.function, self.mapped.types()
        body = ThreadBody(f, self.mapped, types)
        for node in types:
            if node.op == "in":
                body.give(node, load(f, place, self.source))
        body.compute(self.mapped.outputs)
        root = self.mapped.outputs[0]
        return convert(body.values[root], types[root], self.dtype)

    def _store(self, i: str, value: Lane) -> None:
        f, meaning = self.function, self.finish
        to = self.mapped.out_dtypes[0] if meaning is None else meaning.out_dtypes[0]
        place = f.at("%p1", f.i64("mul", i, item_size(to)))
        if meaning is None:
            kind, register = first_lane(f, convert(value, self.dtype, _computed(to)), to)
            f.store(kind, register, place)
            return
        types = meaning.types()
        body = ThreadBody(f, meaning, types)
        for node in types:
            if node.op == "in" and node.arg == "combined":
                body.give(node, convert(value, self.dtype, types[node]))
            elif node.op == "in":
                kind = LLVM[types[node]]
                body.give(node, f.splat(kind, f.op(f"sitofp i64 %count to {kind}")))
        body.compute(meaning.outputs)
        store(f, result(body, meaning.outputs[0], to), place, to)


def _computed(d: str) -> str:
    return dt.opmath(dt.BY_NAME[d]).name


# --- the first of the greatest ---------------------------------------------------------------------


@lru_cache(maxsize=256)
def first_of(how: str, of: str, kept: int, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers): the "max" or "min" of a row and where it lies first; nan wins.

    A thread has a part of a row. Pointers: the array, values, positions (int64), both without gaps. Numbers:
    `outs`, `n`, the stride of the reduced dim, `parts` of a row, `chunk` elements of a part, sizes of the
    kept dims, their strides (bytes). Result o of part k is number o * parts + k.
    """
    sizes, strides = [f"%k{i}" for i in range(kept)], [f"%ks{i}" for i in range(kept)]
    numbers = ["outs", "n", "step", "parts", "chunk", *[s[1:] for s in sizes], *[s[1:] for s in strides]]
    module, storage = Module(fma=True), storage_kind(of)
    f: Thread = TARGETS[target](module, "kernel", ["p0", "p1", "p2"], numbers)
    f.begin()
    first, step = f.place()
    f.mark_early()
    size = item_size(of)
    with strided(f, first, step, f.i64("mul", "%outs", "%parts")) as i:
        out = f.i64("udiv", i, "%parts")
        begin = f.i64("mul", f.i64("sub", i, f.i64("mul", out, "%parts")), "%chunk")
        end = f.i64("add", begin, "%chunk")
        end = f.op(f"select i1 {f.i64('icmp slt', end, '%n')}, i64 {end}, i64 %n")
        base = f.at("%p0", offset_of(f, decomposed(f, out, sizes), strides))
        best = f.var(f.load(storage, f.at(base, f.i64("mul", begin, "%step"))), storage)
        place = f.var(begin)
        with strided(f, f.i64("add", begin, 1), "1", end) as j:
            given = f.load(storage, f.at(base, f.i64("mul", j, "%step")))
            with f.when(wins(f, how, of, given, best.get())):
                best.set(given)
                place.set(j)
        f.store(storage, best.get(), f.at("%p1", f.i64("mul", i, size)))
        f.store("i64", place.get(), f.at("%p2", f.i64("mul", i, 8)))
    f.emit("ret void")
    f.finish()
    return module.text(), f.barriers


def wins(f: Thread, how: str, of: str, new: str, old: str) -> str:
    """Whether a stored value is before another, not equal to it."""
    kind = storage_kind(of)
    a, b = (widen(f.splat(kind, x), of) for x in (new, old))
    if a.kind in ("float", "double"):
        better = (a > b) if how == "max" else (a < b)
        wins: Lane = (better | a.is_nan()) & ~b.is_nan()
    elif of in ("bool",) or dt_unsigned(of):
        order = "ugt" if how == "max" else "ult"
        x, y = (f"{v.kind} {one(f, v)}" for v in (a, b))
        return f.op(f"icmp {order} {x}, {y.split(' ')[1]}")
    else:
        wins = (a > b) if how == "max" else (a < b)
    return one(f, wins)


def dt_unsigned(of: str) -> bool:
    """Whether a dtype's numbers have no sign."""
    return of.startswith("uint")


__all__: Sequence[str] = ["first_of", "reduction"]
