"""A row kernel's code: one function for all rows, which lie in memory as they are.

`rows(args, rows, n, steps)` walks rows that are contiguous (row_loops.py packs the others): level by level
over vectors, with results of reductions in registers. The last vector may be partial: it is read by a mask,
short numbers from a buffer, and written to a buffer; reductions leave its other lanes out.

Of rows that are at most half a vector several are one, side by side in segments of as many lanes as the next
power of two: the same numbers are added in the same order as in a vector of one row.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight._engine.kernels.emit.atom_code import LLVM, convert
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.emit.scalar_code import (
    Body,
    item_size,
    load,
    load_some,
    result,
    storage_kind,
    store,
    widen,
)
from rushlight._engine.kernels.loops.row_plan import (
    RowLevels,
    across,
    combine,
    element,
    first_lane,
    first_of_two,
    gathered,
    identity,
    ramp,
    swapped,
    wide,
    within,
)
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close
from rushlight._engine.ops.expressions import Expr

# From block to block of so many elements sums go on in double precision.
BLOCK = 2048
# Bytes of the shortest numbers that processors read by a mask.
_MASKED = 4


class _Rows:
    """The function being written: what is known of all rows, and of the one at hand."""

    elements: list[str]  # the dtypes of the reductions that are being written

    def __init__(self, plan: RowLevels, f: Function) -> None:
        self.plan, self.function = plan, f
        self.dtypes = plan.operand_dtypes()
        # Rows of a vector, and lanes of each.
        self.segment, self.together = str(plan.lanes), "1"
        self.grouped = self._grouping()
        self.whole = f.i64("udiv", "%n", plan.lanes)
        self.rest = f.i64("urem", "%n", plan.lanes)
        self.partial = f.i64("icmp ne", self.rest, 0)
        self.tails = [f.op(f"alloca i8, i64 {self._bytes(k)}, align 64") for k in range(len(plan.numbers))]
        for k, tail in enumerate(self.tails):
            f.emit(f"call void @llvm.memset.p0.i64(ptr {tail}, i8 0, i64 {self._bytes(k)}, i1 false)")
        self.apart = f.op(f"alloca i8, i64 {8 * plan.lanes}, align 64")
        self.known: dict[Expr, Lane] = {}
        self.given: dict[str, Lane] = {}
        self.bases: list[str] = []
        self.row, self.now, self.valid = "", "1", ""
        self.masked = [item_size(self.dtypes[k]) >= _MASKED for k in range(len(plan.vectors))]
        # Whether rows that share a vector lie apart from each other, or from their segments.
        self.scattered = [self._lie_apart(k) if masked else "" for k, masked in enumerate(self.masked)]

    def _lie_apart(self, k: int) -> str:
        f = self.function
        step = f.load("i64", "%steps", SLOT * self.plan.numbers[k])
        apart = f.i64("icmp ne", step, f.i64("mul", self.segment, item_size(self.dtypes[k])))
        return f.op(f"and i1 {self.grouped}, {apart}")

    def _grouping(self) -> str:
        """How rows share a vector; an i1: whether they do."""
        f, lanes = self.function, self.plan.lanes
        f.module.declare("ctlz", "declare i64 @llvm.ctlz.i64(i64, i1)")
        least = f.op(f"call i64 @llvm.smax.i64(i64 {f.i64('sub', '%n', 1)}, i64 0)")
        zeros = f.op(f"call i64 @llvm.ctlz.i64(i64 {least}, i1 false)")
        power = f.i64("shl", 1, f.op(f"call i64 @llvm.smin.i64(i64 {f.i64('sub', 64, zeros)}, i64 32)"))
        self.segment = f.op(f"call i64 @llvm.smin.i64(i64 {power}, i64 {lanes})")
        self.together = f.i64("udiv", lanes, self.segment)
        return f.i64("icmp ugt", self.together, 1)

    def _bytes(self, k: int) -> int:
        return self.plan.lanes * item_size(self.dtypes[k])

    def write(self) -> None:
        """The loop over rows."""
        f, plan = self.function, self.plan
        above = f.i64("add", "%rows", f.i64("sub", self.together, 1))
        with f.counted(f.i64("udiv", above, self.together)) as group:
            self.row = f.i64("mul", group, self.together)
            left = f.i64("sub", "%rows", self.row)
            self.now = f.op(f"call i64 @llvm.smin.i64(i64 {left}, i64 {self.together})")
            shared = f.i64("mul", self.now, self.segment)
            self.valid = f.op(f"select i1 {self.grouped}, i64 {shared}, i64 {self.rest}")
            self._scalars_in()
            self.bases = [self._base(number) for number in plan.numbers]
            self._copy_tails(range(len(plan.vectors)), False)
            self.known = {}
            for level, reductions in enumerate(plan.levels):
                self._level(level, reductions)
            if plan.out_vectors:
                self._final()
                self._copy_tails(range(len(plan.vectors), len(plan.numbers)), True)
            self._scalars_out()
        close(f, "void")

    def _base(self, number: int) -> str:
        """Where the row of an argument begins."""
        f = self.function
        step = f.load("i64", "%steps", SLOT * number)
        return f.at(f.load("ptr", "%args", SLOT * number), f.i64("mul", self.row, step))

    def _scalars_in(self) -> None:
        """The rows' scalars, each in the lanes of its row."""
        f, plan = self.function, self.plan
        for name, d in plan.scalars:
            number, kind, size = plan.inputs.index(name), storage_kind(d), item_size(d)
            base, step = self._base(number), f.load("i64", "%steps", SLOT * number)
            one = f.splat(kind, f.load(kind, base))
            f.emit(f"store {one!r}, ptr {self.apart}, align 8")
            with f.when(self.grouped), f.counted(self.now) as j:
                value = f.load(kind, base, f.i64("mul", j, step))
                to = f.at(self.apart, f.i64("mul", f.i64("mul", j, self.segment), size))
                with f.counted(self.segment) as k:
                    f.store(kind, value, to, f.i64("mul", k, size))
            self.given[name] = load(f, self.apart, d)

    def _copy_tails(self, operands: Sequence[int], out: bool) -> None:
        f = self.function
        operands = [k for k in operands if out or not self.masked[k]]
        with f.when(self.partial):
            for k in operands:
                size, number = item_size(self.dtypes[k]), self.plan.numbers[k]
                at = f.at(self.bases[k], f.i64("mul", self.whole, self._bytes(k)))
                step, apart = f.load("i64", "%steps", SLOT * number), f.i64("mul", self.segment, size)
                length = f.i64("mul", self.rest, size)
                with f.counted(self.now) as j:
                    row, own = f.at(at, f.i64("mul", j, step)), f.at(self.tails[k], f.i64("mul", j, apart))
                    to, source = (row, own) if out else (own, row)
                    f.emit(f"call void @few(ptr {to}, ptr {source}, i64 {length})")

    # --- what does not vary along the row -----------------------------------------------------------

    def _body(self, nodes: Sequence[Expr]) -> Body:
        """A body that knows the row's scalars, finished reductions, extent and picked elements."""
        f, plan = self.function, self.plan
        body = Body(f, plan.meaning, plan.types)
        with f.early():
            for node in nodes:
                if node in self.known:
                    body.give(node, self.known[node], True)
                elif node.op == "in" and node.arg in self.given:
                    body.give(node, self.given[node.arg], True)
                elif node.op == "extent":
                    kind = LLVM[plan.types[node]]
                    body.give(node, f.splat(kind, f.op(f"sitofp i64 %n to {kind}")), True)
            for node in nodes:
                if node.op == "at":
                    self._pick(body, node)
        return body

    def _pick(self, body: Body, node: Expr) -> None:
        source, index = node.src
        inner = self._body(within([index]))
        inner.compute([index])
        k = [name for name, _ in self.plan.vectors].index(source.arg)
        storage = self.plan.vectors[k][1]
        f, place = self.function, convert(inner.values[index], self.plan.types[index], "int64")
        # Which row of the vector each lane is of.
        f.module.declare("cttz", "declare i64 @llvm.cttz.i64(i64, i1)")
        power = f.op(f"call i64 @llvm.cttz.i64(i64 {self.segment}, i1 true)")
        row = ramp(f, "i64").bits("lshr", f.splat("i64", power))
        step = f.load("i64", "%steps", SLOT * self.plan.numbers[k])
        given = "%n", self.bases[k], str(item_size(storage)), storage
        rows, inside = row * f.splat("i64", step), row.compare("lt", f.splat("i64", self.now))
        body.give(node, gathered(f, place, *given, rows, inside), True)

    # --- walks over the row -------------------------------------------------------------------------

    def _level(self, level: int, reductions: Sequence[Expr]) -> None:
        f, plan = self.function, self.plan
        f.mark_early()
        self.elements = [element(plan, r) for r in reductions]
        wides = [wide(r.arg, d) for r, d in zip(reductions, self.elements, strict=True)]
        most = BLOCK // plan.lanes
        body = self._body(within([r.src[0] for r in reductions]))
        blocks = f.i64("udiv", f.i64("add", self.whole, most - 1), most)
        with f.vectors(blocks, self._identities(reductions, wides)) as (block, totals, following):
            first = f.i64("mul", block, most)
            now = f.op(f"call i64 @llvm.smin.i64(i64 {f.i64('sub', self.whole, first)}, i64 {most})")
            with f.vectors(now, self._identities(reductions, self.elements)) as (k, running, updated):
                values = self._reduced(body, level, reductions, f.i64("add", first, k), "false")
                updated += [
                    combine(r.arg, d, total, value)
                    for r, d, total, value in zip(reductions, self.elements, running, values, strict=True)
                ]
            following += [
                combine(r.arg, w, total, convert(value, d, w))
                for r, d, w, total, value in zip(
                    reductions, self.elements, wides, totals, running, strict=True
                )
            ]
        totals = self._with_rest(level, reductions, wides, totals)
        for r, w, total in zip(reductions, wides, totals, strict=True):
            alone = f.op(f"xor i1 {self.grouped}, true")
            with f.changed(alone, [f.const(LLVM[plan.types[r]], 0)]) as (results, updated):
                updated.append(self._in_all(r, w, total))
            self.known[r] = self._by_segment(r, w, total, results[0])

    def _in_all(self, r: Expr, d: str, total: Lane) -> Lane:
        """A row's total, in all lanes."""
        f = self.function
        one = convert(across(f, r.arg, d, total), d, self.plan.types[r])
        return f.splat(one.kind, f.op(f"extractelement {one!r}, i64 0"))

    def _by_segment(self, r: Expr, d: str, total: Lane, found: Lane) -> Lane:
        """`found`, but where rows share a vector: each segment's lanes combined as `across` does."""
        f, halves = self.function, [1 << k for k in range(self.plan.lanes.bit_length() - 2)]
        with f.changed(self.grouped, [found]) as (results, updated):
            for half in reversed(halves):
                with f.changed(f.i64("icmp ugt", self.segment, half), [total]) as (after, combined):
                    combined.append(combine(r.arg, d, total, swapped(total, half)))
                total = after[0]
            total = convert(total, d, self.plan.types[r])
            # Of two zeros, or nans, each of both lanes may have taken the other's: all take the first one's.
            for half in halves if r.arg in ("max", "min") else ():
                with f.changed(f.i64("icmp ugt", self.segment, half), [total]) as (after, combined):
                    combined.append(first_of_two(total, half))
                total = after[0]
            updated.append(total)
        return results[0]

    def _identities(self, reductions: Sequence[Expr], dtypes: Sequence[str]) -> list[Lane]:
        return [
            self.function.const(LLVM[d], identity(r.arg, d)) for r, d in zip(reductions, dtypes, strict=True)
        ]

    def _reduced(self, body: Body, level: int, reductions: Sequence[Expr], i: str, last: str) -> list[Lane]:
        """What vector `i` of the row brings to the reductions."""
        roots = [r.src[0] for r in reductions]
        self._load(body, level, roots, i, last)
        body.compute(roots)
        self._keep(body, level, roots, i, last)
        return [
            convert(body.values[root], self.plan.types[root], d)
            for root, d in zip(roots, self.elements, strict=True)
        ]

    def _with_rest(
        self, level: int, reductions: Sequence[Expr], wides: Sequence[str], totals: Sequence[Lane]
    ) -> list[Lane]:
        """The totals and what the partial vector brings, where there is one."""
        f = self.function
        body = self._body(within([r.src[0] for r in reductions]))
        with f.changed(self.partial, totals) as (results, updated):
            place = ramp(f, "i32")
            low = f.op(f"trunc i64 {f.i64('sub', self.segment, 1)} to i32")
            place = place & f.splat("i32", low)
            counts = place.compare("lt", f.splat("i32", f.op(f"trunc i64 {self.rest} to i32")))
            values = self._reduced(body, level, reductions, self.whole, "true")
            values = [
                counts.where(value, start)
                for value, start in zip(values, self._identities(reductions, self.elements), strict=True)
            ]
            updated += [
                combine(r.arg, w, total, convert(value, d, w))
                for r, d, w, total, value in zip(
                    reductions, self.elements, wides, totals, values, strict=True
                )
            ]
        return results

    def _final(self) -> None:
        f, plan = self.function, self.plan
        outputs = [plan.meaning.outputs[i] for i in plan.out_vectors]
        f.mark_early()
        body, level = self._body(within(outputs)), len(plan.levels)
        with f.counted(self.whole) as i:
            self._vectors_out(body, level, outputs, i, "false")
        f.mark_early()
        body = self._body(within(outputs))
        with f.when(self.partial):
            self._vectors_out(body, level, outputs, self.whole, "true")

    def _vectors_out(self, body: Body, level: int, outputs: Sequence[Expr], i: str, last: str) -> None:
        """Vector i of the results."""
        plan = self.plan
        self._load(body, level, outputs, i, last)
        body.compute(outputs)
        for k, number in enumerate(plan.out_vectors, len(plan.vectors)):
            d = plan.meaning.out_dtypes[number]
            value = result(body, plan.meaning.outputs[number], d)
            store(self.function, value, self._at(k, i, last), d)

    def _at(self, k: int, i: str, last: str) -> str:
        """Vector i of an operand's row; the partial one lies in the buffer."""
        f = self.function
        inside = f.at(self.bases[k], f.i64("mul", i, self._bytes(k)))
        return f.op(f"select i1 {last}, ptr {self.tails[k]}, ptr {inside}")

    def _read(self, k: int, i: str, last: str) -> Lane:
        """Vector i of an operand's row, which may be the partial one."""
        f, dtype = self.function, self.plan.vectors[k][1]
        if not self.masked[k] or last == "false":
            return load(f, self._at(k, i, last), dtype)
        nothing, apart = f.const(storage_kind(dtype), 0), self.scattered[k]
        count = f.op(f"select i1 {last}, i64 {self.valid}, i64 {self.plan.lanes}")
        mask = self._below(ramp(f, "i32"), f.op(f"select i1 {apart}, i64 0, i64 {count}"))
        found = load_some(f, self._at(k, i, "false"), mask, nothing)
        step, size = f.load("i64", "%steps", SLOT * self.plan.numbers[k]), item_size(dtype)
        with f.changed(apart, [found]) as (results, changed):
            with f.vectors(self.now, [nothing]) as (j, (rows,), updated):
                before = f.i64("mul", j, self.segment)
                row = f.i64("sub", f.i64("mul", j, step), f.i64("mul", before, size))
                lanes = ramp(f, "i32") - f.splat("i32", f.op(f"trunc i64 {before} to i32"))
                own = self._below(lanes, "%n") & lanes.compare("ge", 0)
                updated.append(load_some(f, f.at(self.bases[k], row), own, rows))
            changed.append(rows)
        return widen(results[0], dtype)

    def _below(self, numbers: Lane, count: str) -> Lane:
        """A mask: which numbers are below a count."""
        f = self.function
        return numbers.compare("lt", f.splat("i32", f.op(f"trunc i64 {count} to i32")))

    def _load(self, body: Body, level: int, roots: Sequence[Expr], i: str, last: str) -> None:
        f, plan = self.function, self.plan
        names = [name for name, _ in plan.vectors]
        for node in within(roots):
            if node.op == "in" and plan.varies[node]:
                k = names.index(node.arg)
                body.give(node, self._read(k, i, last))
            elif node in plan.kept and plan.first_use[node] < level:
                body.give(node, load(f, self._at(plan.kept[node], i, last), plan.types[node]))
            elif node.op == "iota":
                before = f.i64("mul", i, f.width)
                place = ramp(f, "i64")
                place = place & f.splat("i64", f.i64("sub", self.segment, 1))
                body.give(node, f.splat("i64", before) + place)

    def _keep(self, body: Body, level: int, roots: Sequence[Expr], i: str, last: str) -> None:
        """Store what a later walk reads again."""
        plan = self.plan
        for node in within(roots):
            if node in plan.kept and plan.first_use[node] == level:
                store(self.function, body.values[node], self._at(plan.kept[node], i, last), plan.types[node])

    def _scalars_out(self) -> None:
        f, plan = self.function, self.plan
        outputs = [plan.meaning.outputs[i] for i in plan.out_scalars]
        f.mark_early()
        body = self._body(within(outputs))
        body.compute(outputs)
        for i, root in zip(plan.out_scalars, outputs, strict=True):
            d, number = plan.meaning.out_dtypes[i], len(plan.inputs) + i
            found, base = result(body, root, d), self._base(number)
            kind, value = first_lane(f, found, d)
            f.store(kind, value, base)
            with f.when(self.grouped):
                store(f, found, self.apart, d)
                step = f.load("i64", "%steps", SLOT * number)
                apart = f.i64("mul", self.segment, item_size(d))
                with f.counted(self.now) as j:
                    one = f.load(kind, self.apart, f.i64("mul", j, apart))
                    f.store(kind, one, base, f.i64("mul", j, step))


