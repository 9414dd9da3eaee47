"""What a kernel's thread asks of its machine: the targets nvptx and simulated differ in these methods alone.

A kernel is a function of pointers and 64-bit numbers that every thread of a grid of blocks runs. Everything
between its loads and stores (scalar bodies, conversions, reductions' steps) is the CPU's own code generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.emit.target import Unsupported

# Threads that run in step and can exchange values.
WARP = 32


class Thread(Function):
    """A kernel being written, as one thread runs it: `pointers` first, then `numbers`; `width` lanes."""

    def __init__(
        self, module: Module, name: str, pointers: Sequence[str], numbers: Sequence[str], width: int = 1
    ) -> None:
        self.pointers, self.barriers = pointers, 0
        super().__init__(module, self.head(name, pointers, numbers), width)

    def head(self, name: str, pointers: Sequence[str], numbers: Sequence[str]) -> str:
        """The line that defines the function."""
        raise NotImplementedError

    def begin(self) -> None:
        """What comes first in the function."""

    def special(self, register: str) -> str:
        """One of "tid", "ntid", "ctaid", "nctaid": the thread in its block, threads of a block, the block,
        blocks, as an i64.
        """
        raise NotImplementedError

    def barrier(self) -> None:
        """Wait until all threads of the block are here."""
        raise NotImplementedError

    def shared(self, kind: str, count: int) -> str:
        """A pointer to memory of the block."""
        raise NotImplementedError

    def shuffle(self, kind: str, value: str, distance: int) -> str:
        """The value of the thread of this warp whose number differs in the bits of `distance`."""
        raise NotImplementedError

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
        name = "@llvm.nvvm.barrier.cta.sync.aligned.all"
        self.module.declare(name, f"declare void {name}(i32) convergent")
        self.emit(f"call void {name}(i32 0)")

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
        self.module.declare("@swapcontext", "declare i32 @swapcontext(ptr, ptr)")
        own, turn = (self.load("ptr", "%thread", SLOTS[name]) for name in ("own", "turn"))
        self.emit(f"call i32 @swapcontext(ptr {own}, ptr {turn})")

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


TARGETS: dict[str, Any] = {"nvptx": Nvptx, "simulated": Simulated}
