"""Row expressions to LLVM IR: one body per level of reductions, and one that stores.

A reduction's level is the number of reductions nested in it. Level by level a body runs over the
row and accumulates; later bodies read the results as scalars. The state of a row is laid out as
  0 n   1 position   2.. base and byte step of each vector operand   then scalars, results
in slots of eight bytes, and then one accumulator of `lanes` slots per reduction.
Sums have two stages: vectors within a call of the body (2048 elements at most), and across calls
in double precision; the lanes are then combined pairwise. So their tree depends on n alone.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rushlight.base import dtype as dt
from rushlight.compiler.atoms import EMITTERS, LLVM, Unsupported, convert
from rushlight.compiler.emit import (Body, Cursor, lanes_for, load, load_scalar, narrow, result,
                                     storage_kind, store, widen)
from rushlight.compiler.ir import Function, Lane, Module
from rushlight.compiler.meaning import Meaning
from rushlight.ops.rowexpr import is_vector
from rushlight.ops.scalar import Expr, toposort

SLOT, POSITION, OPERANDS = 8, 1, 2
# Worth keeping in an output's memory between levels rather than computing again.
_COSTLY = frozenset("exp exp2 expm1 log log1p log2 log10 tanh sigmoid erf erfc pow sin cos".split())
_IDENTITY = {"add": 0, "mul": 1, "any": 0, "all": 1}


@dataclass
class Plan:
    """A row kernel's operands, levels and places in the state."""

    meaning: Meaning
    roles: tuple[str, ...]
    lanes: int = 0
    types: Mapping[Expr, str] = field(init=False)
    varies: dict[Expr, bool] = field(init=False)
    levels: list[list[Expr]] = field(init=False)
    kept: dict[Expr, int] = field(init=False)

    def __post_init__(self) -> None:
        self.types = self.meaning.types()
        named = list(zip(self.meaning.inputs, self.roles, strict=True))
        self.vectors = [i for i, role in named if role == "vector"]
        self.scalars = [i for i, role in named if role == "scalar"]
        self.order = toposort(self.meaning.outputs)
        self._classify({name for name, _ in self.vectors})
        varying = {n: t for n, t in self.types.items() if self.varies[n]}
        # Cheap sums wait for the last addition: more lanes are more additions under way.
        cheap = not any(n.op in _COSTLY for n in varying)
        self.lanes = self.lanes or lanes_for(varying) * (2 if cheap and self.levels else 1)
        self.out_vectors = [i for i, o in enumerate(self.meaning.outputs) if self.varies[o]]
        self.out_scalars = [i for i, o in enumerate(self.meaning.outputs) if not self.varies[o]]
        self._place()
        self.kept = self._kept()

    def _classify(self, vectors: set[str]) -> None:
        after: dict[Expr, int] = {}
        self.varies, self.levels = {}, []
        for node in self.order:
            if node.op == "in":
                self.varies[node] = node.arg in vectors
            else:
                self.varies[node] = is_vector(node, self.varies)
            after[node] = max((after[s] for s in node.src), default=0)
            if node.op == "reduce":
                level = after[node]
                after[node] = level + 1
                while len(self.levels) <= level:
                    self.levels.append([])
                self.levels[level].append(node)
            if node.op == "at" and self.varies[node]:
                raise Unsupported("at with an index that varies along the row")

    def _place(self) -> None:
        operands = len(self.vectors) + len(self.out_vectors)
        slot = OPERANDS + 2 * operands
        self.scalar_slot = {name: slot + i for i, (name, _) in enumerate(self.scalars)}
        slot += len(self.scalars)
        reductions = [r for level in self.levels for r in level]
        self.result_slot = {r: slot + i for i, r in enumerate(reductions)}
        slot += len(reductions)
        self.output_slot = {i: slot + k for k, i in enumerate(self.out_scalars)}
        slot = -(-(slot + len(self.out_scalars)) // 8) * 8
        self.accumulator_slot = {r: slot + i * self.lanes for i, r in enumerate(reductions)}
        self.slots = slot + len(reductions) * self.lanes

    def _kept(self) -> dict[Expr, int]:
        """Costly vectors of an early level that a later one reads, and the output that has room.

        Only what is computed for a reduction and again afterwards, and stored without rounding.
        """
        uses: dict[Expr, set[int]] = {}
        stages: list[Sequence[Expr]] = [[r.src[0] for r in level] for level in self.levels]
        stages.append([self.meaning.outputs[i] for i in self.out_vectors])
        for number, roots in enumerate(stages):
            for node in within(roots):
                uses.setdefault(node, set()).add(number)
        free = [len(self.vectors) + k for k in range(len(self.out_vectors))]
        found: dict[Expr, int] = {}
        for node in self.order:
            if node.op in _COSTLY and self.varies[node] and len(uses.get(node, ())) > 1:
                for operand in free:
                    out = self.meaning.out_dtypes[self.out_vectors[operand - len(self.vectors)]]
                    if out == self.types[node]:
                        found[node] = operand
                        free.remove(operand)
                        break
        self.first_use = {node: min(uses[node]) for node in found}
        return found

    def operand_dtypes(self) -> list[str]:
        """The dtypes of the vector operands, inputs first."""
        return [d for _, d in self.vectors] + [self.meaning.out_dtypes[i] for i in self.out_vectors]


def within(roots: Sequence[Expr]) -> list[Expr]:
    """Nodes that are computed for `roots`, not looking into reductions."""
    seen: dict[Expr, None] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            if node.op not in ("reduce", "at"):
                stack.extend(node.src)
    return list(seen)


def wide(kind: str, element: str) -> str:
    """The dtype in which a reduction is kept across calls of its body."""
    return "float64" if kind in ("add", "mul") and element == "float32" else element


def identity(kind: str, d: str) -> float | int:
    """What a reduction of nothing gives, in dtype `d`."""
    if kind in _IDENTITY:
        return _IDENTITY[kind]
    info = dt.BY_NAME[d]
    if info.is_floating_point:
        return float("-inf") if kind == "max" else float("inf")
    if d == "bool":
        return int(kind == "min")
    bits = info.itemsize * 8
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if info.is_signed else (0, 2**bits - 1)
    return low if kind == "max" else high


def combine(kind: str, d: str, a: Lane, b: Lane) -> Lane:
    """One step of a reduction."""
    atom = {"max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and"}
    return EMITTERS[atom.get(kind, kind)](d, a, b)


def element(plan: Plan, node: Expr) -> str:
    """The dtype in which a reduction runs."""
    return "bool" if node.arg in ("any", "all") else plan.types[node]


class _Stage:
    """One body: the loads of inputs, the scalars it may use, what was kept by earlier ones."""

    def __init__(self, plan: Plan, f: Function, number: int, roots: Sequence[Expr],
                 written: Sequence[int]) -> None:
        self.plan, self.f, self.number = plan, f, number
        nodes = within(roots)
        vectors = [name for name, _ in plan.vectors]
        self.inputs = [n for n in nodes if n.op == "in" and plan.varies[n]]
        kept = [n for n in nodes if n in plan.kept]
        self.reading = [n for n in kept if plan.first_use[n] < number]
        self.writing = [n for n in kept if plan.first_use[n] == number]
        used = {vectors.index(n.arg) for n in self.inputs} | set(written)
        used |= {plan.kept[n] for n in kept}
        self.cursor = Cursor(f, len(plan.operand_dtypes()), sorted(used))
        self.body = Body(f, plan.meaning, plan.types)
        self.positions = [n for n in nodes if n.op == "iota"]
        give_scalars(plan, self.body, f, self.cursor.state, nodes)

    def open(self, accumulators: Sequence[Lane] = ()) -> list[Lane]:
        """Start the loop and load this vector's inputs."""
        f, plan = self.f, self.plan
        if self.positions:
            start = f.load("i64", self.cursor.state, SLOT * POSITION)
        running = self.cursor.open(accumulators)
        for node in self.inputs:
            k = [name for name, _ in plan.vectors].index(node.arg)
            self.body.give(node, load(f, self.cursor.pointers[k], plan.vectors[k][1]))
        for node in self.reading:
            self.body.give(node, load(f, self.cursor.pointers[plan.kept[node]], plan.types[node]))
        if self.positions:
            before = f.i64("add", start, f.i64("mul", "%i", f.width))
            self.body.give(self.positions[0], f.splat("i64", before) + ramp(f, "i64"))
        return running

    def close(self, updated: Sequence[Lane] = ()) -> None:
        """Keep what later bodies read, end the loop, advance the position."""
        f = self.f
        for node in self.writing:
            store(f, self.body.values[node], self.cursor.pointers[self.plan.kept[node]],
                  self.plan.types[node])
        self.cursor.close(updated)
        if self.positions:
            place = SLOT * POSITION
            step = f.i64("mul", "%vectors", f.width)
            f.store("i64", f.i64("add", f.load("i64", self.cursor.state, place), step),
                    self.cursor.state, place)


def ramp(f: Function, kind: str) -> Lane:
    """0, 1, 2, ... over the lanes."""
    return Lane(f, kind, "<" + ", ".join(f"{kind} {k}" for k in range(f.width)) + ">")


def give_scalars(plan: Plan, body: Body, f: Function, state: str, nodes: Sequence[Expr]) -> None:
    """Tell a body the row's scalars, finished reductions, extent and picked elements."""
    with f.early():
        for node in nodes:
            if node not in body.values:
                _give_scalar(plan, body, f, state, node)
        for node in nodes:
            if node.op == "at":
                _give_picked(plan, body, f, state, node)


def _give_scalar(plan: Plan, body: Body, f: Function, state: str, node: Expr) -> None:
    if node.op == "in" and not plan.varies[node]:
        slot = plan.scalar_slot[node.arg]
        body.give(node, load_scalar(f, state, SLOT * slot, body.storage[node.arg]), True)
    elif node.op == "reduce":
        d = plan.types[node]
        body.give(node, load_scalar(f, state, SLOT * plan.result_slot[node], d), True)
    elif node.op == "extent":
        kind = LLVM[plan.types[node]]
        n = f.op(f"sitofp i64 {f.load('i64', state)} to {kind}")
        body.give(node, f.splat(kind, n), True)


def _give_picked(plan: Plan, body: Body, f: Function, state: str, node: Expr) -> None:
    source, index = node.src
    give_scalars(plan, body, f, state, within([index]))
    body.compute([index])
    k = [name for name, _ in plan.vectors].index(source.arg)
    base = f.load("ptr", state, SLOT * (OPERANDS + 2 * k))
    step = f.load("i64", state, SLOT * (OPERANDS + 2 * k + 1))
    lane = convert(body.values[index], plan.types[index], "int64")
    body.give(node, picked(f, lane, f.load("i64", state), base, step, plan.vectors[k][1]), True)


def picked(f: Function, index: Lane, n: str, base: str, step: str, storage: str) -> Lane:
    """The element of a row of `n` that the first lane of `index` names, moved into the row."""
    i = f.op(f"extractelement {index!r}, i64 0")
    f.module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
    f.module.declare("smax", "declare i64 @llvm.smax.i64(i64, i64)")
    i = f.op(f"call i64 @llvm.smin.i64(i64 {i}, i64 {f.i64('sub', n, 1)})")
    i = f.op(f"call i64 @llvm.smax.i64(i64 {i}, i64 0)")
    kind = storage_kind(storage)
    return widen(f.splat(kind, f.load(kind, base, f.i64("mul", i, step))), storage)


_HEADER = "define internal void @{}(ptr %frame, i64 %vectors, i64 %valid)"


def level_body(module: Module, plan: Plan, number: int) -> None:
    """Write `level<number>`, which accumulates the reductions of a level."""
    reductions = plan.levels[number]
    f = Function(module, _HEADER.format(f"level{number}"), plan.lanes)
    stage = _Stage(plan, f, number, [r.src[0] for r in reductions], ())
    with f.early():
        counts = ramp(f, "i32").compare("lt", f.splat("i32", f.op("trunc i64 %valid to i32")))
    elements = [element(plan, r) for r in reductions]
    starts = [f.const(LLVM[d], identity(r.arg, d)) for r, d in zip(reductions, elements, strict=True)]
    running = stage.open(starts)
    stage.body.compute([r.src[0] for r in reductions])
    updated = []
    for r, d, total in zip(reductions, elements, running, strict=True):
        source = r.src[0]
        value = convert(stage.body.values[source], plan.types[source], d)
        updated.append(combine(r.arg, d, total, value))
    stage.close(updated)
    # A vector of which only some lanes are valid is the only one of its call.
    updated = [counts.where(value, start) for value, start in zip(updated, starts, strict=True)]
    for r, d, value in zip(reductions, elements, updated, strict=True):
        w = wide(r.arg, d)
        place = f.at(stage.cursor.state, SLOT * plan.accumulator_slot[r])
        total = combine(r.arg, w, load(f, place, w), convert(value, d, w))
        store(f, total, place, w)
    f.emit("ret void")
    f.finish()


def begin(module: Module, plan: Plan) -> None:
    """Write `begin`, which empties the accumulators."""
    f = Function(module, "define internal void @begin(ptr %state)", plan.lanes)
    for r, slot in plan.accumulator_slot.items():
        w = wide(r.arg, element(plan, r))
        store(f, f.const(LLVM[w], identity(r.arg, w)), f.at("%state", SLOT * slot), w)
    f.emit("ret void")
    f.finish()


def level_end(module: Module, plan: Plan, number: int) -> None:
    """Write `end<number>`: the lanes of a level's accumulators become its results."""
    f = Function(module, f"define internal void @end{number}(ptr %state)", plan.lanes)
    for r in plan.levels[number]:
        d = element(plan, r)
        w = wide(r.arg, d)
        total = load(f, f.at("%state", SLOT * plan.accumulator_slot[r]), w)
        total = across(f, r.arg, w, total)
        _store_first(f, convert(total, w, plan.types[r]), plan.types[r], SLOT * plan.result_slot[r])
    f.emit("ret void")
    f.finish()


def across(f: Function, kind: str, d: str, total: Lane) -> Lane:
    """The lanes of a reduction combined pairwise, in every lane."""
    half = f.width // 2
    while half:
        order = ", ".join(f"i32 {(k + half) % f.width}" for k in range(f.width))
        other = f.lanes(total.kind, f"shufflevector {total!r}, {total.type} poison, "
                                    f"<{f.width} x i32> <{order}>")
        total = combine(kind, d, total, other)
        half //= 2
    return total


def first_lane(f: Function, x: Lane, d: str) -> tuple[str, str]:
    """(LLVM type, register) of a lane as it lies in memory in dtype `d`."""
    x = narrow(x, d)
    return x.kind, f.op(f"extractelement {x!r}, i64 0")


def _store_first(f: Function, x: Lane, d: str, offset: int) -> None:
    f.store(*first_lane(f, x, d), "%state", offset)


def final_body(module: Module, plan: Plan) -> None:
    """Write `final`, which stores the outputs that vary along the row."""
    outputs = [plan.meaning.outputs[i] for i in plan.out_vectors]
    f = Function(module, _HEADER.format("final"), plan.lanes)
    first = len(plan.vectors)
    stage = _Stage(plan, f, len(plan.levels), outputs, range(first, first + len(outputs)))
    stage.open()
    stage.body.compute(outputs)
    for k, i in enumerate(plan.out_vectors):
        d = plan.meaning.out_dtypes[i]
        store(f, result(stage.body, plan.meaning.outputs[i], d), stage.cursor.pointers[first + k], d)
    stage.close()
    f.emit("ret void")
    f.finish()


def finish(module: Module, plan: Plan) -> None:
    """Write `finish`, which leaves the outputs that are one value per row in the state."""
    outputs = [plan.meaning.outputs[i] for i in plan.out_scalars]
    f = Function(module, "define internal void @finish(ptr %state)", plan.lanes)
    f.mark_early()
    body = Body(f, plan.meaning, plan.types)
    give_scalars(plan, body, f, "%state", within(outputs))
    body.compute(outputs)
    for i in plan.out_scalars:
        d = plan.meaning.out_dtypes[i]
        _store_first(f, result(body, plan.meaning.outputs[i], d), d, SLOT * plan.output_slot[i])
    f.emit("ret void")
    f.finish()
