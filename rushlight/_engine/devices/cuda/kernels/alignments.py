"""The text of the kernels of CTC's loss: sums over all alignments of labels with times (Graves et al., 2006).

A block has a sequence. Its states are the labels with blanks around; each thread has every so many of them,
and all go from time to time together. Logarithms are added up as the CPU's kernel does it.

Pointers of "forward": logs (times, sequences, classes), labels of the states, times and the number of the
last state of each sequence, the log of the sum over ways to each state at each time, losses; of "backward"
also the log of the sum over ways from each state to the end, and the share of alignments that go through it,
which is written where there are any. Numbers: NUMBERS, the strides of logs in bytes; all else is contiguous.
"""

from __future__ import annotations

from functools import lru_cache

from rushlight._engine.devices.cuda.kernels.targets import TARGETS, Thread
from rushlight._engine.devices.cuda.kernels.writing import applied, strided
from rushlight._engine.kernels.emit.atom_code import LLVM
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import item_size, load, store
from rushlight._engine.ops.expressions import m, symbol

NUMBERS = ("steps", "sequences", "states", "time", "sequence", "class")
FORWARD = ("logs", "labels", "times", "lasts", "ways", "losses")
BACKWARD = ("logs", "labels", "times", "lasts", "ways", "losses", "back", "shares")
_LOW = float("-inf")


class _Kernel:
    """A kernel being written: the block's sequence, its states, sums of logarithms."""

    def __init__(self, of: str, backward: bool, target: str) -> None:
        self.of, self.kind, self.item = of, LLVM[of], item_size(of)
        x = symbol("x")
        self._exp, self._log = (Meaning((r,), (("x", of),), (of,), of) for r in (m.exp(x), m.log(x)))
        self.module = Module(fma=True)
        self.f: Thread = TARGETS[target](self.module, "kernel", BACKWARD if backward else FORWARD, NUMBERS)
        self.f.begin()
        self.me, self.threads = self.f.special("tid"), self.f.special("ntid")
        self.first, self.blocks = self.f.special("ctaid"), self.f.special("nctaid")
        self.f.mark_early()

    def exp(self, x: Lane) -> Lane:
        """e to a power."""
        return applied(self.f, self._exp, x)

    def sum(self, *x: Lane) -> Lane:
        """The log of the sum of what numbers are the logs of."""
        top = x[0]
        for other in x[1:]:
            top = (other > top).where(other, top)
        base = top.equal(_LOW).where(0.0, top)
        total = self.exp(x[0] - base)
        for other in x[1:]:
            total = total + self.exp(other - base)
        return applied(self.f, self._log, total) + base

    def chosen(self, condition: str, a: Lane, b: Lane | float) -> Lane:
        """`a` where an i1 is set, else `b`."""
        f = self.f
        other = b if isinstance(b, Lane) else f.const(self.kind, b)
        one, two = (f.op(f"extractelement {v!r}, i64 0") for v in (a, other))
        return f.splat(self.kind, f.op(f"select i1 {condition}, {self.kind} {one}, {self.kind} {two}"))

    def integer(self, array: str, place: str) -> str:
        """An int64 of an array."""
        return self.f.load("i64", f"%{array}", self.f.i64("mul", place, 8))

    def within(self, place: str, low: str, high: str) -> str:
        """A number, brought into [low, high]."""
        f = self.f
        place = f.op(f"select i1 {f.i64('icmp slt', place, low)}, i64 {low}, i64 {place}")
        return f.op(f"select i1 {f.i64('icmp slt', high, place)}, i64 {high}, i64 {place}")

    def label(self, sequence: str, state: str) -> str:
        """The label of a state."""
        return self.integer("labels", self.f.i64("add", self.f.i64("mul", sequence, "%states"), state))

    def emitted(self, time: str, sequence: str, label: str) -> Lane:
        """The log of a label's probability."""
        f = self.f
        place = f.i64("add", f.i64("mul", time, "%time"), f.i64("mul", sequence, "%sequence"))
        return load(f, f.at("%logs", f.i64("add", place, f.i64("mul", label, "%class"))), self.of)

    def at(self, array: str, time: str, sequence: str, state: str) -> str:
        """Where a state's number lies in an array over times, sequences and states."""
        f = self.f
        row = f.i64("add", f.i64("mul", time, "%sequences"), sequence)
        place = f.i64("add", f.i64("mul", row, "%states"), state)
        return f.at(f"%{array}", f.i64("mul", place, self.item))

    def neighbour(
        self, array: str, time: str, sequence: str, state: str, there: str, label: str, apart: int
    ) -> Lane:
        """The number of another state, if an i1 says that it is there; if it is two states `apart`, only over
        a blank to another label.
        """
        f = self.f
        if apart == 2:
            other = self.label(sequence, state)
            there = f.op(f"and i1 {there}, {f.i64('icmp ne', label, other)}")
        return self.chosen(there, load(f, self.at(array, time, sequence, state), self.of), _LOW)

    def text(self) -> tuple[str, int]:
        """(the module, its barriers)."""
        self.f.emit("ret void")
        self.f.finish()
        return self.module.text(), self.f.barriers


