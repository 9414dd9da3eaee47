"""The loops around bodies: one small module of machine code that all kernels share.

A kernel's descriptor, an array of eight-byte slots, says what it runs:
  0 body   1 K, its vector operands   2 how many of them are read   3 lanes   4.. K item sizes
`rl_strip` runs a body over n elements at any byte steps: straight through memory where all steps
are those of contiguous (or repeated) elements, else, and for the last partial vector, by way of
buffers in the stack. Results therefore depend neither on layout nor on position.
`rl_pointwise` is NumPy's elementwise inner loop on top of it, and takes whole planes; `rl_multi` runs a
body over each tensor of a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime.abi import ARRAY_FIELDS, SLOT

# Elements that pass through a buffer at a time; a multiple of every lane count.
BUFFER = 256
DESCRIPTOR_HEAD = 4


def write(module: Module) -> None:
    """Put these functions into the runtime's module."""
    for size in (1, 2, 4, 8):
        _copy(module, size)
    _pack(module)
    _few(module)
    _strip(module)
    _pointwise(module)
    _multi(module)


_CONTIGUOUS = 1


# Elements that a copy moves in one turn of its loop.
_UNROLLED = 8


def _copy(module: Module, size: int) -> None:
    f = Function(
        module,
        f"define internal void @copy{size}(ptr %to, i64 %to_step, ptr %from, "
        "i64 %from_step, i64 %n) noinline",
    )
    kind = f"i{8 * size}"
    begin = f.var(0)
    together = f.op(f"and i1 {f.i64('icmp eq', '%to_step', size)}, {f.i64('icmp eq', '%from_step', size)}")
    with f.when(together):
        module.declare(*MEMCPY)
        f.emit(f"call void {MEMCPY[0]}(ptr %to, ptr %from, i64 {f.i64('mul', '%n', size)}, i1 false)")
        begin.set("%n")
    behind = f.op(f"and i1 {f.i64('icmp eq', '%to_step', size)}, {f.i64('icmp eq', '%from_step', -size)}")
    with f.when(behind):
        begin.set(_reversed(f, kind, size))
    turns = f.i64("udiv", f.i64("sub", "%n", begin.get()), _UNROLLED)
    with f.counted(turns) as turn:
        first = f.i64("add", begin.get(), f.i64("mul", turn, _UNROLLED))
        to, source = (f.at(p, f.i64("mul", first, step)) for p, step in _ENDS)
        for k in range(_UNROLLED):
            f.store(kind, f.load(kind, source), to)
            if k < _UNROLLED - 1:
                to, source = f.at(to, "%to_step"), f.at(source, "%from_step")
    with f.loop("%n", f.i64("add", begin.get(), f.i64("mul", turns, _UNROLLED))) as i:
        value = f.load(kind, "%from", f.i64("mul", i, "%from_step"))
        f.store(kind, value, "%to", f.i64("mul", i, "%to_step"))
    close(f, "void")


def _reversed(f: Function, kind: str, size: int) -> str:
    """Copy elements that lie in reverse, vector by vector; gives how many."""
    wide = _REVERSED // size
    vector, last = f"<{wide} x {kind}>", (wide - 1) * size
    mask = ", ".join(f"i32 {k}" for k in reversed(range(wide)))
    blocks = f.i64("udiv", "%n", wide)
    with f.counted(blocks) as k:
        offset = f.i64("mul", k, wide * size)
        source = f.at(f.at("%from", f.i64("sub", 0, offset)), -last)
        line = f.op(f"load {vector}, ptr {source}, align 1")
        line = f.op(f"shufflevector {vector} {line}, {vector} poison, <{wide} x i32> <{mask}>")
        f.emit(f"store {vector} {line}, ptr {f.at('%to', offset)}, align 1")
    return f.i64("mul", blocks, wide)


# Bytes of a vector of them.
_REVERSED = 32
_ENDS = ("%to", "%to_step"), ("%from", "%from_step")
MEMCPY = "@llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def _pack(module: Module) -> None:
    """Copy n elements of 1, 2, 4 or 8 bytes at byte steps."""
    f = Function(
        module, "define void @rl_pack(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %n, i64 %size)"
    )
    for size in (1, 2, 4, 8):
        with f.when(f.i64("icmp eq", "%size", size)):
            f.emit(f"call void @copy{size}(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %n)")
    close(f, "void")


