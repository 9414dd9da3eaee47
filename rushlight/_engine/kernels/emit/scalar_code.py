"""Scalar expressions to LLVM IR: the body that every kernel's loops run.

A body is a function `void body(ptr frame, i64 vectors, i64 valid)`. The frame is an array of
eight-byte slots:
  0          pointer to the state (per-row scalars and accumulators, eight bytes or more each)
  1 .. K     pointers of the K vector operands, advanced past what was read on return
  K+1 .. 2K  by how many bytes they advance per vector of `width` lanes (0: the same lanes again)
Every operand has `width` lanes at its pointer; of the last vector only `valid` lanes count for
reductions, stores write them all. shared_loops.py has the loops that call bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive.types import operand_type
from rushlight._engine.kernels.emit.atom_code import EMITTERS, LLVM, convert
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import BITS, SUFFIX, Function
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.special_code import SPECIAL
from rushlight._engine.kernels.emit.target import Unsupported, host
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.shared_loops import close
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, toposort

# Of these many bytes of the widest element is a body's vector: two to four registers.
VECTOR_BYTES = 64
_STORED = {**LLVM, "bool": "i8", "bfloat16": "i16", "float16": "half"}
_STAY_IN_LOOP = frozenset([*"sin cos tan fmod remainder floor_divide pow power".split(), *SPECIAL])


def storage_kind(d: str) -> str:
    """The LLVM type in which a dtype lies in memory."""
    if d not in _STORED:
        raise Unsupported(f"dtype {d}")
    return _STORED[d]


def check(meaning: Meaning, types: Mapping[Expr, str]) -> None:
    """Raise Unsupported for a dtype without machine code."""
    stored = {d for _, d in meaning.inputs} | set(meaning.out_dtypes)
    for d in stored:
        storage_kind(d)
    for d in set(types.values()):
        if d not in LLVM:
            raise Unsupported(f"computing in {d}")
    if "float16" in stored and not host().half:
        raise Unsupported("float16 on a processor that does not convert it")


def lanes_for(types: Mapping[Expr, str]) -> int:
    """How many lanes a body's vectors have."""
    return VECTOR_BYTES // max((BITS[LLVM[t]] // 8 or 1 for t in types.values()), default=4)


def widen(x: Lane, storage: str) -> Lane:
    """A value as it lies in memory, in its compute dtype."""
    if storage == "bool":
        return x.compare("ne", 0)
    if storage == "bfloat16":
        return x.cast("zext", "i32").bits("shl", 16).cast("bitcast", "float")
    return x.cast("fpext", "float") if storage == "float16" else x


def narrow(x: Lane, storage: str) -> Lane:
    """A computed value as it lies in memory; half precisions round to nearest, ties to even."""
    if storage == "bool":
        return x.cast("zext", "i8")
    if storage == "float16":
        return x.cast("fptrunc", "half")
    if storage == "bfloat16":
        bits = x.cast("bitcast", "i32")
        rounded = (bits + ((bits.bits("lshr", 16) & 1) + 0x7FFF)).bits("lshr", 16)
        return x.is_nan().where(0x7FC0, rounded).cast("trunc", "i16")
    return x


def load(f: Function, pointer: str, storage: str) -> Lane:
    """`width` elements from memory, in their compute dtype."""
    kind = storage_kind(storage)
    align = BITS[kind] // 8
    return widen(f.lanes(kind, f"load {f.type(kind)}, ptr {pointer}, align {align}"), storage)


def load_some(f: Function, pointer: str, mask: Lane, others: Lane) -> Lane:
    """The elements in memory that a mask names, as they are stored, and others."""
    kind = others.kind
    name, vec = f"@llvm.masked.load.v{f.width}{SUFFIX[kind]}.p0", f.type(kind)
    f.module.declare(name, f"declare {vec} {name}(ptr, i32, <{f.width} x i1>, {vec})")
    given = f"ptr {pointer}, i32 {BITS[kind] // 8}, {mask!r}, {others!r}"
    return f.lanes(kind, f"call {vec} {name}({given})")


