"""Machine code of attention, a head at a time, that holds the scores of a strip of queries only.

`attend`: scores of a strip's queries and the keys they may see, softmax, times the values; keeps the greatest
score and the reciprocal sum of each row. `unattend`, from these: the same weights P again, and with the
gradient g of the result  dP = g V', dS = P (dP - sum(P dP)) c,  into  dQ = dS K,  dK += dS' Q,  dV += P' g.
The products are tile_code.py's, their operands at the offsets of tables, so that any may be transposed.

    attend    args: q, k, v, result, kept          unattend  args: q, k, v, g, kept, dq, dk, dv
    steps: queries L, keys S, D of q and k, of v, queries of a strip, scale (a double's bits), 1 for causal,
    bytes of a strip's row, then per operand q, k, v, result (or g), dq, dk, dv: offsets of rows, of columns;
    then those of a strip's rows, of its columns. They go on for a vector after their end. Last, the addresses
    of `pack` and `tiles`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rushlight._engine.kernels.emit import vector_math as vm
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close, memory, slot

_OPERANDS = ("q", "k", "v", "g", "dq", "dk", "dv")
# Bytes in front of scratch memory's parts, so that each begins a line of memory.
_LINE = 64


class _Head(Writer):
    """What both directions share: the call's numbers, and calls of the loops for packing and products."""

    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        sizes = [f.load("i64", "%steps", SLOT * k) for k in range(5)]
        self.queries, self.keys, self.deep, self.out, self.rows = sizes
        scale = f.load("double", "%steps", 5 * SLOT)
        self.scale = self.number(scale)
        self.turned_over = f.op(f"fcmp olt double {scale}, 0.0")
        self.causal = f.i64("icmp ne", f.load("i64", "%steps", 6 * SLOT), 0)
        self.row = f.load("i64", "%steps", 7 * SLOT)
        tables = [f.load("ptr", "%steps", SLOT * (8 + k)) for k in range(16)]
        self.loops = {"pack": f.load("ptr", "%steps", SLOT * 24), "tiles": f.load("ptr", "%steps", SLOT * 25)}
        pairs = zip(tables[::2], tables[1::2], strict=True)
        self.tables = dict(zip((*_OPERANDS, "strip"), pairs, strict=True))
        self.call_args = f.op(f"alloca i64, i64 {6 + 4 + 4}, align 16")
        self.call_dims, self.call_steps = f.at(self.call_args, 6 * SLOT), f.at(self.call_args, 10 * SLOT)

    def number(self, value: str) -> Lane:
        """A double in every lane."""
        f, double = self.function, self.kind == "double"
        return f.splat(self.kind, value if double else f.op(f"fptrunc double {value} to float"))

    def strips(self) -> Iterator[tuple[str, str, str]]:
        """For each strip: its first query, how many, and how many keys these may see."""
        f = self.function
        with f.counted(self.over(self.queries, self.rows)) as number:
            first = f.i64("mul", number, self.rows)
            count = self.least(self.rows, f.i64("sub", self.queries, first))
            seen = self.least(self.keys, f.i64("add", first, count))
            yield first, count, f.op(f"select i1 {self.causal}, i64 {seen}, i64 {self.keys}")

    @contextmanager
    def scratch(self, *sizes: str) -> Iterator[list[str]]:
        """Memory of these many bytes, each part on a line of its own."""
        f, places, total = self.function, list[str](), "0"
        for size in sizes:
            places.append(total)
            total = f.i64("and", f.i64("add", f.i64("add", total, size), _LINE - 1), -_LINE)
        with memory(f, f.i64("add", total, _LINE)) as block:
            address = f.op(f"ptrtoint ptr {block} to i64")
            start = f.at(block, f.i64("and", f.i64("sub", 0, address), _LINE - 1))
            yield [f.at(start, place) for place in places]

    def packed(self, lines: str, columns: str) -> str:
        """The bytes of packed columns, some lines each."""
        return self.function.i64(
            "mul", self.function.i64("mul", self.over(columns, self.wide), lines), self.line
        )

    def _call(
        self, name: str, pointers: Sequence[str], numbers: Sequence[str | int], steps: Sequence[str | int]
    ) -> None:
        f = self.function
        for kind, base, values in (
            ("ptr", self.call_args, pointers),
            ("i64", self.call_dims, numbers),
            ("i64", self.call_steps, steps),
        ):
            for k, value in enumerate(values):
                f.store(kind, value, base, SLOT * k)
        f.op(
            f"call i32 {self.loops[name]}(ptr null, ptr {self.call_args}, ptr {self.call_dims}, "
            f"ptr {self.call_steps}, ptr null)"
        )

    def pack(self, source: str, into: str, lines: tuple[str, str], columns: tuple[str, str]) -> None:
        """B from (offsets, count) of lines and of columns, block by block."""
        f = self.function
        with f.counted(self.over(columns[1], self.wide)) as block:
            low = f.i64("mul", block, self.wide)
            to = f.at(into, f.i64("mul", f.i64("mul", block, lines[1]), self.line))
            valid = self.least(self.wide, f.i64("sub", columns[1], low))
            self._call("pack", [source, to, lines[0], slot(f, columns[0], low)], [lines[1], valid], [])

    def multiply(
        self,
        a: tuple[str, str, str],
        i: str,
        b: tuple[str, str],
        t: str,
        c: tuple[str, str, str],
        columns: str,
        add: int = 0,
    ) -> None:
        """C = A B, or C += A B. a: (pointer, offsets of i, of t); b: (packed, lines); c: as a, of i and j."""
        f = self.function
        step = f.i64("sub", f.load("i64", c[2], SLOT), f.load("i64", c[2]))
        with f.counted(self.over(columns, self.wide)) as block:
            low = f.i64("mul", block, self.wide)
            source = f.at(b[0], f.i64("mul", f.i64("mul", block, b[1]), self.line))
            valid = self.least(self.wide, f.i64("sub", columns, low))
            self._call(
                "tiles",
                [a[0], source, f.at(c[0], f.i64("mul", low, step)), a[1], a[2], c[1]],
                [i, valid, t, 1],
                [0, 0, step, add],
            )

    def scores(self, q: str, keys: str, strip: str, first: str, count: str, seen: str) -> None:
        """Products of a strip's queries and packed keys."""
        (queries, deep), into = self.tables["q"], (strip, *self.tables["strip"])
        lines = self.function.i64("mul", self.over(seen, self.wide), self.wide)
        a = q, slot(self.function, queries, first), deep
        self.multiply(a, count, (keys, self.deep), self.deep, into, lines)

    def each(
        self, strip: str, first: str, count: str, seen: str, kept: str
    ) -> Iterator[tuple[str, str, str]]:
        """For each row of a strip: its offset, how many vectors of it the query may see, and what is kept.

        The last vector is filled up with what scales to -infinity.
        """
        f = self.function
        high, low = (f"{self.kind} 0x{bits}0000000000000" for bits in ("7FF", "FFF"))
        lowest = f.op(f"select i1 {self.turned_over}, {high}, {low}")
        with f.counted(count) as r:
            offset = f.i64("mul", r, self.row)
            own = self.least(seen, f.i64("add", f.i64("add", first, r), 1))
            valid = f.op(f"select i1 {self.causal}, i64 {own}, i64 {seen}")
            vectors = self.over(valid, self.lanes)
            with f.counted(f.i64("sub", f.i64("mul", vectors, self.lanes), valid)) as k:
                place = f.i64("mul", f.i64("add", valid, k), self.size)
                f.store(self.kind, lowest, f.at(strip, offset), place)
            yield offset, vectors, slot(f, kept, f.i64("mul", f.i64("add", first, r), 2))

    def blank(self, row: str, vectors: str, seen: str) -> None:
        """Zeros in a strip's row behind so many vectors."""
        f = self.function
        in_use = f.i64("mul", self.over(seen, self.wide), 2)
        with f.counted(f.i64("sub", in_use, vectors)) as k:
            self.write(f.const(self.kind, 0.0), self.place(row, f.i64("add", vectors, k)))

    def total(self, value: Lane, op: str) -> str:
        """The sum, or the greatest, of a vector's lanes."""
        f, kind = self.function, self.kind
        parts = [f.op(f"extractelement {value!r}, i64 {k}") for k in range(self.lanes)]
        while len(parts) > 1:
            pairs = list(zip(parts[::2], parts[1::2], strict=True))
            if op == "add":
                parts = [f.op(f"fadd {kind} {a}, {b}") for a, b in pairs]
            else:
                more = [f.op(f"fcmp ogt {kind} {a}, {b}") for a, b in pairs]
                parts = [
                    f.op(f"select i1 {c}, {kind} {a}, {kind} {b}")
                    for c, (a, b) in zip(more, pairs, strict=True)
                ]
        return parts[0]

    def place(self, row: str, v: str) -> str:
        """Where a row's vector is."""
        return self.function.at(row, self.function.i64("mul", v, self.lanes * self.size))


