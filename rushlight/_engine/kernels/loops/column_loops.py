"""`rl_columns` and `rl_add_rows`: a part of the runtime, loops that run strips row by row.

A column kernel's descriptor, in slots of eight bytes:
  0 main   1 merge   2 final (descriptors of strips, see shared_loops.py)   3 V, vector inputs
  4 S, scalars of a row   5 O, outputs   6 several, main for SEVERAL rows   7 position of m in dims (1 or 2)
then V triples (argument number, position of its step along m among the core steps or -1, position
of its step along n), S quadruples (item size, argument number, position of its step along m, slot
of the state), O triples (argument number, size of an accumulator's element, position of its step).
Rows are added one by one, SEVERAL in a walk over the accumulators. Sums have two stages: 64 rows are added
up, then added to a second accumulator, in double precision.
"""

from __future__ import annotations

from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import call_pack, close, memory, quiet, row_of, slot

SEVERAL, ROWS_AT_ONCE = 4, 64
HEAD = 8
# Rows that one thread sums up where there are too few columns to share out, and columns that are enough.
CHUNK, _ENOUGH = 1024, 1024


def in_chunks(rows: int, columns: int) -> bool:
    """Whether chunks of rows are summed up apart, whose sums are then added row by row."""
    return rows >= 2 * CHUNK and columns < _ENOUGH


