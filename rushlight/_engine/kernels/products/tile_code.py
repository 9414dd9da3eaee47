"""Machine code of products whose operands are addressed by tables: convolutions are such products.

`tiles` computes C[i, j] = sum over s, t of A[i, s, t] * B[s, t, j], j below the lanes of two vectors. An
element of A lies at ai[i] + at[t] + s * step, so that windows of an image need no matrix of their own; B is
packed, a line of all j for each t; an element of C lies at ci[i] + j * step. A tile of C stays in registers
for a block of t, and in scratch memory between blocks. `pack` makes B: B[t, j] = source[a[t] + b[j]], zero
from the last j on. Both have the team's ABI. Tables hold bytes; ci and a go on for a vector after their end.
    tiles  args: A, B, C, ai, at, ci  dims: how many i, j, t, s
           steps: of s in A and B, of j in C; 1 adds; bytes between the halves of a pair of A
    pack   args: source, B, a, b      dims: how many t, j; bytes between the halves of a pair
The source may be `stored` in a dtype that `pack` widens; or A and B hold pairs of bfloat16 that follow each
other along t, for an instruction that adds two products in float32 (AVX-512's VDPBF16PS). The two of a pair
of A lie side by side, or, `apart`, so many bytes from each other. C may be `made` in another dtype than sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.emit.scalar_code import item_size, load, store
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import close, slot

# Rows of a strip, whose tiles share a block of B, and how many lines such a block has.
STRIP, _BLOCK = 96, 128
PAIRS, APART = "pairs", "pairs apart"
_ADD_PAIRS = "llvm.x86.avx512bf16.dpbf16ps.512"


def height(lanes: int, size: int) -> int:
    """Rows of a tile: with two vectors each, sixteen registers hold it, and there are 32 of 64 bytes."""
    return 8 if lanes * size == 64 else 6


class Writer:
    """What the parts of both functions share: the element's kind and the vector's lanes."""

    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        self.function = Function(module, HEADER.format(name), lanes)
        self.kind, self.lanes, self.size = kind, lanes, BITS[kind] // 8
        self.along = self.size
        self.wide = 2 * lanes
        self.vector = f"<{lanes} x {kind}>"
        self.line = self.wide * self.size
        for name in ("smin", "smax"):
            module.declare(name, f"declare i64 @llvm.{name}.i64(i64, i64)")

    def least(self, a: str | int, b: str | int) -> str:
        """The smaller of two numbers."""
        return self.function.op(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def within(self, count: str, half: int) -> str:
        """How many of so many columns are in the first vector of a line, or in the second."""
        least = self.least(self.lanes, self.function.i64("sub", count, half * self.lanes))
        return self.function.op(f"call i64 @llvm.smax.i64(i64 {least}, i64 0)")

    def over(self, count: str, by: str | int) -> str:
        """How many parts of `by` cover a count."""
        less = by - 1 if isinstance(by, int) else self.function.i64("sub", by, 1)
        return self.function.i64("sdiv", self.function.i64("add", count, less), by)

    def read(self, pointer: str, offset: str | int = 0) -> Lane:
        """A vector at a byte offset."""
        return Lane(
            self.function,
            self.kind,
            self.function.op(
                f"load {self.vector}, ptr {self.function.at(pointer, offset)}, align {self.size}"
            ),
        )

    def write(self, value: Lane, pointer: str, offset: str | int = 0) -> None:
        """Put a vector at a byte offset."""
        self.function.emit(f"store {value!r}, ptr {self.function.at(pointer, offset)}, align {self.size}")

    def entry(self, table: str, index: str) -> str:
        """A number of a table."""
        return self.function.load("i64", slot(self.function, table, index))

    def rises(self, table: str, first: str, step: int) -> str:
        """An i1: whether a vector's entries go up by a step."""
        f, wide = self.function, f"<{self.lanes} x i64>"
        entries = Lane(f, "i64", f.op(f"load {wide}, ptr {slot(f, table, first)}, align 8"))
        line = ", ".join(f"i64 {k * step}" for k in range(self.lanes))
        other = (entries - f.splat("i64", self.entry(table, first))).bits("xor", Lane(f, "i64", f"<{line}>"))
        return f.op(f"xor i1 {f.any(other.compare('ne', 0))}, true")

    def follows(self, table: str, first: str, valid: str) -> str:
        """An i1: whether there are entries for a whole vector, and they go on in memory."""
        whole = self.function.i64("icmp eq", valid, self.lanes)
        return self.function.op(f"and i1 {whole}, {self.rises(table, first, self.along)}")

    def gathered(self, pointers: Sequence[str], offset: str) -> Lane:
        """An element from each of as many pointers as there are lanes."""
        f, whole = self.function, "poison"
        for k, p in enumerate(pointers):
            one = f.load(self.kind, p, offset)
            whole = f.op(f"insertelement {self.vector} {whole}, {self.kind} {one}, i64 {k}")
        return Lane(f, self.kind, whole)

    def turned(self, rows: Sequence[Lane]) -> list[Lane]:
        """As many vectors as lanes, transposed: halves change places, then quarters, and so on."""
        rows, step = list(rows), self.lanes // 2
        while step:
            for i in (i for i in range(self.lanes) if not i & step):
                a, b = rows[i], rows[i + step]
                rows[i] = self.shuffled(
                    a, b, [k if not k & step else self.lanes + k - step for k in range(self.lanes)]
                )
                rows[i + step] = self.shuffled(
                    a, b, [k + step if not k & step else self.lanes + k for k in range(self.lanes)]
                )
            step //= 2
        return rows

    def shuffled(self, a: Lane, b: Lane, places: Sequence[int]) -> Lane:
        """Lanes of two vectors, those of the second counted on."""
        mask = ", ".join(f"i32 {p}" for p in places)
        return self.function.lanes(self.kind, f"shufflevector {a!r}, {b!r}, <{self.lanes} x i32> <{mask}>")