def close(f: Function, result: str = "i32 0") -> None:
    """End a function: what it gives, and no more code."""
    f.emit(f"ret {result}")
    f.finish()


def slot(f: Function, base: str, index: str, extra: int = 0) -> str:
    """The address of slot index + extra of an array of eight-byte slots."""
    return f.at(f.at(base, f.i64("shl", index, 3)), SLOT * extra)


class _Strip:
    """The parts of rl_strip share what the descriptor says."""

    def __init__(
        self, f: Function, frame: str = "%frame", bases: str = "%bases", line: int = BUFFER * 8
    ) -> None:
        """line: bytes of an operand's buffer."""
        self.function, self.bases, self.line = f, bases, line
        self.body = f.load("ptr", "%desc")
        self.count, self.reads, self.lanes = (f.load("i64", "%desc", SLOT * k) for k in (1, 2, 3))
        self.sizes = f.at("%desc", SLOT * DESCRIPTOR_HEAD)
        # Where a frame keeps its pointers and its increments.
        self.frame, self.pointers = frame, f.at(frame, SLOT)
        self.increments = slot(f, self.pointers, self.count)
        size = f.i64("mul", self.count, line)
        self.buffers = f.op(f"alloca i8, i64 {size}, align 64")

    def operand(self, k: str) -> tuple[str, str, str, str]:
        """Base, byte step, item size and buffer of operand k."""
        f = self.function
        return (
            f.load("ptr", slot(f, self.bases, k)),
            f.load("i64", slot(f, "%steps", k)),
            f.load("i64", slot(f, self.sizes, k)),
            f.at(self.buffers, f.i64("mul", k, self.line)),
        )

    def point(self, k: str, pointer: str, size: str) -> None:
        """Let the frame's operand k walk from `pointer`."""
        f = self.function
        f.store("ptr", pointer, slot(f, self.pointers, k))
        f.store("i64", f.i64("mul", size, self.lanes), slot(f, self.increments, k))

    def straight(self) -> str:
        """Point the frame at the operands themselves; whether a body can run on them so."""
        f = self.function
        good = f.var("true", "i1")
        with f.loop(self.count) as k:
            base, step, size, buffer = self.operand(k)
            self.point(k, base, size)
            repeated = f.op(f"and i1 {f.i64('icmp eq', step, 0)}, {f.i64('icmp ult', k, self.reads)}")
            with f.when(repeated):
                call_pack(f, buffer, size, base, "0", self.lanes, size)
                f.store("ptr", buffer, slot(f, self.pointers, k))
                f.store("i64", 0, slot(f, self.increments, k))
            fits = f.op(f"or i1 {repeated}, {f.i64('icmp eq', step, size)}")
            good.set(f.op(f"and i1 {good.get()}, {fits}"))
        return good.get()

    def call(self, vectors: str, valid: str) -> None:
        """Run the body on some vectors, if any."""
        f = self.function
        with f.when(f.i64("icmp ne", vectors, 0)):
            f.emit(f"call void {self.body}(ptr {self.frame}, i64 {vectors}, i64 {valid})")

    def buffered(self, begin: str) -> None:
        """The elements from `begin` on, by way of the buffers."""
        f = self.function
        rest = f.i64("sub", "%n", begin)
        chunks = f.i64("udiv", f.i64("add", rest, BUFFER - 1), BUFFER)
        with f.loop(chunks) as c:
            start = f.i64("add", begin, f.i64("mul", c, BUFFER))
            left = f.i64("sub", "%n", start)
            m = f.op(f"call i64 @llvm.smin.i64(i64 {left}, i64 {BUFFER})")
            self._exchange(start, m, inward=True)
            self.call(f.i64("udiv", m, self.lanes), self.lanes)
            rem = f.i64("urem", m, self.lanes)
            self.call(f.op(f"zext i1 {f.i64('icmp ne', rem, 0)} to i64"), rem)
            self._exchange(start, m, inward=False)

    def _exchange(self, start: str, m: str, inward: bool) -> None:
        f = self.function
        whole = f.i64("icmp eq", f.i64("urem", m, self.lanes), 0)
        if inward:
            with f.loop(self.reads) as k:
                base, step, size, buffer = self.operand(k)
                with f.when(f.i64("icmp ne", step, 0)):
                    there = f.at(base, f.i64("mul", start, step))
                    there_is = self._lies(step, size, whole)
                    self.point(k, f.op(f"select i1 {there_is}, ptr {there}, ptr {buffer}"), size)
                    with f.when(f.op(f"xor i1 {there_is}, true")):
                        call_pack(f, buffer, size, there, step, m, size)
        with f.loop(self.count, self.reads) as k:
            base, step, size, buffer = self.operand(k)
            there, there_is = f.at(base, f.i64("mul", start, step)), self._lies(step, size, whole)
            if inward:
                self.point(k, f.op(f"select i1 {there_is}, ptr {there}, ptr {buffer}"), size)
            else:
                with f.when(f.op(f"xor i1 {there_is}, true")):
                    call_pack(f, there, step, buffer, size, m, size)

    def _lies(self, step: str, size: str, whole: str) -> str:
        """An i1: whether a body can run on the memory itself."""
        return self.function.op(f"and i1 {whole}, {self.function.i64('icmp eq', step, size)}")


