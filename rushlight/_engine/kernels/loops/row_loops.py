"""`rl_rows`: NumPy's inner loop of row kernels, part of the shared runtime.

A row kernel's descriptor, in slots of eight bytes:
  0 K, its vector operands   1 how many are read   2 how many arguments are scalars   3 rows (see row_body.py)
then K item sizes, K argument numbers.
Rows that are not contiguous are packed into scratch memory one by one.
"""

from __future__ import annotations

from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import call_pack, close, memory, quiet, row_of, slot

HEAD = 4


class _Rows:
    """The parts of rl_rows share what the descriptor and the call say."""

    def __init__(self, f: Function) -> None:
        self.function = f
        self.count, self.reads, self.scalars = (f.load("i64", "%desc", SLOT * k) for k in range(3))
        self.rows = f.load("ptr", "%desc", SLOT * 3)
        self.sizes = f.at("%desc", SLOT * HEAD)
        self.numbers = slot(f, self.sizes, self.count)
        self.arguments = f.i64("add", self.count, self.scalars)
        self.length = f.load("i64", "%dims", SLOT)

    def operand(self, k: str) -> tuple[str, str, str]:
        """Item size, byte step along the row, and the argument's number."""
        f = self.function
        step = f.load("i64", slot(f, "%steps", f.i64("add", self.arguments, k)))
        return f.load("i64", slot(f, self.sizes, k)), step, f.load("i64", slot(f, self.numbers, k))

    def run(self, rows: str) -> None:
        """All rows by the kernel's own function."""
        f = self.function
        lying = f.var("true", "i1")
        with f.loop(self.count) as k:
            size, step, _ = self.operand(k)
            lying.set(f.op(f"and i1 {lying.get()}, {f.i64('icmp eq', step, size)}"))
        with f.when(lying.get()):
            f.emit(f"call void {self.rows}(ptr %args, i64 {rows}, i64 {self.length}, ptr %steps)")
        with f.when(f.op(f"xor i1 {lying.get()}, true")):
            self._packed(rows)

    def _packed(self, rows: str) -> None:
        f = self.function
        args = f.op(f"alloca i64, i64 {self.arguments}, align 16")
        row_bytes = f.i64("mul", self.length, 8)
        with memory(f, f.i64("mul", row_bytes, self.count)) as scratch, f.loop(rows) as row:
            with f.loop(self.arguments) as number:
                f.store("ptr", row_of(f, number, row), slot(f, args, number))
            for reading in (True, False):
                with f.loop(self.count) as k:
                    size, step, number = self.operand(k)
                    own = f.at(scratch, f.i64("mul", k, row_bytes))
                    ours = f.i64("icmp ult" if reading else "icmp uge", k, self.reads)
                    with f.when(ours):
                        if reading:
                            call_pack(f, own, size, row_of(f, number, row), step, self.length, size)
                        else:
                            call_pack(f, row_of(f, number, row), step, own, size, self.length, size)
                    if reading:
                        f.store("ptr", own, slot(f, args, number))
                if reading:
                    f.emit(f"call void {self.rows}(ptr {args}, i64 1, i64 {self.length}, ptr %steps)")


def write(module: Module) -> None:
    """Put rl_rows into the runtime."""
    f = Function(module, "define void @rl_rows(ptr %desc, ptr %args, ptr %dims, ptr %steps)")
    with quiet(f):
        _Rows(f).run(f.load("i64", "%dims"))
    close(f, "void")