@lru_cache(maxsize=8)
def forward(of: str, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers): the log of the sum over ways to each state, and losses."""
    k = _Kernel(of, False, target)
    f = k.f
    last_state = f.i64("sub", "%states", 1)
    with strided(f, k.first, k.blocks, "%sequences") as b:
        with strided(f, "0", "1", "%steps") as t:
            before = k.within(f.i64("sub", t, 1), "0", t)
            with strided(f, k.me, k.threads, "%states") as s:
                label = k.label(b, s)
                now = k.emitted(t, b, label)
                led = []
                for apart in range(3):
                    place = f.i64("sub", s, apart)
                    there = f.i64("icmp sge", place, 0)
                    led.append(
                        k.neighbour("ways", before, b, k.within(place, "0", last_state), there, label, apart)
                    )
                begun = k.chosen(f.i64("icmp slt", s, 2), now, _LOW)
                found = k.chosen(f.i64("icmp eq", t, 0), begun, k.sum(*led) + now)
                store(f, found, k.at("ways", t, b, s), of)
            f.barrier()
        with f.when(f.i64("icmp eq", k.me, 0)):
            steps, last = k.integer("times", b), k.integer("lasts", b)
            end = k.within(f.i64("sub", steps, 1), "0", steps)
            none = f.i64("icmp eq", last, 0)
            final = load(f, k.at("ways", end, b, last), of)
            other = load(f, k.at("ways", end, b, k.within(f.i64("sub", last, 1), "0", last)), of)
            loss = k.chosen(none, -final, -k.sum(final, other))
            zero, never = f.const(k.kind, 0.0), f.const(k.kind, float("inf"))
            loss = k.chosen(f.i64("icmp eq", steps, 0), k.chosen(none, zero, never), loss)
            store(f, loss, f.at("%losses", f.i64("mul", b, k.item)), of)
    return k.text()


@lru_cache(maxsize=8)
def backward(of: str, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers): the log of the sum over ways from each state to the end, and the
    share of alignments that go through it.
    """
    k = _Kernel(of, True, target)
    f = k.f
    with strided(f, k.first, k.blocks, "%sequences") as b:
        steps, last = k.integer("times", b), k.integer("lasts", b)
        loss = load(f, f.at("%losses", f.i64("mul", b, k.item)), of)
        with strided(f, "0", "1", "%steps") as back:
            place = f.i64("sub", f.i64("sub", steps, 1), back)
            valid, first = f.i64("icmp sge", place, 0), f.i64("icmp eq", back, 0)
            t = k.within(place, "0", f.i64("sub", "%steps", 1))
            behind = k.within(f.i64("add", t, 1), "0", f.i64("sub", "%steps", 1))
            with strided(f, k.me, k.threads, f.i64("add", last, 1)) as s, f.when(valid):
                label = k.label(b, s)
                now = k.emitted(t, b, label)
                led = []
                for apart in range(3):
                    there = f.i64("add", s, apart)
                    inside = f.i64("icmp sle", there, last)
                    led.append(
                        k.neighbour("back", behind, b, k.within(there, "0", last), inside, label, apart)
                    )
                ends = k.chosen(f.i64("icmp sge", s, f.i64("sub", last, 1)), now, _LOW)
                found = k.chosen(first, ends, k.sum(*led) + now)
                store(f, found, k.at("back", t, b, s), of)
                way = load(f, k.at("ways", t, b, s), of)
                store(f, k.exp(way + found + loss - now), k.at("shares", t, b, s), of)
            f.barrier()
    return k.text()
