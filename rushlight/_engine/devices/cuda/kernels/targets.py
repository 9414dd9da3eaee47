"""What a kernel's thread asks of its machine: the targets nvptx and simulated differ in these methods alone.

A kernel is a function of pointers and 64-bit numbers that every thread of a grid of blocks runs. Everything
between its loads and stores (scalar bodies, conversions, reductions' steps) is the CPU's own code generation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.emit.target import Unsupported

# Bytes that a thread shows to the others of its warp, in the simulator.
EXCHANGED = 32
# Threads that run in step and can exchange values.
WARP = 32


class Thread(Function, ABC):
    """A kernel being written, as one thread runs it: `pointers` first, then `numbers`; `width` lanes."""

    def __init__(
        self, module: Module, name: str, pointers: Sequence[str], numbers: Sequence[str], width: int = 1
    ) -> None:
        self.pointers, self.barriers = pointers, 0
        super().__init__(module, self.head(name, pointers, numbers), width)

    @abstractmethod
    def head(self, name: str, pointers: Sequence[str], numbers: Sequence[str]) -> str:
        """The line that defines the function."""

    def begin(self) -> None:
        """What comes first in the function."""

    @abstractmethod
    def special(self, register: str) -> str:
        """One of "tid", "ntid", "ctaid", "nctaid": the thread in its block, threads of a block, the block,
        blocks, as an i64.
        """

    @abstractmethod
    def barrier(self) -> None:
        """Wait until all threads of the block are here."""

    @abstractmethod
    def shared(self, kind: str, count: int) -> str:
        """A pointer to memory of the block."""

    @abstractmethod
    def shuffle(self, kind: str, value: str, distance: int) -> str:
        """The value of the thread of this warp whose number differs in the bits of `distance`."""

    @abstractmethod
    def mma(self, dtype: str, left: Sequence[str], right: Sequence[str], totals: Sequence[str]) -> list[str]:
        """A warp's product of 16x16 by 16x8 matrices of float16 or bfloat16, added to floats.

        With g = lane / 4 and t = lane % 4 a thread holds, as words of two neighbours: of the left operand
        rows g and g + 8 at columns 2t, then these rows at columns 2t + 8; of the right one column g at rows
        2t, and at 2t + 8; of the totals row g at columns 2t and 2t + 1, then row g + 8 there.
        """

    def place(self) -> tuple[str, str]:
        """The thread's number in the grid, and how many there are."""
        first = self.i64("mul", self.special("ctaid"), self.special("ntid"))
        threads = self.i64("mul", self.special("nctaid"), self.special("ntid"))
        return self.i64("add", first, self.special("tid")), threads


