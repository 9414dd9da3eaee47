"""Machine code of running sums and products: totals in double or their own precision, rounded each time.

`rows`: along rows that lie dense, a vector's worth of rows at a time: blocks are transposed, so that a vector
holds one element of each row.    args: a, into    dims: rows, n    steps: bytes of a row
`columns`: down the rows of a matrix, all columns of a strip at a time.
                                  args: a, into    dims: columns, at most STRIP, n    steps: bytes of a row
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

STRIP = 512
_SIZE = {"float": 4, "double": 8}
# The totals of nothing.
_IDENTITY = {"add": 0.0, "mul": 1.0}


class _Scan(Writer):
    """What both directions share."""

    def __init__(self, module: Module, name: str, op: str, kind: str, total: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        self.op, self.total = op, total
        self.a, self.into = (f.load("ptr", "%args", SLOT * k) for k in range(2))
        self.count, self.length = (f.load("i64", "%dims", SLOT * k) for k in range(2))
        self.step = f.load("i64", "%steps")

    def next(self, total: Lane, value: Lane) -> tuple[Lane, Lane]:
        """The total with a value, and the same as it is stored."""
        same = self.kind == self.total
        total = total.arithmetic(self.op, value if same else value.cast("fpext", self.total))
        return total, total if same else total.cast("fptrunc", self.kind)

    def rows(self) -> None:
        """Rows beyond the last are the last one again, which gives the same twice."""
        f, size, lanes = self.function, self.size, self.lanes
        last, whole = f.i64("sub", self.count, 1), f.i64("udiv", self.length, lanes)
        with f.counted(self.over(self.count, lanes)) as block:
            first = f.i64("mul", block, lanes)
            numbers = [self.least(f.i64("add", first, k), last) for k in range(lanes)]
            offsets = [f.i64("mul", number, self.step) for number in numbers]
            lines = [(f.at(self.a, o), f.at(self.into, o)) for o in offsets]
            with f.vectors(whole, [f.const(self.total, _IDENTITY[self.op])]) as (k, totals, updated):
                at, total, stored = f.i64("mul", k, lanes * size), totals[0], list[Lane]()
                for column in self.turned([self.read(source, at) for source, _ in lines]):
                    total, out = self.next(total, column)
                    stored.append(out)
                for (_, to), row in zip(lines, self.turned(stored), strict=True):
                    self.write(row, to, at)
                updated.append(total)
            done = f.i64("mul", whole, lanes)
            with f.vectors(f.i64("sub", self.length, done), totals) as (k, totals, updated):
                updated.append(self._column(lines, f.i64("mul", f.i64("add", done, k), size), totals[0]))
        close(f)

    def _column(self, lines: Sequence[tuple[str, str]], at: str, total: Lane) -> Lane:
        """An element of each row."""
        f, sources = self.function, [source for source, _ in lines]
        total, out = self.next(total, self.gathered(sources, at))
        for k, (_, to) in enumerate(lines):
            f.store(self.kind, f.op(f"extractelement {out!r}, i64 {k}"), to, at)
        return total

    def columns(self) -> None:
        """Row by row, the totals of all columns in memory of their own."""
        f, size, lanes, wide = self.function, self.size, self.lanes, self.total
        scratch = f.op(f"alloca {wide}, i64 {STRIP}, align 64")
        whole = f.i64("udiv", self.count, lanes)
        with f.counted(str(STRIP)) as k:
            f.store(wide, f"{_IDENTITY[self.op]}", scratch, f.i64("mul", k, _SIZE[wide]))
        with f.counted(self.length) as i:
            offset = f.i64("mul", i, self.step)
            source, to = f.at(self.a, offset), f.at(self.into, offset)
            with f.counted(whole) as k:
                at, held = f.i64("mul", k, lanes * size), f.at(scratch, f.i64("mul", k, lanes * _SIZE[wide]))
                total = Lane(f, wide, f.op(f"load {f.type(wide)}, ptr {held}, align 8"))
                total, out = self.next(total, self.read(source, at))
                f.emit(f"store {total!r}, ptr {held}, align 8")
                self.write(out, to, at)
            done = f.i64("mul", whole, lanes)
            with f.counted(f.i64("sub", self.count, done)) as k:
                place = f.i64("add", done, k)
                self._single(
                    f.at(source, f.i64("mul", place, size)),
                    f.at(to, f.i64("mul", place, size)),
                    f.at(scratch, f.i64("mul", place, _SIZE[wide])),
                )
        close(f)

    def _single(self, source: str, to: str, held: str) -> None:
        f, wide, same = self.function, self.total, self.kind == self.total
        value = f.load(self.kind, source)
        value = value if same else f.op(f"fpext float {value} to double")
        total = f.op(f"f{self.op} {wide} {f.load(wide, held)}, {value}")
        f.store(wide, total, held)
        f.store(self.kind, total if same else f.op(f"fptrunc double {total} to float"), to)


def write(module: Module, name: str, op: str, along: str, kind: str, total: str, lanes: int) -> None:
    """The IR of `rows` or `columns`, for op "add" or "mul", totals in LLVM's type `total`."""
    getattr(_Scan(module, name, op, kind, total, lanes), along)()