class _Pack(Writer):
    """The parts of `pack` share what the call says."""

    def __init__(self, module: Module, name: str, kind: str, lanes: int, stored: str) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        self.stored = stored
        # Bytes of an element of the source, and of what it gives along t.
        self.item = 2 if stored == PAIRS else item_size(stored) if stored else self.size
        self.along = self.size if stored == PAIRS else self.item
        self.source, self.b, self.rows, self.columns = (f.load("ptr", "%args", SLOT * k) for k in range(4))
        self.t, self.j = (f.load("i64", "%dims", SLOT * k) for k in range(2))
        self.apart = f.load("i64", "%dims", SLOT * 2) if stored == PAIRS else ""
        self.zero = f.const(kind, 0.0)
        # For each half of a line of B: how many columns it has, and, an i1, whether it is whole and they lie
        # side by side in the source.
        self.halves = []
        for half in (0, 1):
            count, rises = self.within(self.j, half), self.rises(self.columns, str(half * lanes), self.item)
            whole = f.i64("icmp eq", count, lanes)
            self.halves.append((count, f.op(f"and i1 {whole}, {rises}")))

    def whole(self) -> None:
        """As many lines at a time as a vector has lanes."""
        f = self.function
        with f.counted(self.over(self.t, self.lanes)) as block:
            first = f.i64("mul", block, self.lanes)
            valid = self.least(self.lanes, f.i64("sub", self.t, first))
            to = f.at(self.b, f.i64("mul", first, self.line))
            straight = self.follows(self.rows, first, valid)
            if self.apart:
                straight = f.op(f"and i1 {straight}, {f.i64('icmp eq', self.apart, self.item)}")
            with f.when(straight):
                self._turned(f.at(self.source, self.entry(self.rows, first)), to)
            with f.when(f.op(f"xor i1 {straight}, true")), f.counted(valid) as k:
                self._line(
                    f.at(self.source, self.entry(self.rows, f.i64("add", first, k))),
                    f.at(to, f.i64("mul", k, self.line)),
                )
        close(f)

    def _turned(self, source: str, to: str) -> None:
        """Lines whose elements, and the halves of these, lie side by side for each j."""
        f = self.function
        for half in (0, self.lanes):
            columns: list[Lane] = []
            for j in range(half, half + self.lanes):
                with f.changed(f.i64("icmp slt", j, self.j), [self.zero]) as (found, updated):
                    at = f.at(source, f.load("i64", self.columns, SLOT * j))
                    updated.append(self.read(at) if self.stored == PAIRS else self._taken(at))
                columns += found
            for k, row in enumerate(self.turned(columns)):
                self.write(row, to, k * self.line + half * self.size)

    def _line(self, source: str, to: str) -> None:
        f, lanes = self.function, self.lanes
        for half, (count, dense) in enumerate(self.halves):
            first, place = half * lanes, half * lanes * self.size
            with f.when(dense):
                self.write(self._taken(f.at(source, self.entry(self.columns, str(first)))), to, place)
            with f.when(f.op(f"xor i1 {dense}, true")):
                self.write(self.zero, to, place)
                f.width = 1
                with f.counted(count) as k:
                    j = f.i64("add", k, first)
                    value = self._taken(f.at(source, self.entry(self.columns, j)))
                    self.write(value, f.at(to, f.i64("mul", j, self.size)))
                f.width = lanes

    def _taken(self, pointer: str) -> Lane:
        """Elements of a line of the source, as B has them."""
        f = self.function
        if self.stored != PAIRS:
            return (
                load(f, pointer, self.stored)
                if self.stored
                else Lane(f, self.kind, f.op(f"load {f.type(self.kind)}, ptr {pointer}, align {self.size}"))
            )
        low, high = (
            Lane(f, "i16", f.op(f"load {f.type('i16')}, ptr {p}, align 2")).cast("zext", "i32")
            for p in (pointer, f.at(pointer, self.apart))
        )
        return (low | high.bits("shl", 16)).cast("bitcast", self.kind)