def _few(module: Module) -> None:
    """Put `few` into a module: a copy of some bytes, by two moves that may overlap."""
    f = Function(module, "define internal void @few(ptr %to, ptr %from, i64 %n)")
    with f.when(f.i64("icmp ugt", "%n", 64)):
        f.emit("call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)")
        f.emit("ret void")
        f.start(f.fresh("behind"))
    for size in (32, 16, 8, 4, 2, 1):
        with f.when(f.i64("icmp uge", "%n", size)):
            end, kind = f.i64("sub", "%n", size), f"<{size} x i8>" if size > 8 else f"i{8 * size}"
            values = [f.load(kind, "%from"), f.load(kind, "%from", end)]
            f.store(kind, values[0], "%to")
            f.store(kind, values[1], "%to", end)
            f.emit("ret void")
            f.start(f.fresh("behind"))
    close(f, "void")


def write(module: Module, plan: RowLevels) -> None:
    """Put `rows` into a kernel's module."""
    _few(module)
    for name, text in (
        ("smin", "declare i64 @llvm.smin.i64(i64, i64)"),
        ("smax", "declare i64 @llvm.smax.i64(i64, i64)"),
        ("memset", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"),
        ("memcpy", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"),
    ):
        module.declare(name, text)
    header = "define internal void @rows(ptr %args, i64 %rows, i64 %n, ptr %steps)"
    _Rows(plan, Function(module, header, plan.lanes)).write()
