"""The text of kernels: a pointwise kernel's threads stride over the elements, a row kernel has a block a row.

Reductions are trees whose shape depends on the row's length and the block's size alone: each thread adds up
its elements in order, warps exchange, warps' results meet in shared memory. So results are the same every
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from rushlight._engine.derive.types import operand_type
from rushlight._engine.devices.cuda.kernels.device_atoms import ATOMS
from rushlight._engine.devices.cuda.kernels.targets import TARGETS, WARP, Nvptx, Thread
from rushlight._engine.kernels.emit.atom_code import LLVM, convert
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import BITS, Module, literal
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import (
    Body,
    item_size,
    load,
    load_scalar,
    narrow,
    result,
    storage_kind,
    store,
    widen,
)
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.loops.row_plan import (
    RowLevels,
    combine,
    element,
    first_lane,
    identity,
    picked,
    within,
)
from rushlight._engine.ops.expressions import Expr

# The most bytes that one access moves.
ACCESS = 16


def _checked(meaning: Meaning, types: dict[Expr, str]) -> None:
    """Unsupported for a dtype without machine code."""
    for d in {d for _, d in meaning.inputs} | set(meaning.out_dtypes):
        storage_kind(d)
    for d in set(types.values()):
        if d not in LLVM:
            raise Unsupported(f"computing in {d}")


def vector_width(meaning: Meaning) -> int:
    """How many elements a thread of a flat kernel takes at once: accesses of at most 16 bytes."""
    sizes = [item_size(d) for _, d in meaning.inputs] + [item_size(d) for d in meaning.out_dtypes]
    return max(ACCESS // max(sizes), 1)


@lru_cache(maxsize=1024)
def pointwise(
    meaning: Meaning,
    rank: int = 0,
    width: int = 1,
    values: frozenset[str] = frozenset(),
    axes: tuple[tuple[str, int], ...] = (),
    checked: tuple[tuple[str, str, str], ...] = (),
    placed: bool = False,
    bases: tuple[str, ...] = (),
    target: str = "nvptx",
) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) for expressions over arrays of a common shape.

    values: the inputs that are one number, handed over by its bits and not by an address.
    axes: the inputs that are an element's coordinate along an axis.
    checked: (input, low, high), whose elements must lie in [low, high), which are values; one that does not
    is told at the address that is the last number.
    placed: the second of two outputs is the address at which the first is stored.
    bases: the inputs that are the address of an array, for fetches and stores. The parameters: `bases`;
    addresses of the other inputs and of the outputs; `n`; the bits of `values`, in order.
    rank 0: all arrays are contiguous; `n` counts elements in `width`s, which a thread takes at once.
    rank r: `n` elements; before the bits sizes, then for each array its strides in bytes.
    Unsupported for atoms or dtypes without code.
    """
    return _Pointwise(meaning, rank, width, values, axes, checked, placed, bases, target).text()