def store_some(f: Function, x: Lane, pointer: str, mask: Lane) -> None:
    """The lanes that a mask names to memory."""
    name = f"@llvm.masked.store.v{f.width}{SUFFIX[x.kind]}.p0"
    f.module.declare(name, f"declare void {name}({x.type}, ptr, i32, <{f.width} x i1>)")
    f.emit(f"call void {name}({x!r}, ptr {pointer}, i32 {BITS[x.kind] // 8}, {mask!r})")


def store(f: Function, x: Lane, pointer: str, storage: str) -> None:
    """Computed values to memory."""
    x = narrow(x, storage)
    f.emit(f"store {x!r}, ptr {pointer}, align {BITS[x.kind] // 8}")


def load_scalar(f: Function, pointer: str, offset: int, storage: str) -> Lane:
    """One element, in every lane."""
    kind = storage_kind(storage)
    return widen(f.splat(kind, f.load(kind, pointer, offset)), storage)


class Body:
    """The nodes of expressions as Lanes of one function."""

    def __init__(self, f: Function, meaning: Meaning, types: Mapping[Expr, str]) -> None:
        self.function, self.types = f, types
        self.storage = dict(meaning.inputs)
        self.values: dict[Expr, Lane] = {}
        self.invariant: set[Expr] = set()
        self._converted: dict[tuple[Expr, str], Lane] = {}

    def give(self, node: Expr, value: Lane, invariant: bool = False) -> None:
        """Say what a node (an input, a reduction's result) is."""
        self.values[node] = value
        if invariant:
            self.invariant.add(node)

    def compute(self, outputs: Sequence[Expr]) -> list[Lane]:
        """The values of expressions whose inputs were given."""
        pending = [o for o in outputs if o not in self.values]
        for node in toposort(pending, self.values):
            fixed = all(s in self.invariant for s in node.src) and node.op not in _STAY_IN_LOOP
            with self.function.early(fixed):
                self.values[node] = self._node(node)
            if fixed:
                self.invariant.add(node)
        return [self.values[o] for o in outputs]

    def _node(self, node: Expr) -> Lane:
        own = self.types[node]
        if node.op == "const":
            return self.function.const(LLVM[own], number(node.arg, own))
        if node.op == "cast":
            found = convert(self.values[node.src[0]], self.types[node.src[0]], own)
            # To a half precision: rounded, and widened again.
            return widen(narrow(found, node.arg), node.arg) if node.arg in ("float16", "bfloat16") else found
        if node.op == "largest":
            return self._largest(node, own)
        if node.op == "fetch":
            return self._fetched(node.arg, *[self.values[s] for s in node.src])
        emitter = EMITTERS.get(node.op) or SPECIAL.get(node.op)
        if emitter is None or node.arg is not None:
            raise Unsupported(node.op)
        operands = [self.operand(node, i) for i in range(len(node.src))]
        d = operand_type(node, self.types, len(node.src) - 1)
        return emitter(d, *operands)

    def _fetched(self, storage: str, base: Lane, index: Lane) -> Lane:
        """Elements in memory; lanes of the last vector that do not count read the first lane's."""
        f, kind, whole = self.function, storage_kind(storage), "poison"
        at = base + index * (BITS[kind] // 8)
        first = f.splat("i64", f.op(f"extractelement {at!r}, i64 0"))
        last = f.i64("icmp eq", f.i64("add", "%i", 1), "%vectors")
        valid = f.splat("i64", f.op(f"select i1 {last}, i64 %valid, i64 {f.width}"))
        line = Lane(f, "i64", f"<{', '.join(f'i64 {k}' for k in range(f.width))}>")
        at = (line < valid).where(at, first)
        for k in range(f.width):
            one = f.load(kind, f.op(f"inttoptr i64 {f.op(f'extractelement {at!r}, i64 {k}')} to ptr"))
            whole = f.op(f"insertelement {f.type(kind)} {whole}, {kind} {one}, i64 {k}")
        return widen(Lane(f, kind, whole), storage)

    def _largest(self, node: Expr, own: str) -> Lane:
        source = node.src[0]
        storage = self.storage[source.arg] if source.op == "in" else self.types[source]
        return self.function.const(
            LLVM[own], ATOMS["largest"].numpy(np.zeros((), dt.BY_NAME[storage].np)).item()
        )

    def operand(self, node: Expr, which: int) -> Lane:
        """An operand, converted to the dtype in which the atom is applied."""
        source = node.src[which]
        own, wanted = self.types[source], operand_type(node, self.types, which)
        if own == wanted:
            return self.values[source]
        found = self._converted.get((source, wanted))
        if found is None:
            with self.function.early(source in self.invariant):
                found = self._converted[source, wanted] = convert(self.values[source], own, wanted)
        return found


def number(value: bool | int | float | complex, d: str) -> int | float:
    """A literal of the expression as one of the dtype."""
    if isinstance(value, complex):
        value = value.real
    if d == "bool":
        return bool(value)
    return float(value) if dt.BY_NAME[d].is_floating_point else int(value)


def result(body: Body, root: Expr, out_dtype: str) -> Lane:
    """An output in the compute dtype of the dtype it is stored in."""
    wanted = dt.opmath(dt.BY_NAME[out_dtype]).name
    with body.function.early(root in body.invariant):
        return convert(body.values[root], body.types[root], wanted)


@contextmanager
def _walk(f: Function, operands: int) -> Iterator[list[str]]:
    """The loop of a body: one phi per operand pointer; on exit pointers are written back."""
    starts = [f.load("ptr", "%frame", SLOT * (1 + k)) for k in range(operands)]
    steps = [f.load("i64", "%frame", SLOT * (1 + operands + k)) for k in range(operands)]
    pointers = [f"%p{k}" for k in range(operands)]
    f.mark_early()
    f.emit("br label %loop")
    f.start("loop")
    f.mark_phis()
    yield pointers
    nexts = [f.at(p, step) for p, step in zip(pointers, steps, strict=True)]
    after = f.i64("add", "%i", 1)
    f.phi("i64", "%i", "0", after)
    for pointer, start, following in zip(pointers, starts, nexts, strict=True):
        f.phi("ptr", pointer, start, following)
    more = f.i64("icmp ult", after, "%vectors")
    f.emit(f"br i1 {more}, label %loop, label %done")
    f.start("done")
    for k, following in enumerate(nexts):
        f.store("ptr", following, "%frame", SLOT * (1 + k))


def pointwise_body(
    f: Function, meaning: Meaning, types: Mapping[Expr, str], scalars: Mapping[str, int]
) -> None:
    """Write a body that stores expressions.

    `scalars` maps names of inputs that are not vectors to their slots of the state.
    """
    vectors = [(n, d) for n, d in meaning.inputs if n not in scalars]
    state, body = f.load("ptr", "%frame"), Body(f, meaning, types)
    nodes = {n.arg: n for n in toposort(meaning.outputs) if n.op == "in"}
    with f.early():
        for name, slot in scalars.items():
            if name in nodes:
                body.give(nodes[name], load_scalar(f, state, SLOT * slot, body.storage[name]), True)
    with _walk(f, len(vectors) + len(meaning.outputs)) as pointers:
        for pointer, (name, d) in zip(pointers, vectors, strict=False):
            if name in nodes:
                body.give(nodes[name], load(f, pointer, d))
        body.compute(meaning.outputs)
        stored = zip(pointers[len(vectors) :], meaning.outputs, meaning.out_dtypes, strict=True)
        for pointer, root, d in stored:
            store(f, result(body, root, d), pointer, d)
    close(f, "void")


def record(name: str, parts: Sequence[int | str], internal: bool = False) -> str:
    """A global of eight-byte slots: numbers, and names of functions and globals (or null)."""
    kinds = ["ptr" if isinstance(p, str) else "i64" for p in parts]
    values = ", ".join(f"{k} {p}" for k, p in zip(kinds, parts, strict=True))
    linkage = "internal constant" if internal else "hidden constant"
    return f"@{name} = {linkage} {{{', '.join(kinds)}}} {{{values}}}"


def item_size(d: str) -> int:
    """Bytes of an element in memory."""
    return BITS[storage_kind(d)] // 8
