"""`rl_rows`: NumPy's inner loop of row kernels, part of the shared runtime.

A row kernel's descriptor, in slots of eight bytes:
  0 K, its vector operands   1 how many are read   2 lanes   3 S, scalars read   4 O, scalars
  written   5 levels   6 slots of the state   7 begin   8 finish   9 final, or null   10 direct
then K item sizes, K argument numbers, then S and then O triples (size, argument number, slot of the
state), then a body and an end per level. See rowbody.py for these functions and for the state.
Rows that are not contiguous are packed into scratch memory once, and read from there by all levels. Rows of
at most BLOCK elements are left to the kernel's own function for whole rows, see rowdirect.py.
"""
from __future__ import annotations

from rushlight.compiler.ir import Function, Module
from rushlight.compiler.rowbody import OPERANDS, POSITION, SLOT
from rushlight.compiler.runtime import call_pack, quiet, slot

# A body is called on at most this many elements at a time (see rowbody.py on sums).
BLOCK = 2048
HEAD = 11


class _Rows:
    """The parts of rl_rows share what the descriptor and the call say."""

    def __init__(self, f: Function) -> None:
        self.f = f
        f.module.declare("malloc", "declare ptr @malloc(i64)")
        f.module.declare("free", "declare void @free(ptr)")
        f.module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
        (self.count, self.reads, self.lanes, self.scalars, self.results, self.levels,
         self.slots) = (f.load("i64", "%desc", SLOT * k) for k in range(7))
        self.begin, self.finish, self.final, self.whole_rows = (
            f.load("ptr", "%desc", SLOT * k) for k in (7, 8, 9, 10))
        self.sizes = f.at("%desc", SLOT * HEAD)
        self.numbers = slot(f, self.sizes, self.count)
        self.inward = slot(f, self.numbers, self.count)
        self.outward = slot(f, self.inward, f.i64("mul", self.scalars, 3))
        self.stages = slot(f, self.outward, f.i64("mul", self.results, 3))
        self.n = f.load("i64", "%dims", SLOT)
        self.vectors = f.i64("udiv", self.n, self.lanes)
        self.rest = f.i64("urem", self.n, self.lanes)
        self._memory()

    def _memory(self) -> None:
        f = self.f
        frame = f.i64("add", f.i64("shl", self.count, 1), 1)
        self.state = f.op(f"alloca i64, i64 {self.slots}, align 64")
        self.frame = f.op(f"alloca i64, i64 {frame}, align 16")
        self.tail = f.op(f"alloca i64, i64 {frame}, align 16")
        self.starts = f.op(f"alloca i64, i64 {self.count}, align 16")
        self.scratch = f.op(f"alloca i64, i64 {self.count}, align 16")
        self.room = f.i64("mul", self.lanes, 8)
        total = f.i64("mul", self.count, self.room)
        self.tails = f.op(f"alloca i8, i64 {total}, align 64")
        f.store("i64", self.n, self.state)
        f.store("ptr", self.state, self.frame)
        f.store("ptr", self.state, self.tail)

    def operand(self, k: str) -> tuple[str, str, str]:
        """Item size, byte step along the row, and the argument's number."""
        f = self.f
        arguments = f.i64("add", self.count, f.i64("add", self.scalars, self.results))
        step = f.load("i64", slot(f, "%steps", f.i64("add", arguments, k)))
        return f.load("i64", slot(f, self.sizes, k)), step, f.load("i64", slot(f, self.numbers, k))

    def direct(self, k: str, step: str, size: str) -> tuple[str, str]:
        """Whether an operand's rows are contiguous, and whether they repeat one element."""
        f = self.f
        repeated = f.op(f"and i1 {f.i64('icmp eq', step, 0)}, {f.i64('icmp ult', k, self.reads)}")
        return f.i64("icmp eq", step, size), repeated

    def allocate(self) -> None:
        """Scratch memory for operands whose rows must be packed."""
        f = self.f
        with f.loop(self.count) as k:
            size, step, _ = self.operand(k)
            contiguous, repeated = self.direct(k, step, size)
            f.store("ptr", "null", slot(f, self.scratch, k))
            packed = f.op(f"xor i1 {f.op(f'or i1 {contiguous}, {repeated}')}, true")
            with f.when(packed):
                block = f.op(f"call ptr @malloc(i64 {f.i64('mul', self.n, size)})")
                f.store("ptr", block, slot(f, self.scratch, k))

    def release(self) -> None:
        """Give the scratch memory back."""
        f = self.f
        with f.loop(self.count) as k:
            f.emit(f"call void @free(ptr {f.load('ptr', slot(f, self.scratch, k))})")

    # --- short rows ---------------------------------------------------------------------------------

    def short(self, rows: str) -> None:
        """All rows by the kernel's own function, packed one by one where they are not contiguous."""
        f = self.f
        lying = f.var("true", "i1")
        with f.loop(self.count) as k:
            size, step, _ = self.operand(k)
            lying.set(f.op(f"and i1 {lying.get()}, {f.i64('icmp eq', step, size)}"))
        with f.when(lying.get()):
            f.emit(f"call void {self.whole_rows}(ptr %args, i64 {rows}, i64 {self.n}, ptr %steps)")
        with f.when(f.op(f"xor i1 {lying.get()}, true")):
            self._packed(rows)

    def _packed(self, rows: str) -> None:
        f = self.f
        arguments = f.i64("add", self.count, f.i64("add", self.scalars, self.results))
        args = f.op(f"alloca i64, i64 {arguments}, align 16")
        room = f.i64("mul", self.n, 8)
        scratch = f.op(f"call ptr @malloc(i64 {f.i64('mul', room, self.count)})")
        with f.loop(rows) as row:
            with f.loop(arguments) as number:
                f.store("ptr", self.base(number, row), slot(f, args, number))
            for reading in (True, False):
                with f.loop(self.count) as k:
                    size, step, number = self.operand(k)
                    own = f.at(scratch, f.i64("mul", k, room))
                    ours = f.i64("icmp ult" if reading else "icmp uge", k, self.reads)
                    with f.when(ours):
                        if reading:
                            call_pack(f, own, size, self.base(number, row), step, self.n, size)
                        else:
                            call_pack(f, self.base(number, row), step, own, size, self.n, size)
                    if reading:
                        f.store("ptr", own, slot(f, args, number))
                if reading:
                    f.emit(f"call void {self.whole_rows}(ptr {args}, i64 1, i64 {self.n}, ptr %steps)")
        f.emit(f"call void @free(ptr {scratch})")

    def base(self, number: str, row: str) -> str:
        """Where an argument's row is."""
        f = self.f
        offset = f.i64("mul", row, f.load("i64", slot(f, "%steps", number)))
        return f.at(f.load("ptr", slot(f, "%args", number)), offset)

    def enter(self, row: str) -> None:
        """Point at a row: operands, partial last vectors, scalars."""
        f = self.f
        with f.loop(self.count) as k:
            self._enter_operand(k, row)
        with f.loop(self.scalars) as s:
            triple = slot(f, self.inward, f.i64("mul", s, 3))
            size, number, place = (f.load("i64", triple, SLOT * j) for j in range(3))
            call_pack(f, slot(f, self.state, place), "8", self.base(number, row), "0", "1", size)
        f.emit(f"call void {self.begin}(ptr {self.state})")

    def _enter_operand(self, k: str, row: str) -> None:
        f = self.f
        size, step, number = self.operand(k)
        base = self.base(number, row)
        known = f.i64("shl", k, 1)
        f.store("ptr", base, slot(f, self.state, known, OPERANDS))
        f.store("i64", step, slot(f, self.state, known, OPERANDS + 1))
        contiguous, repeated = self.direct(k, step, size)
        reading = f.i64("icmp ult", k, self.reads)
        buffer = f.at(self.tails, f.i64("mul", k, self.room))
        advance = f.i64("mul", size, self.lanes)
        start, increment = f.var(base, "ptr"), f.var(advance)
        with f.when(repeated):
            call_pack(f, buffer, size, base, "0", self.lanes, size)
            start.set(buffer)
            increment.set(0)
        scratch = f.load("ptr", slot(f, self.scratch, k))
        with f.when(f.op(f"icmp ne ptr {scratch}, null")):
            start.set(scratch)
            with f.when(reading):
                call_pack(f, scratch, size, base, step, self.n, size)
        f.store("ptr", start.get(), slot(f, self.starts, k))
        for frame in (self.frame, self.tail):
            parts = slot(f, f.at(frame, SLOT), self.count)
            f.store("i64", increment.get(), slot(f, parts, k))
        partial = f.op(f"and i1 {reading}, {f.op(f'xor i1 {repeated}, true')}")
        with f.when(f.op(f"and i1 {partial}, {f.i64('icmp ne', self.rest, 0)}")):
            whole = f.at(start.get(), f.i64("mul", self.vectors, advance))
            call_pack(f, buffer, size, whole, size, self.rest, size)

    def pass_over(self, body: str) -> None:
        """Run a body over the whole row."""
        f = self.f
        with f.loop(self.count) as k:
            f.store("ptr", f.load("ptr", slot(f, self.starts, k)), slot(f, f.at(self.frame, SLOT), k))
            f.store("ptr", f.at(self.tails, f.i64("mul", k, self.room)), slot(f, f.at(self.tail, SLOT), k))
        f.store("i64", 0, self.state, SLOT * POSITION)
        most = f.i64("udiv", BLOCK, self.lanes)
        calls = f.i64("udiv", f.i64("add", self.vectors, f.i64("sub", most, 1)), most)
        with f.loop(calls) as c:
            left = f.i64("sub", self.vectors, f.i64("mul", c, most))
            now = f.op(f"call i64 @llvm.smin.i64(i64 {left}, i64 {most})")
            f.emit(f"call void {body}(ptr {self.frame}, i64 {now}, i64 {self.lanes})")
        with f.when(f.i64("icmp ne", self.rest, 0)):
            f.emit(f"call void {body}(ptr {self.tail}, i64 1, i64 {self.rest})")

    def reduce(self) -> None:
        """All levels of reductions, in order."""
        f = self.f
        with f.loop(self.levels) as level:
            pair = slot(f, self.stages, f.i64("shl", level, 1))
            self.pass_over(f.load("ptr", pair))
            f.emit(f"call void {f.load('ptr', pair, SLOT)}(ptr {self.state})")

    def leave(self, row: str) -> None:
        """The results of a row go to where they belong."""
        f = self.f
        with f.when(f.op(f"icmp ne ptr {self.final}, null")):
            self.pass_over(self.final)
            with f.loop(self.count, self.reads) as k:
                self._leave_operand(k, row)
        f.emit(f"call void {self.finish}(ptr {self.state})")
        with f.loop(self.results) as r:
            triple = slot(f, self.outward, f.i64("mul", r, 3))
            size, number, place = (f.load("i64", triple, SLOT * j) for j in range(3))
            call_pack(f, self.base(number, row), "0", slot(f, self.state, place), "8", "1", size)

    def _leave_operand(self, k: str, row: str) -> None:
        f = self.f
        size, step, number = self.operand(k)
        start = f.load("ptr", slot(f, self.starts, k))
        buffer = f.at(self.tails, f.i64("mul", k, self.room))
        whole = f.i64("mul", self.vectors, f.i64("mul", size, self.lanes))
        call_pack(f, f.at(start, whole), size, buffer, size, self.rest, size)
        scratch = f.load("ptr", slot(f, self.scratch, k))
        with f.when(f.op(f"icmp ne ptr {scratch}, null")):
            call_pack(f, self.base(number, row), step, scratch, size, self.n, size)


def write(module: Module) -> None:
    """Put rl_rows into the runtime."""
    f = Function(module, "define void @rl_rows(ptr %desc, ptr %args, ptr %dims, ptr %steps)")
    rows, count = _Rows(f), f.load("i64", "%dims")
    with quiet(f):
        short = f.i64("icmp ule", rows.n, BLOCK)
        with f.when(short):
            rows.short(count)
        with f.when(f.op(f"xor i1 {short}, true")):
            rows.allocate()
            with f.loop(count) as row:
                rows.enter(row)
                rows.reduce()
                rows.leave(row)
            rows.release()
    f.emit("ret void")
    f.finish()