class _AttentionForward(_Head):
    """Forwards."""

    def whole(self) -> None:
        """Strip by strip."""
        f = self.function
        q, k, v, result, kept = (f.load("ptr", "%args", SLOT * i) for i in range(5))
        (k_rows, k_columns), (v_rows, v_columns) = self.tables["k"], self.tables["v"]
        with self.scratch(
            f.i64("mul", self.rows, self.row),
            self.packed(self.deep, self.keys),
            self.packed(self.keys, self.out),
        ) as (strip, keys, values):
            self.pack(k, keys, (k_columns, self.deep), (k_rows, self.keys))
            self.pack(v, values, (v_rows, self.keys), (v_columns, self.out))
            for first, count, seen in self.strips():
                self.scores(q, keys, strip, first, count, seen)
                for offset, vectors, own in self.each(strip, first, count, seen, kept):
                    self._softmax(f.at(strip, offset), vectors, own)
                    self.blank(f.at(strip, offset), vectors, seen)
                rows, columns = self.tables["strip"]
                to_rows, to_columns = self.tables["g"]
                self.multiply(
                    (strip, rows, columns),
                    count,
                    (values, self.keys),
                    seen,
                    (result, slot(f, to_rows, first), to_columns),
                    self.out,
                )
        close(f)

    def _softmax(self, row: str, vectors: str, kept: str) -> None:
        """Scores become weights; the greatest and the reciprocal sum are kept as doubles."""
        f = self.function
        with f.vectors(vectors, [f.const(self.kind, float("-inf"))]) as (i, (most,), updated):
            value = self.read(self.place(row, i)) * self.scale
            updated.append((value > most).where(value, most))
        top = self.total(most, "max")
        with f.vectors(vectors, [f.const(self.kind, 0.0)]) as (i, (total,), updated):
            e = vm.exp(self.read(self.place(row, i)) * self.scale - f.splat(self.kind, top))
            self.write(e, self.place(row, i))
            updated.append(total + e)
        share = f.op(f"fdiv {self.kind} 1.0, {self.total(total, 'add')}")
        with f.counted(vectors) as i:
            self.write(self.read(self.place(row, i)) * f.splat(self.kind, share), self.place(row, i))
        for k, one in enumerate((top, share)):
            exact = one if self.kind == "double" else f.op(f"fpext float {one} to double")
            f.store("double", exact, kept, SLOT * k)