def call_pack(f: Function, to: str, to_step: str, source: str, step: str, n: str, size: str) -> None:
    """Copy n elements of `size` bytes at byte steps."""
    f.emit(f"call void @rl_pack(ptr {to}, i64 {to_step}, ptr {source}, i64 {step}, i64 {n}, i64 {size})")


def _strip(module: Module) -> None:
    module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
    f = Function(module, "define void @rl_strip(ptr %desc, ptr %frame, ptr %bases, ptr %steps, i64 %n)")
    with f.when(f.i64("icmp sgt", "%n", 0)):
        strip = _Strip(f)
        begin = f.var(0)
        with f.when(strip.straight()):
            vectors = f.i64("udiv", "%n", strip.lanes)
            strip.call(vectors, strip.lanes)
            begin.set(f.i64("mul", vectors, strip.lanes))
        strip.buffered(begin.get())
    close(f, "void")


def row_of(f: Function, number: str, row: str) -> str:
    """Where a row of an argument of NumPy's inner loop begins."""
    step = f.load("i64", slot(f, "%steps", number))
    return f.at(f.load("ptr", slot(f, "%args", number)), f.i64("mul", row, step))


@contextmanager
def memory(f: Function, size: str) -> Iterator[str]:
    """So many bytes of the C library's, freed at the end."""
    f.module.declare("malloc", "declare ptr @malloc(i64)")
    f.module.declare("free", "declare void @free(ptr)")
    block = f.op(f"call ptr @malloc(i64 {size})")
    yield block
    f.emit(f"call void @free(ptr {block})")


@contextmanager
def quiet(f: Function) -> Iterator[None]:
    """Leave the processor's floating-point exception flags as they were, or NumPy would warn."""
    if f.module.arm:
        f.module.declare("get", "declare i64 @llvm.aarch64.get.fpsr()")
        f.module.declare("set", "declare void @llvm.aarch64.set.fpsr(i64)")
        kept = f.op("call i64 @llvm.aarch64.get.fpsr()")
        yield
        f.emit(f"call void @llvm.aarch64.set.fpsr(i64 {kept})")
        return
    place = f.op("alloca i32, align 4")
    for name in ("st", "ld"):
        f.module.declare(name, f"declare void @llvm.x86.sse.{name}mxcsr(ptr)")
    f.emit(f"call void @llvm.x86.sse.stmxcsr(ptr {place})")
    yield
    f.emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {place})")


def _pointwise(module: Module) -> None:
    """NumPy's inner loop over n elements; or, where dims are (-rows, n), over rows of n, whose steps from row
    to row follow those along one: a plane by one call.
    """
    module.declare("smax", "declare i64 @llvm.smax.i64(i64, i64)")
    module.declare(*MEMCPY)
    f = Function(module, "define void @rl_pointwise(ptr %desc, ptr %args, ptr %dims, ptr %steps)")
    count = f.load("i64", "%desc", SLOT)
    slots = f.i64("add", f.i64("shl", count, 1), 1)
    frame = f.op(f"alloca i64, i64 {slots}, align 16")
    f.store("ptr", "null", frame)
    bases = f.op(f"alloca ptr, i64 {count}, align 16")
    with f.loop(count) as k:
        f.store("ptr", f.load("ptr", slot(f, "%args", k)), slot(f, bases, k))
    first = f.load("i64", "%dims")
    plane = f.i64("icmp slt", first, 0)
    rows, n = f.var(1), f.var(first)
    with f.when(plane):
        rows.set(f.i64("sub", 0, first))
        n.set(f.load("i64", "%dims", SLOT))
    with quiet(f):
        lines = _Lines(f, frame, bases, n.get())
        straight = f.op(f"and i1 {plane}, {lines.are_straight()}")
        done = f.var("false", "i1")
        with f.when(straight):
            short = lines.are_short()
            with f.when(short):
                lines.run_together(rows.get())
            with f.when(f.op(f"xor i1 {short}, true")):
                lines.run(rows.get())
            done.set("true")
        with f.loop(f.op(f"select i1 {done.get()}, i64 0, i64 {rows.get()}")):
            f.emit(f"call void @rl_strip(ptr %desc, ptr {frame}, ptr {bases}, ptr %steps, i64 {n.get()})")
            with f.when(plane):
                lines.go_on()
    close(f, "void")