class _Tiles(Writer):
    """The parts of `tiles` share what the call says."""

    def __init__(self, module: Module, name: str, kind: str, lanes: int, stored: str, made: str) -> None:
        super().__init__(module, name, kind, lanes)
        f, self.pairs, self.high = self.function, stored in (PAIRS, APART), height(lanes, self.size)
        self.made, self.item = made, item_size(made) if made else self.size
        self.along = self.item
        if self.pairs:
            of = "<16 x float>", "<16 x float>, <32 x bfloat>, <32 x bfloat>"
            module.declare(_ADD_PAIRS, f"declare {of[0]} @{_ADD_PAIRS}({of[1]})")
        pointers = [f.load("ptr", "%args", SLOT * k) for k in range(6)]
        self.a, self.b, self.c, self.ai, self.at, self.ci = pointers
        self.i, self.j, self.t, self.s = (f.load("i64", "%dims", SLOT * k) for k in range(4))
        self.step_a, self.step_b, self.step_c, add = (f.load("i64", "%steps", SLOT * k) for k in range(4))
        self.adds = f.i64("icmp ne", add, 0)
        self.apart = f.load("i64", "%steps", SLOT * 4) if stored == APART else ""
        self.scratch = f.op(f"alloca i8, i64 {(STRIP + lanes) * self.line}, align 64")

    def whole(self) -> None:
        """Strip by strip."""
        f = self.function
        blocks = f.op(f"call i64 @llvm.smax.i64(i64 {self.over(self.t, _BLOCK)}, i64 1)")
        size = self.over(self.t, blocks)
        # Where all columns are in a line's first half, tiles are half as wide.
        few, many = (f.i64(f"icmp {way}", self.j, self.lanes) for way in ("sle", "sgt"))
        with f.counted(self.over(self.i, STRIP)) as number:
            first = f.i64("mul", number, STRIP)
            count = self.least(STRIP, f.i64("sub", self.i, first))
            tiles = self.over(count, self.high)
            with f.counted(self.s) as s, f.counted(blocks) as block:
                begin = f.i64("mul", block, size)
                lines = self.least(size, f.i64("sub", self.t, begin))
                a = f.at(self.a, f.i64("mul", s, self.step_a))
                b = f.at(f.at(self.b, f.i64("mul", s, self.step_b)), f.i64("mul", begin, self.line))
                goes_on = f.i64("icmp ne", f.i64("or", s, block), 0)
                for narrow, alone in ((few, True), (many, False)):
                    with f.when(narrow), f.counted(tiles) as tile:
                        self._tile(
                            f.i64("add", first, f.i64("mul", tile, self.high)),
                            a,
                            b,
                            slot(f, self.at, begin),
                            lines,
                            f.at(self.scratch, f.i64("mul", tile, self.high * self.line)),
                            goes_on,
                            alone,
                        )
            with f.counted(self.over(count, self.lanes)) as block:
                self._finished(first, count, f.i64("mul", block, self.lanes))
        close(f)

    def _tile(
        self, i: str, a: str, b: str, at: str, lines: str, total: str, goes_on: str, alone: bool
    ) -> None:
        """The sums over a block of t, added to those in scratch memory if it goes on; of the first half of
        lines `alone`, or of both.
        """
        f, halves = self.function, (0,) if alone else (0, 1)
        last = f.i64("sub", self.i, 1)
        rows = [self.least(f.i64("add", i, k), last) for k in range(self.high)]
        lines_a = [f.at(a, self.entry(self.ai, row)) for row in rows]
        places = [r * self.line + h * self.lanes * self.size for r in range(self.high) for h in halves]
        with f.changed(goes_on, [f.const(self.kind, 0.0)] * len(places)) as (initial, read):
            read += [self.read(total, p) for p in places]
        with f.vectors(lines, initial) as (t, sums, updated):
            offset = self.entry(at, t)
            line = f.at(b, f.i64("mul", t, self.line))
            right = [self.read(line, h * self.lanes * self.size) for h in halves]
            further = self.apart and f.i64("add", offset, self.apart)
            for r, base in enumerate(lines_a):
                left = self._left(base, offset, further)
                updated += [self._added(left, right[h], sums[len(halves) * r + h]) for h in halves]
        for value, p in zip(sums, places, strict=True):
            self.write(value, total, p)

    def _left(self, base: str, offset: str, further: str) -> Lane:
        """An element of A, or a pair, in all lanes; further: the offset of its second half."""
        f = self.function
        if not self.apart:
            kind = "i32" if self.pairs else self.kind
            return f.splat(kind, f.load(kind, base, offset))
        f.width = 2 * self.lanes
        low, high = (f.splat("i16", f.load("i16", base, o)) for o in (offset, further))
        mask = ", ".join(f"i32 {k + f.width * (k % 2)}" for k in range(f.width))
        both = f.op(f"shufflevector {low!r}, {high!r}, <{f.width} x i32> <{mask}>")
        f.width = self.lanes
        return f.lanes("i32", f"bitcast <{2 * self.lanes} x i16> {both} to {f.type('i32')}")

    def _added(self, left: Lane, right: Lane, total: Lane) -> Lane:
        f = self.function
        if not self.pairs:
            return left.fma(right, total)
        a, b = (f"<32 x bfloat> {f.op(f'bitcast {v!r} to <32 x bfloat>')}" for v in (left, right))
        return f.lanes(self.kind, f"call <16 x float> @{_ADD_PAIRS}({total!r}, {a}, {b})")

    def _finished(self, first: str, count: str, block: str) -> None:
        """Sums of as many i as a vector has lanes go from scratch memory to C."""
        f = self.function
        valid = self.least(self.lanes, f.i64("sub", count, block))
        i = f.i64("add", first, block)
        rows = f.at(self.scratch, f.i64("mul", block, self.line))
        straight = self.follows(self.ci, i, valid)
        with f.when(straight):
            self._columns(rows, f.at(self.c, self.entry(self.ci, i)))
        with f.when(f.op(f"xor i1 {straight}, true")):
            dense = f.i64("icmp eq", self.step_c, self.item)
            with f.counted(valid) as k:
                self._row(
                    f.at(rows, f.i64("mul", k, self.line)),
                    f.at(self.c, self.entry(self.ci, f.i64("add", i, k))),
                    dense,
                )

    def _columns(self, rows: str, to: str) -> None:
        """As many i side by side in memory, for each j."""
        f = self.function
        for half in (0, self.lanes):
            with f.when(f.i64("icmp sgt", self.j, half)):
                read = [self.read(rows, k * self.line + half * self.size) for k in range(self.lanes)]
                for j, value in enumerate(self.turned(read), half):
                    with f.when(f.i64("icmp slt", j, self.j)):
                        self._put(value, f.at(to, f.i64("mul", self.step_c, j)))

    def _row(self, row: str, to: str, dense: str) -> None:
        """All j of an i; they lie side by side where `dense` is set."""
        f, kind = self.function, self.kind
        for half in (0, 1):
            count, first = self.within(self.j, half), half * self.lanes
            line = f.op(f"and i1 {dense}, {f.i64('icmp eq', count, self.lanes)}")
            with f.when(line):
                self._put(self.read(row, first * self.size), f.at(to, first * self.item))
            with f.when(f.op(f"xor i1 {line}, true")), f.counted(count) as k:
                j = f.i64("add", k, first)
                source, place = f.at(row, f.i64("mul", j, self.size)), f.at(to, f.i64("mul", j, self.step_c))
                if self.made:
                    f.width = 1
                    one = Lane(f, kind, f.op(f"load {f.type(kind)}, ptr {source}, align {self.size}"))
                    store(f, one, place, self.made)
                    f.width = self.lanes
                    continue
                value = f.load(kind, source)
                total = f.op(f"fadd {kind} {value}, {f.load(kind, place)}")
                f.store(kind, f.op(f"select i1 {self.adds}, {kind} {total}, {kind} {value}"), place)

    def _put(self, value: Lane, to: str) -> None:
        """A vector to C, or added to what is there."""
        f = self.function
        if self.made:
            store(f, value, to, self.made)
            return
        with f.changed(self.adds, [value]) as (found, updated):
            updated.append(value + self.read(to))
        self.write(found[0], to)


def pack(module: Module, name: str, kind: str, lanes: int, stored: str = "") -> None:
    """The IR of `pack`."""
    _Pack(module, name, kind, lanes, stored).whole()


def tiles(module: Module, name: str, kind: str, lanes: int, stored: str = "", made: str = "") -> None:
    """The IR of `tiles`."""
    _Tiles(module, name, kind, lanes, stored, made).whole()