class _Columns:
    """The parts of rl_columns share what the descriptor and the call say."""

    def __init__(self, f: Function) -> None:
        self.function = f
        f.module.declare("memset", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.main, self.merge, self.final = (f.load("ptr", "%desc", SLOT * k) for k in range(3))
        self.vectors, self.scalars, self.outputs, first = (
            f.load("i64", "%desc", SLOT * k) for k in (3, 4, 5, 7)
        )
        self.several = f.load("ptr", "%desc", SLOT * 6)
        self.inputs = f.at("%desc", SLOT * HEAD)
        self.inward = slot(f, self.inputs, f.i64("mul", self.vectors, 3))
        self.outward = slot(f, self.inward, f.i64("mul", self.scalars, 4))
        self.row_count = f.load("i64", slot(f, "%dims", first))
        self.row_length = f.load("i64", slot(f, "%dims", f.i64("sub", 3, first)))
        arguments = f.i64("add", self.vectors, f.i64("add", self.scalars, self.outputs))
        self.core = slot(f, "%steps", arguments)
        most = f.i64("add", f.i64("mul", self.vectors, SEVERAL), f.i64("shl", self.outputs, 2))
        self.state = f.op(f"alloca i64, i64 {f.i64('add', f.i64('mul', self.scalars, SEVERAL), 1)}, align 64")
        self.frame = f.op(f"alloca i64, i64 {f.i64('add', f.i64('shl', most, 1), 1)}, align 16")
        self.bases = f.op(f"alloca i64, i64 {most}, align 16")
        self.steps = f.op(f"alloca i64, i64 {most}, align 16")
        f.store("ptr", self.state, self.frame)
        self.width = f.i64("mul", self.row_length, 8)
        self.bytes = f.i64("mul", f.i64("shl", self.outputs, 1), self.width)
        self.scratch = ""

    def accumulator(self, o: str, stage: int) -> str:
        """The memory of an output's first (0) or second (1) stage."""
        f = self.function
        number = f.i64("add", f.i64("shl", o, 1), stage)
        return f.at(self.scratch, f.i64("mul", number, self.width))

    def operand(self, k: str, base: str, step: str) -> None:
        """Set operand k of the next strip."""
        f = self.function
        f.store("ptr", base, slot(f, self.bases, k))
        f.store("i64", step, slot(f, self.steps, k))

    def strip(self, descriptor: str) -> None:
        """Run a strip over all columns."""
        self.function.emit(
            f"call void @rl_strip(ptr {descriptor}, ptr {self.frame}, ptr {self.bases}, "
            f"ptr {self.steps}, i64 {self.row_length})"
        )

    def rows(self, outer: str, first: str, count: str, descriptor: str) -> None:
        """Add rows to the first stage."""
        f = self.function
        with f.loop(count) as r:
            i = f.i64("add", first, r)
            with f.loop(self.scalars) as s:
                entry = slot(f, self.inward, f.i64("shl", s, 2))
                size, number, position, place = (f.load("i64", entry, SLOT * j) for j in range(4))
                place = f.i64("add", place, f.i64("mul", r, self.scalars))
                call_pack(
                    f,
                    slot(f, self.state, place),
                    "8",
                    self._there(outer, i, number, position),
                    "0",
                    "1",
                    size,
                )
            with f.loop(self.vectors) as v:
                entry = slot(f, self.inputs, f.i64("mul", v, 3))
                number, along, across = (f.load("i64", entry, SLOT * j) for j in range(3))
                self.operand(
                    f.i64("add", v, f.i64("mul", r, self.vectors)),
                    self._there(outer, i, number, along),
                    f.load("i64", slot(f, self.core, across)),
                )
        with f.loop(self.outputs) as o:
            size = f.load("i64", slot(f, self.outward, f.i64("mul", o, 3)), SLOT)
            total = self.accumulator(o, 0)
            reading = f.i64("add", f.i64("mul", count, self.vectors), o)
            self.operand(reading, total, size)
            self.operand(f.i64("add", reading, self.outputs), total, size)
        self.strip(descriptor)

    def _there(self, outer: str, i: str, number: str, position: str) -> str:
        """Where row i of an argument is; position -1 says that it has no rows."""
        f = self.function
        step = f.var(0)
        with f.when(f.i64("icmp sge", position, 0)):
            step.set(f.load("i64", slot(f, self.core, position)))
        return f.at(row_of(f, number, outer), f.i64("mul", i, step.get()))

    def fold(self) -> None:
        """Add the first stage to the second and empty it."""
        f = self.function
        with f.loop(self.outputs) as o:
            size = f.load("i64", slot(f, self.outward, f.i64("mul", o, 3)), SLOT)
            for group, stage in enumerate((0, 1, 0, 1)):
                k = f.i64("add", o, f.i64("mul", self.outputs, group))
                self.operand(k, self.accumulator(o, stage), size if stage == 0 else "8")
        self.strip(self.merge)

    def finish(self, outer: str) -> None:
        """Write the results."""
        f = self.function
        with f.loop(self.outputs) as o:
            entry = slot(f, self.outward, f.i64("mul", o, 3))
            number, position = f.load("i64", entry), f.load("i64", entry, 2 * SLOT)
            self.operand(o, self.accumulator(o, 1), "8")
            self.operand(
                f.i64("add", o, self.outputs),
                row_of(f, number, outer),
                f.load("i64", slot(f, self.core, position)),
            )
        self.strip(self.final)


def write(module: Module) -> None:
    """Put these functions into a module, which is apart from the rest of the runtime."""
    module.declare("rl_pack", "declare void @rl_pack(ptr, i64, ptr, i64, i64, i64)")
    module.declare("rl_strip", "declare void @rl_strip(ptr, ptr, ptr, ptr, i64)")
    f = Function(module, "define void @rl_columns(ptr %desc, ptr %args, ptr %dims, ptr %steps)")
    columns = _Columns(f)
    with memory(f, columns.bytes) as columns.scratch, quiet(f), f.loop(f.load("i64", "%dims")) as outer:
        f.emit(f"call void @llvm.memset.p0.i64(ptr {columns.scratch}, i8 0, i64 {columns.bytes}, i1 false)")
        groups = f.i64("sdiv", columns.row_count, SEVERAL)
        # SEVERAL rows, as often as that goes, then one by one.
        behind = f.i64("mul", groups, SEVERAL - 1)
        with f.loop(f.i64("sub", columns.row_count, behind)) as number:
            many = f.i64("icmp slt", number, groups)
            first, alone = f.i64("mul", number, SEVERAL), f.i64("add", number, behind)
            columns.rows(
                outer,
                f.op(f"select i1 {many}, i64 {first}, i64 {alone}"),
                f.op(f"select i1 {many}, i64 {SEVERAL}, i64 1"),
                f.op(f"select i1 {many}, ptr {columns.several}, ptr {columns.main}"),
            )
            last = f.i64("and", number, ROWS_AT_ONCE // SEVERAL - 1)
            full = f.i64("icmp eq", last, ROWS_AT_ONCE // SEVERAL - 1)
            with f.when(f.op(f"and i1 {many}, {full}")):
                columns.fold()
        columns.fold()
        columns.finish(outer)
    close(f, "void")
    _add_rows(module)


def _add_rows(module: Module) -> None:
    """rl_add_rows, with the team's ABI: out[index[i]] += values[i], where index[i] is one of a span.

    args: out, index, values, the descriptor of an addition; dims: m, n, the span's first and size; steps:
    bytes of out, index and values along rows, then of out and values along n.
    """
    f = Function(module, "define i32 @rl_add_rows(ptr %x, ptr %args, ptr %dims, ptr %steps, ptr %d)")
    out, index, values, desc = (f.load("ptr", "%args", SLOT * k) for k in range(4))
    m, n, low, span = (f.load("i64", "%dims", SLOT * k) for k in range(4))
    frame, bases, widths = (f.op(f"alloca i64, i64 {k}, align 16") for k in (7, 3, 3))
    f.store("ptr", "null", frame)
    to, pick, take, across, along = (f.load("i64", "%steps", SLOT * k) for k in range(5))
    for k, step in enumerate((across, along, across)):
        f.store("i64", step, widths, SLOT * k)
    with f.loop(m) as i:
        row = f.load("i64", index, f.i64("mul", i, pick))
        with f.when(f.i64("icmp ult", f.i64("sub", row, low), span)):
            target = f.at(out, f.i64("mul", row, to))
            f.store("ptr", target, bases)
            f.store("ptr", f.at(values, f.i64("mul", i, take)), bases, SLOT)
            f.store("ptr", target, bases, 2 * SLOT)
            f.emit(f"call void @rl_strip(ptr {desc}, ptr {frame}, ptr {bases}, ptr {widths}, i64 {n})")
    close(f)