class _Lines:
    """Rows of a plane, which all lie alike: what rl_strip finds out of each is asked once."""

    def __init__(self, f: Function, frame: str, bases: str, n: str) -> None:
        self.function, self.frame, self.bases, self.n = f, frame, bases, n
        self.strip = _Strip(f, frame, bases, _LINE)

    def are_straight(self) -> str:
        """An i1: whether all operands are read and written side by side, or repeat along rows."""
        f, strip = self.function, self.strip
        good = f.var("true", "i1")
        with f.loop(strip.count) as k:
            _, step, size, _ = strip.operand(k)
            repeated = f.op(f"and i1 {f.i64('icmp eq', step, 0)}, {f.i64('icmp ult', k, strip.reads)}")
            fits = f.op(f"or i1 {repeated}, {f.i64('icmp eq', step, size)}")
            good.set(f.op(f"and i1 {good.get()}, {fits}"))
        return good.get()

    def run(self, rows: str) -> None:
        """The body along each row, and once more for what is left of its last vector."""
        f, strip, lanes = self.function, self.strip, self.strip.lanes
        vectors, left = f.i64("udiv", self.n, lanes), f.i64("urem", self.n, lanes)
        ends = _Ends(self, rows, f.i64("mul", vectors, lanes), left)
        some = f.i64("icmp ne", left, 0)
        with f.loop(rows) as row:
            with f.loop(strip.count) as k:
                base, step, size, buffer = strip.operand(k)
                strip.point(k, base, size)
                with f.when(f.i64("icmp eq", step, 0)):
                    _repeat(f, buffer, base, size, f.i64("mul", size, lanes))
                    f.store("ptr", buffer, slot(f, strip.pointers, k))
                    f.store("i64", 0, slot(f, strip.increments, k))
            with f.when(some):
                ends.read(row)
            strip.call(vectors, lanes)
            with f.when(some):
                ends.write()
            self.go_on()

    def are_short(self) -> str:
        """An i1: whether rows are short and follow each other in memory, but for operands that have one
        element for each, or one row for all.
        """
        f, strip = self.function, self.strip
        good = f.var(f.i64("icmp ule", self.n, _SHORT), "i1")
        with f.loop(strip.count) as k:
            _, step, size, _ = strip.operand(k)
            apart = self.apart(k)
            read = f.i64("icmp ult", k, strip.reads)
            repeated = f.op(f"or i1 {f.i64('icmp eq', step, 0)}, {f.i64('icmp eq', apart, 0)}")
            follows = f.i64("icmp eq", apart, f.i64("mul", self.n, size))
            fits = f.op(f"or i1 {f.op(f'and i1 {read}, {repeated}')}, {follows}")
            good.set(f.op(f"and i1 {good.get()}, {fits}"))
        return good.get()

    def run_together(self, rows: str) -> None:
        """Some short rows at a time as one, for which what repeats is laid out as often."""
        f, strip = self.function, self.strip
        bases, steps = (f.op(f"alloca i64, i64 {strip.count}, align 16") for _ in range(2))
        line = _TOGETHER + _FILL
        buffers = f.op(f"alloca i8, i64 {f.i64('mul', strip.count, line)}, align 64")
        widest = f.var(1)
        with f.loop(strip.count) as k:
            size = f.load("i64", slot(f, strip.sizes, k))
            widest.set(f.op(f"call i64 @llvm.smax.i64(i64 {widest.get()}, i64 {size})"))
        most = self._least(f.i64("udiv", _TOGETHER, f.i64("mul", self.n, widest.get())), rows)
        with f.loop(strip.count) as k:
            self._lay(k, bases, steps, f.at(buffers, f.i64("mul", k, line)), most)
        with f.loop(f.i64("udiv", f.i64("add", rows, f.i64("sub", most, 1)), most)) as chunk:
            first = f.i64("mul", chunk, most)
            count = self._least(f.i64("sub", rows, first), most)
            with f.loop(strip.count) as k:
                base, step, size, _ = strip.operand(k)
                apart = self.apart(k)
                with f.when(f.i64("icmp ne", apart, 0)):
                    there = f.at(base, f.i64("mul", first, apart))
                    one = f.i64("icmp eq", step, 0)
                    with f.when(one):
                        to = f.load("ptr", slot(f, bases, k))
                        _spread(f, to, there, size, (count, apart, f.i64("mul", self.n, size)))
                    with f.when(f.op(f"xor i1 {one}, true")):
                        f.store("ptr", there, slot(f, bases, k))
            n = f.i64("mul", count, self.n)
            f.emit(f"call void @rl_strip(ptr %desc, ptr {self.frame}, ptr {bases}, ptr {steps}, i64 {n})")

    def _lay(self, k: str, bases: str, steps: str, buffer: str, rows: str) -> None:
        """Where an operand of such rows lies if it does not follow them: one row is laid out for them all."""
        f = self.function
        base, step, size, _ = self.strip.operand(k)
        still = f.i64("icmp eq", self.apart(k), 0)
        number = f.op(f"and i1 {still}, {f.i64('icmp eq', step, 0)}")
        f.store("i64", f.op(f"select i1 {number}, i64 0, i64 {size}"), slot(f, steps, k))
        f.store("ptr", f.op(f"select i1 {number}, ptr {base}, ptr {buffer}"), slot(f, bases, k))
        with f.when(f.op(f"and i1 {still}, {f.i64('icmp ne', step, 0)}")), f.counted(rows) as row:
            bytes_ = f.i64("mul", self.n, size)
            to = f.at(buffer, f.i64("mul", row, bytes_))
            f.emit(f"call void {MEMCPY[0]}(ptr {to}, ptr {base}, i64 {bytes_}, i1 false)")

    def _least(self, a: str, b: str) -> str:
        return self.function.op(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def apart(self, k: str) -> str:
        """Bytes from row to row of an operand."""
        f = self.function
        return f.load("i64", slot(f, "%steps", f.i64("add", self.strip.count, k)))

    def go_on(self) -> None:
        """To the next row."""
        f, count = self.function, self.strip.count
        with f.loop(count) as k:
            base = slot(f, self.bases, k)
            f.store("ptr", f.at(f.load("ptr", base), self.apart(k)), base)


class _Ends:
    """What is left of rows behind their whole vectors: one more vector each.

    It is read where it lies, what follows in memory with it, except in the last rows, behind which the
    operand may end, and where rows are no further apart than that: there by way of a buffer. What is written
    always goes by a buffer.
    """

    def __init__(self, lines: _Lines, rows: str, whole: str, left: str) -> None:
        """whole: elements of a row in whole vectors, left: those behind them."""
        f, self.lines, self.whole, self.left = lines.function, lines, whole, left
        self.function, strip = f, lines.strip
        slots = f.i64("add", f.i64("shl", strip.count, 1), 1)
        self.frame = f.op(f"alloca i64, i64 {slots}, align 16")
        self.pointers = f.at(self.frame, SLOT)
        self.buffers = f.op(f"alloca i8, i64 {f.i64('mul', strip.count, _LINE)}, align 64")
        self.in_place = f.op(f"alloca i64, i64 {strip.count}, align 16")
        f.store("ptr", "null", self.frame)
        increments = slot(f, self.pointers, strip.count)
        with f.loop(strip.count) as k:
            f.store("i64", 0, slot(f, increments, k))
            f.store("i64", self._in_place(k, rows), slot(f, self.in_place, k))

    def _in_place(self, k: str, rows: str) -> str:
        """Of how many rows the vector behind the others is within the operand."""
        f, strip = self.function, self.lines.strip
        size, apart = f.load("i64", slot(f, strip.sizes, k)), self.lines.apart(k)
        beyond = f.i64("mul", size, f.i64("sub", strip.lanes, self.left))
        forward = f.i64("icmp sgt", apart, 0)
        step = f.op(f"select i1 {forward}, i64 {apart}, i64 1")
        last = f.i64("udiv", f.i64("add", beyond, f.i64("sub", step, 1)), step)
        count = f.i64("sub", rows, last)
        good = f.op(f"and i1 {forward}, {f.i64('icmp sgt', count, 0)}")
        return f.op(f"select i1 {good}, i64 {count}, i64 0")

    def _parts(self, k: str) -> tuple[str, str, str]:
        """Where an operand's last elements of a row lie, its buffer, and their bytes."""
        f, (base, _, size, _) = self.function, self.lines.strip.operand(k)
        there = f.at(base, f.i64("mul", self.whole, size))
        return there, f.at(self.buffers, f.i64("mul", k, _LINE)), f.i64("mul", self.left, size)

    def read(self, row: str) -> None:
        """Point at the operands' last elements of a row."""
        f, strip = self.function, self.lines.strip
        with f.loop(strip.reads) as k:
            there, buffer, size = self._parts(k)
            at = f.var(f.load("ptr", slot(f, strip.pointers, k)), "ptr")  # of what repeats along a row
            with f.when(f.i64("icmp ne", f.load("i64", slot(f, "%steps", k)), 0)):
                at.set(there)
                with f.when(f.i64("icmp sge", row, f.load("i64", slot(f, self.in_place, k)))):
                    at.set(buffer)
                    again = f.i64("icmp ne", self.lines.apart(k), 0)
                    with f.when(f.op(f"or i1 {again}, {f.i64('icmp eq', row, 0)}")):
                        f.emit(f"call void @rl_few(ptr {buffer}, ptr {there}, i64 {size})")
            f.store("ptr", at.get(), slot(f, self.pointers, k))
        with f.loop(strip.count, strip.reads) as k:
            f.store("ptr", self._parts(k)[1], slot(f, self.pointers, k))

    def write(self) -> None:
        """Run the body on them."""
        f, strip = self.function, self.lines.strip
        f.emit(f"call void {strip.body}(ptr {self.frame}, i64 1, i64 {self.left})")
        with f.loop(strip.count, strip.reads) as k:
            there, buffer, size = self._parts(k)
            f.emit(f"call void @rl_few(ptr {there}, ptr {buffer}, i64 {size})")


def _few(module: Module) -> None:
    """Copy less than twice _PIECES[0] bytes, piece by piece."""
    f = Function(module, "define internal void @rl_few(ptr %to, ptr %from, i64 %bytes)")
    done = f.var(0)
    for piece in _PIECES:
        with f.when(f.i64("icmp ne", f.i64("and", "%bytes", piece), 0)):
            begin = done.get()
            kind = f"<{piece} x i8>"
            f.emit(f"store {kind} {f.load(kind, '%from', begin)}, ptr {f.at('%to', begin)}, align 1")
            done.set(f.i64("add", begin, piece))
    close(f, "void")


# Bytes of the longest line of an operand's lanes, and of the vectors that fill it.
_LINE, _FILL = 512, 64
# Elements of a row that is short, and bytes of those that are put together.
_SHORT, _TOGETHER = 128, 1 << 12
_PIECES = (256, 128, 64, 32, 16, 8, 4, 2, 1)


def _repeat(f: Function, to: str, source: str, size: str, bytes_: str) -> None:
    """Fill bytes, whole vectors of them, with one element of 1, 2, 4 or 8."""
    _spread(f, to, source, size, ("1", "0", bytes_))


def _spread(f: Function, to: str, source: str, size: str, rows: tuple[str, str, str]) -> None:
    """Fill rows (how many, bytes from one's element to the next's, bytes of each) with an element of 1, 2, 4
    or 8 bytes. A row's end may be written beyond, by less than a vector.
    """
    count, apart, bytes_ = rows
    blocks = f.i64("udiv", f.i64("add", bytes_, _FILL - 1), _FILL)
    for item in (1, 2, 4, 8):
        with f.when(f.i64("icmp eq", size, item)), f.counted(count) as row:
            kind, wide = f"i{8 * item}", _FILL // item
            vector = f"<{wide} x {kind}>"
            element = f.load(kind, source, f.i64("mul", row, apart))
            one = f.op(f"insertelement {vector} poison, {kind} {element}, i64 0")
            every = f.op(f"shufflevector {vector} {one}, {vector} poison, <{wide} x i32> zeroinitializer")
            start = f.at(to, f.i64("mul", row, bytes_))
            with f.counted(blocks) as k:
                f.emit(f"store {vector} {every}, ptr {f.at(start, f.i64('mul', k, _FILL))}, align 1")


def _multi(module: Module) -> None:
    """i64 rl_multi(desc, scalars, arrays, tensors, part, parts, dtype): the slice `part` of each.

    `arrays` has, tensor after tensor, the addresses of the array objects that are read; the results
    go where `desc` says: after its sizes come the numbers of the arrays that are written. Gives 0,
    or 1 with nothing done if an array is not contiguous, not of `dtype` or of another size.
    """
    f = Function(
        module,
        "define i64 @rl_multi(ptr %desc, ptr %scalars, ptr %arrays, i64 %tensors, "
        "i64 %part, i64 %parts, ptr %dtype)",
    )
    count, reads = f.load("i64", "%desc", SLOT), f.load("i64", "%desc", 2 * SLOT)
    sizes = f.at("%desc", SLOT * DESCRIPTOR_HEAD)
    bad = _refused(f, reads)
    frame = f.op(f"alloca i64, i64 {f.i64('add', f.i64('shl', count, 1), 1)}, align 16")
    bases = f.op(f"alloca i64, i64 {count}, align 16")
    f.store("ptr", "%scalars", frame)
    tensors = f.op(f"select i1 {f.i64('icmp eq', bad, 0)}, i64 %tensors, i64 0")
    with f.loop(tensors) as t:
        arrays = slot(f, "%arrays", f.i64("mul", t, reads))
        n = _extent(f, f.load("ptr", arrays))
        begin, end = (_cut(f, n, p) for p in ("%part", f.i64("add", "%part", 1)))
        offset = f.i64("mul", begin, f.load("i64", sizes))
        with f.loop(count) as k:
            which = f.var(k)
            with f.when(f.i64("icmp uge", k, reads)):
                target = f.i64("add", count, f.i64("sub", k, reads))
                which.set(f.load("i64", slot(f, sizes, target)))
            array = f.load("ptr", slot(f, arrays, which.get()))
            data = f.load("ptr", array, ARRAY_FIELDS[0])
            f.store("ptr", f.at(data, offset), slot(f, bases, k))
        length = f.i64("sub", end, begin)
        f.emit(f"call void @rl_strip(ptr %desc, ptr {frame}, ptr {bases}, ptr {sizes}, i64 {length})")
    close(f, f"i64 {bad}")


def _refused(f: Function, reads: str) -> str:
    """1 if any array of rl_multi's is strided, of another dtype or of another size, else 0."""
    bad = f.var(0)
    with f.loop(f.i64("mul", "%tensors", reads)) as i:
        array = f.load("ptr", slot(f, "%arrays", i))
        first = f.load("ptr", slot(f, "%arrays", f.i64("sub", i, f.i64("urem", i, reads))))
        wrong = f.op(f"icmp ne ptr {f.load('ptr', array, ARRAY_FIELDS[3])}, %dtype")
        flags = f.op(f"and i32 {f.load('i32', array, ARRAY_FIELDS[4])}, {_CONTIGUOUS}")
        strided = f.op(f"icmp eq i32 {flags}, 0")
        unlike = f.i64("icmp ne", _extent(f, array), _extent(f, first))
        either = f.op(f"or i1 {f.op(f'or i1 {wrong}, {strided}')}, {unlike}")
        bad.set(f.i64("or", bad.get(), f.op(f"zext i1 {either} to i64")))
    return bad.get()


def _extent(f: Function, array: str) -> str:
    """The number of elements of an array object."""
    product = f.var(1)
    axes = f.op(f"sext i32 {f.load('i32', array, ARRAY_FIELDS[1])} to i64")
    dims = f.load("ptr", array, ARRAY_FIELDS[2])
    with f.loop(axes) as i:
        product.set(f.i64("mul", product.get(), f.load("i64", slot(f, dims, i))))
    return product.get()


def _cut(f: Function, n: str, part: str) -> str:
    """Where a part begins: n * part / parts, at a multiple of 64 elements unless it is the end."""
    raw = f.i64("udiv", f.i64("mul", n, part), "%parts")
    rounded = f.i64("and", f.i64("add", raw, 63), -64)
    least = f.op(f"call i64 @llvm.smin.i64(i64 {rounded}, i64 {n})")
    last = f.i64("icmp eq", part, "%parts")
    return f.op(f"select i1 {last}, i64 {n}, i64 {least}")