class _AttentionBackward(_Head):
    """Backwards; dk and dv are zero at first."""

    def whole(self) -> None:
        """Strip by strip."""
        f = self.function
        q, k, v, g, kept, dq, dk, dv = (f.load("ptr", "%args", SLOT * i) for i in range(8))
        t, strip = self.tables, f.i64("mul", self.rows, self.row)
        packed = [
            self.packed(*of)
            for of in (
                (self.deep, self.keys),
                (self.out, self.keys),
                (self.keys, self.deep),
                (self.rows, self.deep),
                (self.rows, self.out),
            )
        ]
        with self.scratch(strip, strip, *packed) as (weights, slopes, keys, values, lines, q_lines, g_lines):
            self.pack(k, keys, (t["k"][1], self.deep), (t["k"][0], self.keys))
            self.pack(v, values, (t["v"][1], self.out), (t["v"][0], self.keys))
            self.pack(k, lines, (t["k"][0], self.keys), (t["k"][1], self.deep))
            for first, count, seen in self.strips():
                self.scores(q, keys, weights, first, count, seen)
                rows, columns = t["strip"]
                own = {name: slot(f, t[name][0], first) for name in ("q", "g", "dq")}
                self.multiply(
                    (g, own["g"], t["g"][1]),
                    count,
                    (values, self.out),
                    self.out,
                    (slopes, rows, columns),
                    f.i64("mul", self.over(seen, self.wide), self.wide),
                )
                for offset, vectors, ours in self.each(weights, first, count, seen, kept):
                    self._slopes(f.at(weights, offset), f.at(slopes, offset), vectors, ours)
                    for each in (weights, slopes):
                        self.blank(f.at(each, offset), vectors, seen)
                self.multiply(
                    (slopes, rows, columns),
                    count,
                    (lines, self.keys),
                    seen,
                    (dq, own["dq"], t["dq"][1]),
                    self.deep,
                )
                for name, source, there, strip, into, size in (
                    ("q", q, q_lines, slopes, (dk, *t["dk"]), self.deep),
                    ("g", g, g_lines, weights, (dv, *t["dv"]), self.out),
                ):
                    self.pack(source, there, (own[name], count), (t[name][1], size))
                    self.multiply((strip, columns, rows), seen, (there, count), count, into, size, add=1)
        close(f)

    def _slopes(self, weights: str, slopes: str, vectors: str, kept: str) -> None:
        """Scores become weights; the weights' gradient becomes that of the scores."""
        f = self.function
        top, share = (self.number(f.load("double", kept, SLOT * k)) for k in (0, 1))
        with f.vectors(vectors, [f.const(self.kind, 0.0)]) as (i, (total,), updated):
            p = vm.exp(self.read(self.place(weights, i)) * self.scale - top) * share
            self.write(p, self.place(weights, i))
            updated.append(p.fma(self.read(self.place(slopes, i)), total))
        mean = f.splat(self.kind, self.total(total, "add"))
        with f.counted(vectors) as i:
            p, d = self.read(self.place(weights, i)), self.read(self.place(slopes, i))
            self.write(p * (d - mean) * self.scale, self.place(slopes, i))


def attend(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `attend`."""
    _AttentionForward(module, name, kind, lanes).whole()


def unattend(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `unattend`."""
    _AttentionBackward(module, name, kind, lanes).whole()