class _Pointwise:
    """A pointwise kernel being written."""

    body: ThreadBody  # where the expressions are written to

    def __init__(
        self,
        meaning: Meaning,
        rank: int,
        width: int,
        values: frozenset[str],
        axes: Sequence[tuple[str, int]],
        checked: Sequence[tuple[str, str, str]],
        placed: bool,
        bases: Sequence[str],
        target: str,
    ) -> None:
        self.meaning, self.rank, self.axes, self.checked = meaning, rank, axes, checked
        self.placed, self.bases = placed, bases
        self.types = meaning.types()
        _checked(meaning, self.types)
        apart = {*values, *dict(axes), *bases}
        self.inputs = [(name, d) for name, d in meaning.inputs if name not in apart]
        self.values = [(name, d) for name, d in meaning.inputs if name in values]
        self.storage = [*[d for _, d in self.inputs], *(() if placed else meaning.out_dtypes)]
        count = len(self.storage)
        pointers = [*[f"b{k}" for k in range(len(bases))], *[f"p{k}" for k in range(count)]]
        numbers = [
            "n",
            *[f"d{i}" for i in range(rank)],
            *[f"s{k}_{i}" for k in range(count) for i in range(rank)],
            *[f"x{k}" for k in range(len(self.values))],
            *(["failed"] if checked else []),
        ]
        self.module = Module(fma=True)
        self.function: Thread = TARGETS[target](self.module, "kernel", pointers, numbers, width)
        self.nodes = {n.arg: n for n in self.types if n.op == "in"}

    def text(self) -> tuple[str, int]:
        """(the module, its barriers)."""
        f = self.function
        f.begin()
        first, step = f.place()
        self.body = ThreadBody(f, self.meaning, self.types)
        for k, name in enumerate(self.bases):
            self._give(name, f.splat("i64", f.op(f"ptrtoint ptr %b{k} to i64")), True)
        for k, (name, d) in enumerate(self.values):
            self._give(name, from_bits(f, f"%x{k}", d), True)
        f.mark_early()
        with strided(f, first, step, "%n") as i:
            self._element(i)
        f.emit("ret void")
        f.finish()
        return self.module.text(), f.barriers

    def _give(self, name: str, value: Lane, invariant: bool = False) -> None:
        if name in self.nodes:
            self.body.give(self.nodes[name], value, invariant)

    def _element(self, i: str) -> None:
        """What a thread does with element number i."""
        f, body, nodes, meaning = self.function, self.body, self.nodes, self.meaning
        coordinates = decomposed(f, i, [f"%d{axis}" for axis in range(self.rank)])
        places = _places(f, i, coordinates, self.storage, f.width)
        for name, axis in self.axes:
            self._give(name, f.splat("i64", coordinates[axis]))
        for pointer, (name, d) in zip(places, self.inputs, strict=False):
            if name in nodes:
                self._give(name, _vector_load(f, pointer, d))
        for name, low, high in self.checked:
            index = convert(body.values[nodes[name]], self.types[nodes[name]], "int64")
            note_outside(f, index, *[body.values[nodes[n]] for n in (low, high)])
        body.compute(meaning.outputs)
        if self.placed:
            value, address = meaning.outputs
            found = result(body, value, meaning.out_dtypes[0])
            at = f.op(f"extractelement {body.values[address]!r}, i64 0")
            store(f, found, f.op(f"inttoptr i64 {at} to ptr"), meaning.out_dtypes[0])
            return
        outputs = zip(places[len(self.inputs) :], meaning.outputs, meaning.out_dtypes, strict=True)
        for pointer, root, d in outputs:
            _vector_store(f, result(body, root, d), pointer, d)