class Nvptx(Thread):
    """A kernel for NVIDIA's machines, by LLVM's NVPTX target."""

    def head(self, name: str, pointers: Sequence[str], numbers: Sequence[str]) -> str:
        params = [f"ptr addrspace(1) %g_{p}" for p in pointers] + [f"i64 %{n}" for n in numbers]
        return f"define ptx_kernel void @{name}({', '.join(params)})"

    def begin(self) -> None:
        for p in self.pointers:
            self.emit(f"%{p} = addrspacecast ptr addrspace(1) %g_{p} to ptr")

    def load(self, kind: str, pointer: str, offset: str | int = 0) -> str:
        """Read a scalar at a byte offset; elements are aligned, and less would be read byte by byte."""
        size = 8 if kind == "ptr" else max(BITS[kind] // 8, 1)
        return self.op(f"load {kind}, ptr {self.at(pointer, offset)}, align {size}")

    def store(self, kind: str, value: str | int, pointer: str, offset: str | int = 0) -> None:
        """Write a scalar at a byte offset."""
        size = 8 if kind == "ptr" else max(BITS[kind] // 8, 1)
        self.emit(f"store {kind} {value}, ptr {self.at(pointer, offset)}, align {size}")

    def special(self, register: str) -> str:
        full = f"@llvm.nvvm.read.ptx.sreg.{register}.x"
        self.module.declare(full, f"declare i32 {full}()")
        return self.op(f"zext i32 {self.op(f'call i32 {full}()')} to i64")

    def barrier(self) -> None:
        self.barriers += 1
        # By its older name, which every LLVM takes: newer ones rename it as they read it.
        name = "@llvm.nvvm.barrier0"
        self.module.declare(name, f"declare void {name}() convergent")
        self.emit(f"call void {name}()")

    def shared(self, kind: str, count: int) -> str:
        name = f"@shared_{kind}"
        self.module.declare(name, f"{name} = internal addrspace(3) global [{count} x {kind}] undef, align 16")
        return self.op(f"addrspacecast ptr addrspace(3) {name} to ptr")

    def _exchange(self, word: str, distance: int) -> str:
        name = "@llvm.nvvm.shfl.sync.bfly.i32"
        self.module.declare(name, f"declare i32 {name}(i32, i32, i32, i32) convergent")
        return self.op(f"call i32 {name}(i32 -1, i32 {word}, i32 {distance}, i32 31)")

    def shuffle(self, kind: str, value: str, distance: int) -> str:
        bits = BITS[kind]
        if bits > 64:
            raise Unsupported(f"an exchange of {kind}")
        whole = "i64" if bits == 64 else "i32"
        if kind in ("float", "double"):
            word = self.op(f"bitcast {kind} {value} to {whole}")
        elif kind == "half":
            word = self.op(f"zext i16 {self.op(f'bitcast half {value} to i16')} to i32")
        else:
            word = value if kind == whole else self.op(f"zext {kind} {value} to i32")
        if bits == 64:
            low = self._exchange(self.op(f"trunc i64 {word} to i32"), distance)
            high = self._exchange(self.op(f"trunc i64 {self.i64('lshr', word, 32)} to i32"), distance)
            low, high = (self.op(f"zext i32 {x} to i64") for x in (low, high))
            word = self.i64("or", low, self.i64("shl", high, 32))
        else:
            word = self._exchange(word, distance)
        if kind in ("float", "double"):
            return self.op(f"bitcast {whole} {word} to {kind}")
        if kind == "half":
            return self.op(f"bitcast i16 {self.op(f'trunc i32 {word} to i16')} to half")
        return word if kind == whole else self.op(f"trunc i32 {word} to {kind}")

    def mma(self, dtype: str, left: Sequence[str], right: Sequence[str], totals: Sequence[str]) -> list[str]:
        kind, name = "i32", "@llvm.nvvm.mma.m16n8k16.row.col.bf16"
        words = [*left, *right]
        if dtype == "float16":
            kind, name = "<2 x half>", "@llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
            words = [self.op(f"bitcast i32 {w} to <2 x half>") for w in words]
        result = "{float, float, float, float}"
        kinds = ", ".join([kind] * 6 + ["float"] * 4)
        self.module.declare(name, f"declare {result} {name}({kinds}) convergent")
        given = ", ".join([*[f"{kind} {w}" for w in words], *[f"float {t}" for t in totals]])
        made = self.op(f"call {result} {name}({given})")
        return [self.op(f"extractvalue {result} {made}, {i}") for i in range(4)]


# What the simulator tells a thread, in slots of eight bytes behind `%thread`.
SLOTS = {
    name: 8 * i for i, name in enumerate(("tid", "ctaid", "ntid", "nctaid", "shared", "lanes", "own", "turn"))
}


class Simulated(Thread):
    """The same kernel for the host, whose scheduler runs the threads of a block one after the other."""

    def head(self, name: str, pointers: Sequence[str], numbers: Sequence[str]) -> str:
        params = [f"ptr %{p}" for p in pointers] + [f"i64 %{n}" for n in numbers] + ["ptr %thread"]
        return f"define void @{name}({', '.join(params)})"

    def special(self, register: str) -> str:
        return self.load("i64", "%thread", SLOTS[register])

    def barrier(self) -> None:
        """Back to the scheduler, which comes again when all threads of the block are here."""
        self.barriers += 1
        own, turn = (self.load("ptr", "%thread", SLOTS[name]) for name in ("own", "turn"))
        self.emit(f"call void @switch(ptr {own}, ptr {turn})")

    def shared(self, kind: str, count: int) -> str:
        return self.load("ptr", "%thread", SLOTS["shared"])

    def shuffle(self, kind: str, value: str, distance: int) -> str:
        lanes, me = self.load("ptr", "%thread", SLOTS["lanes"]), self.special("tid")
        stored = "i8" if kind == "i1" else kind
        given = self.op(f"zext i1 {value} to i8") if kind == "i1" else value
        self.store(stored, given, lanes, self.i64("mul", me, 8))
        self.barrier()
        found = self.load(stored, lanes, self.i64("mul", self.i64("xor", me, distance), 8))
        self.barrier()
        return self.op(f"trunc i8 {found} to i1") if kind == "i1" else found

    def mma(self, dtype: str, left: Sequence[str], right: Sequence[str], totals: Sequence[str]) -> list[str]:
        name = f"@mma_{dtype}"
        self.module.declare(name, _MMA.format(name=name, number=_HALVES[dtype]))
        lanes, me = self.load("ptr", "%thread", SLOTS["lanes"]), self.special("tid")
        own = self.i64("mul", me, EXCHANGED)
        for k, word in enumerate([*left, *right]):
            self.store("i32", word, lanes, self.i64("add", own, 4 * k))
        self.barrier()
        warp = self.at(lanes, self.i64("mul", self.i64("and", me, -WARP), EXCHANGED))
        found = []
        for k, total in enumerate(totals):
            given = f"ptr {warp}, i64 {self.i64('and', me, WARP - 1)}, i64 {k}, float {total}"
            found.append(self.op(f"call float {name}({given})"))
        self.barrier()
        return found


# A number of a product that the threads of a warp hold: the thread's number `which` of four.
_MMA = """define internal float {name}(ptr %warp, i64 %lane, i64 %which, float %start) {{
entry:
  %g = lshr i64 %lane, 2
  %t = and i64 %lane, 3
  %below = lshr i64 %which, 1
  %odd = and i64 %which, 1
  %t2 = shl i64 %t, 1
  %column = add i64 %t2, %odd
  %below4 = shl i64 %below, 2
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %loop]
  %sum = phi float [%start, %entry], [%more, %loop]
  %high = lshr i64 %k, 3
  %inner = and i64 %k, 7
  %holder = lshr i64 %inner, 1
  %place = and i64 %k, 1
  %byte = shl i64 %place, 1
  %g4 = shl i64 %g, 2
  %la = add i64 %g4, %holder
  %la32 = shl i64 %la, 5
  %high8 = shl i64 %high, 3
  %a1 = add i64 %la32, %high8
  %a2 = add i64 %a1, %below4
  %a3 = add i64 %a2, %byte
  %pa = getelementptr i8, ptr %warp, i64 %a3
  %c4 = shl i64 %column, 2
  %lb = add i64 %c4, %holder
  %lb32 = shl i64 %lb, 5
  %high4 = shl i64 %high, 2
  %b1 = add i64 %lb32, %high4
  %b2 = add i64 %b1, 16
  %b3 = add i64 %b2, %byte
  %pb = getelementptr i8, ptr %warp, i64 %b3
  %ra = load i16, ptr %pa, align 2
  %rb = load i16, ptr %pb, align 2
{number}
  %product = fmul float %fa, %fb
  %more = fadd float %sum, %product
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, 16
  br i1 %done, label %end, label %loop
end:
  ret float %more
}}"""
_HALVES = {
    "bfloat16": "\n".join(
        f"  %w{x} = zext i16 %r{x} to i32\n  %s{x} = shl i32 %w{x}, 16\n  %f{x} = bitcast i32 %s{x} to float"
        for x in "ab"
    ),
    "float16": "\n".join(
        f"  %h{x} = bitcast i16 %r{x} to half\n  %f{x} = fpext half %h{x} to float" for x in "ab"
    ),
}

TARGETS: dict[str, Any] = {"nvptx": Nvptx, "simulated": Simulated}