class ThreadBody(Body):
    """A body of a thread: what it fetches is read where it lies, and it knows the device's own atoms."""

    def _node(self, node: Expr) -> Lane:
        emitter = ATOMS.get(node.op)
        if emitter is not None:
            operands = [self.operand(node, i) for i in range(len(node.src))]
            found = emitter(operand_type(node, self.types, len(node.src) - 1), node.arg, *operands)
            if found is not None:
                return found
        return super()._node(node)

    def _fetched(self, storage: str, base: Lane, index: Lane) -> Lane:
        f, kind = self.function, storage_kind(storage)
        at = base + index * (BITS[kind] // 8)
        place = f.op(f"inttoptr i64 {f.op(f'extractelement {at!r}, i64 0')} to ptr")
        return widen(f.splat(kind, f.load(kind, place)), storage)


def applied(f: Thread, meaning: Meaning, x: Lane) -> Lane:
    """A function of one number, given by the expression of its symbol."""
    body = ThreadBody(f, meaning, meaning.types())
    (root,) = meaning.outputs
    body.give(root.src[0], x)
    body.compute(meaning.outputs)
    return body.values[root]


def note_outside(f: Thread, index: Lane, low: Lane, high: Lane) -> str:
    """Note at %failed that an index lies outside [low, high); an i1: whether it does."""
    wrong = (index < low) | (index >= high)
    found = f.op(f"extractelement {wrong!r}, i64 0")
    with f.when(found):
        f.store("i64", 1, f.op("inttoptr i64 %failed to ptr"))
    return found


def decomposed(f: Thread, i: str, sizes: Sequence[str]) -> list[str]:
    """The coordinates of element number i, of dims of these sizes."""
    rest, coordinates = i, list[str]()
    for size in reversed(sizes[1:]):
        quotient = f.i64("udiv", rest, size)
        coordinates.insert(0, f.i64("sub", rest, f.i64("mul", quotient, size)))
        rest = quotient
    return [rest, *coordinates] if sizes else []


def offset_of(f: Thread, coordinates: Sequence[str], strides: Sequence[str]) -> str:
    """The bytes from an array's beginning to the element at coordinates."""
    total = "0"
    for c, stride in zip(coordinates, strides, strict=True):
        total = f.i64("add", total, f.i64("mul", c, stride))
    return total


def _places(f: Thread, i: str, coordinates: list[str], storage: Sequence[str], width: int) -> list[str]:
    """Where each array's element number i lies."""
    if not coordinates:
        return [f.at(f"%p{k}", f.i64("mul", i, item_size(d) * width)) for k, d in enumerate(storage)]
    found = []
    for k in range(len(storage)):
        offset = offset_of(f, coordinates, [f"%s{k}_{axis}" for axis in range(len(coordinates))])
        found.append(f.op(f"getelementptr i8, ptr %p{k}, i64 {offset}"))
    return found


def from_bits(f: Thread, bits: str, d: str) -> Lane:
    """A number of dtype d, given by its bits in an i64, in every lane."""
    kind = storage_kind(d)
    size = BITS[kind]
    whole = bits if size == 64 else f.op(f"trunc i64 {bits} to i{size}")
    floating = kind in ("float", "double", "half")
    return widen(f.splat(kind, f.op(f"bitcast i{size} {whole} to {kind}") if floating else whole), d)


def _vector_load(f: Thread, pointer: str, d: str) -> Lane:
    """`width` elements in one access, where the target has aligned memory."""
    if f.width == 1 or not isinstance(f, Nvptx):
        return load(f, pointer, d)
    kind, align = storage_kind(d), min(ACCESS, f.width * item_size(d))
    return widen(f.lanes(kind, f"load {f.type(kind)}, ptr {pointer}, align {align}"), d)


def _vector_store(f: Thread, x: Lane, pointer: str, d: str) -> None:
    if f.width == 1 or not isinstance(f, Nvptx):
        store(f, x, pointer, d)
        return
    align = min(ACCESS, f.width * item_size(d))
    f.emit(f"store {narrow(x, d)!r}, ptr {pointer}, align {align}")


@contextmanager
def strided(f: Thread, start: str, step: str, count: str) -> Iterator[str]:
    """A loop from `start` by `step` below `count`."""
    i = f.var(start)
    with f.endless() as done:
        value = i.get()
        f.leave(f.i64("icmp sge", value, count), done)
        yield value
        i.set(f.i64("add", value, step))


# --- values that threads exchange ----------------------------------------------------------------


def one(f: Thread, lane: Lane) -> str:
    """The one lane of a value."""
    return f.op(f"extractelement {lane!r}, i64 0")


def _warp(f: Thread, how: str, d: str, value: str) -> str:
    kind = LLVM[d]
    for distance in (16, 8, 4, 2, 1):
        other = f.shuffle(kind, value, distance)
        value = one(f, combine(how, d, f.splat(kind, value), f.splat(kind, other)))
    return value


def across(f: Thread, how: str, d: str, value: str, me: str, threads: str, shared: str) -> str:
    """One value of the block's threads: of each warp by exchange, then of the warps, in `shared`."""
    kind = LLVM[d]
    stored = "i8" if kind == "i1" else kind
    value = _warp(f, how, d, value)
    lane, warp = f.i64("and", me, WARP - 1), f.i64("lshr", me, 5)
    f.barrier()  # readers of the last reduction are through
    with f.when(f.i64("icmp eq", lane, 0)):
        given = f.op(f"zext i1 {value} to i8") if kind == "i1" else value
        f.store(stored, given, shared, f.i64("mul", warp, 8))
    f.barrier()
    inside = f.i64("icmp ult", lane, f.i64("lshr", threads, 5))
    found = f.load(stored, shared, f.i64("mul", lane, 8))
    found = f.op(f"trunc i8 {found} to i1") if kind == "i1" else found
    nothing = literal(kind, identity(how, d))
    return _warp(f, how, d, f.op(f"select i1 {inside}, {kind} {found}, {kind} {nothing}"))


# --- rows -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def rows(meaning: Meaning, roles: tuple[str, ...], values: frozenset[str], target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) for row expressions; `roles` are "vector" or "scalar".

    values: the scalars that are the same number for all rows, handed over by its bits.
    Pointers: the other inputs, then outputs, whose rows lie without gaps. Numbers: `rows`, `n`, for each
    array the bytes from a row to the next, the bits of `values`. Blocks stride over the rows; a block has
    whole warps.
    """
    return _Rows(meaning, roles, values, target).text()


class _Rows:
    """A row kernel being written."""

    # This thread, the threads of a block, and memory that they share.
    me: str
    threads: str
    shared: str

    def __init__(self, meaning: Meaning, roles: tuple[str, ...], values: frozenset[str], target: str) -> None:
        self.meaning, self.plan = meaning, RowLevels(meaning, roles, 1)
        _checked(meaning, self.plan.types)
        self.names = [name for name, _ in meaning.inputs if name not in values]
        self.given = {name: d for name, d in meaning.inputs if name in values}
        self.storage = [*[d for name, d in meaning.inputs if name not in values], *meaning.out_dtypes]
        count = len(self.storage)
        numbers = ["rows", "n", *[f"s{k}" for k in range(count)], *[f"x_{name}" for name in self.given]]
        self.module = Module(fma=True)
        self.function: Thread = TARGETS[target](
            self.module, "kernel", [f"p{k}" for k in range(count)], numbers
        )
        self.known: dict[Expr, Lane] = {}
        self.bases: list[str] = []

    def text(self) -> tuple[str, int]:
        """The module."""
        f = self.function
        f.begin()
        self.me, self.threads = f.special("tid"), f.special("ntid")
        self.shared = f.shared("i64", WARP)
        first, blocks = f.special("ctaid"), f.special("nctaid")
        f.mark_early()
        with strided(f, first, blocks, "%rows") as row:
            self.known = {}
            self.bases = [f.at(f"%p{k}", f.i64("mul", row, f"%s{k}")) for k in range(len(self.storage))]
            for reductions in self.plan.levels:
                self._reduce(reductions)
            self._store()
        f.emit("ret void")
        f.finish()
        return self.module.text(), f.barriers

    def _body(self, nodes: Sequence[Expr]) -> Body:
        """A body that knows what does not vary along the row."""
        f, plan = self.function, self.plan
        body = ThreadBody(f, self.meaning, plan.types)
        for node in nodes:
            if node in self.known:
                body.give(node, self.known[node])
            elif node.op == "in" and node.arg in self.given:
                body.give(node, from_bits(f, f"%x_{node.arg}", self.given[node.arg]))
            elif node.op == "in" and not plan.varies[node]:
                k = self.names.index(node.arg)
                body.give(node, load_scalar(f, self.bases[k], 0, self.storage[k]))
            elif node.op == "extent":
                kind = LLVM[plan.types[node]]
                body.give(node, f.splat(kind, f.op(f"sitofp i64 %n to {kind}")))
        for node in nodes:
            if node.op == "at":
                source, index = node.src
                inner = self._body(within([index]))
                inner.compute([index])
                k = self.names.index(source.arg)
                place = convert(inner.values[index], plan.types[index], "int64")
                step = str(item_size(self.storage[k]))
                body.give(node, picked(f, place, "%n", self.bases[k], step, self.storage[k]))
        return body

    def _along(self, roots: Sequence[Expr], i: str) -> Body:
        """A body of what varies, at place i of the row."""
        f, nodes = self.function, within(roots)
        body = self._body(nodes)
        for node in nodes:
            if node.op == "in" and self.plan.varies[node]:
                k = self.names.index(node.arg)
                place = f.at(self.bases[k], f.i64("mul", i, item_size(self.storage[k])))
                body.give(node, load(f, place, self.storage[k]))
            elif node.op == "iota":
                body.give(node, f.splat("i64", i))
        body.compute(roots)
        return body

    def _reduce(self, reductions: Sequence[Expr]) -> None:
        f, plan = self.function, self.plan
        dtypes = [element(plan, x) for x in reductions]
        totals = [
            f.var(literal(LLVM[d], identity(x.arg, d)), LLVM[d])
            for x, d in zip(reductions, dtypes, strict=True)
        ]
        roots = [x.src[0] for x in reductions]
        with strided(f, self.me, self.threads, "%n") as i:
            body = self._along(roots, i)
            for x, d, total, root in zip(reductions, dtypes, totals, roots, strict=True):
                value = convert(body.values[root], plan.types[root], d)
                total.set(one(f, combine(x.arg, d, f.splat(LLVM[d], total.get()), value)))
        for x, d, total in zip(reductions, dtypes, totals, strict=True):
            whole = across(f, x.arg, d, total.get(), self.me, self.threads, self.shared)
            self.known[x] = convert(f.splat(LLVM[d], whole), d, plan.types[x])

    def _store(self) -> None:
        f, plan, meaning, ins = self.function, self.plan, self.meaning, len(self.names)
        if plan.out_vectors:
            outputs = [meaning.outputs[o] for o in plan.out_vectors]
            with strided(f, self.me, self.threads, "%n") as i:
                body = self._along(outputs, i)
                for o in plan.out_vectors:
                    d = meaning.out_dtypes[o]
                    place = f.at(self.bases[ins + o], f.i64("mul", i, item_size(d)))
                    store(f, result(body, meaning.outputs[o], d), place, d)
        for o in plan.out_scalars:
            body = self._body(within([meaning.outputs[o]]))
            body.compute([meaning.outputs[o]])
            with f.when(f.i64("icmp eq", self.me, 0)):
                d = meaning.out_dtypes[o]
                kind, value = first_lane(f, result(body, meaning.outputs[o], d), d)
                f.store(kind, value, self.bases[ins + o])
