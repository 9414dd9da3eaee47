"""What a row kernel does, before any code of it is written: its operands, its levels, how reductions run.

A reduction's level is the number of reductions nested in it: level by level the row is walked, and results of
earlier levels are scalars to later ones. Sums have two stages, vectors within a block of the row and across
blocks in double precision; the lanes are then combined pairwise. So their tree depends on n alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rushlight._engine.core import dtype as dt
from rushlight._engine.kernels.emit.atom_code import EMITTERS
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Function
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.scalar_code import lanes_for, narrow, storage_kind, widen
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.numerics import accumulate
from rushlight._engine.ops.expressions import Expr, toposort
from rushlight._engine.ops.row_expressions import COSTLY, is_vector

# What numerics/accumulate.py calls them.
_HOW = {"add": "sum", "any": "sum", "mul": "prod", "all": "prod", "max": "amax", "min": "amin"}


@dataclass
class RowLevels:
    """A row kernel's operands and levels."""

    meaning: Meaning
    roles: tuple[str, ...]
    lanes: int = 0

    def __post_init__(self) -> None:
        self.types = self.meaning.types()
        named = list(zip(self.meaning.inputs, self.roles, strict=True))
        self.vectors = [i for i, role in named if role == "vector"]
        self.scalars = [i for i, role in named if role == "scalar"]
        self.order = toposort(self.meaning.outputs)
        self._classify({name for name, _ in self.vectors})
        varying = {n: t for n, t in self.types.items() if self.varies[n]}
        # Cheap sums wait for the last addition, extremes for two comparisons: more lanes are more under way.
        cheap = bool(self.levels) and not any(n.op in COSTLY for n in varying)
        extremes = all(r.arg in ("max", "min") for level in self.levels for r in level)
        self.lanes = self.lanes or lanes_for(varying) * (4 if cheap and extremes else 2 if cheap else 1)
        self.out_vectors = [i for i, o in enumerate(self.meaning.outputs) if self.varies[o]]
        self.out_scalars = [i for i, o in enumerate(self.meaning.outputs) if not self.varies[o]]
        self.kept = self._kept()
        # Which arguments the vector operands are.
        self.inputs = [name for name, _ in self.meaning.inputs]
        self.numbers = [self.inputs.index(name) for name, _ in self.vectors] + [
            len(self.inputs) + i for i in self.out_vectors
        ]

    def _classify(self, vectors: set[str]) -> None:
        after: dict[Expr, int] = {}
        self.varies: dict[Expr, bool] = {}
        self.levels: list[list[Expr]] = []
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

    def _kept(self) -> dict[Expr, int]:
        """Costly vectors of an early level that a later one reads, and the output that can hold one.

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
            if node.op in COSTLY and self.varies[node] and len(uses.get(node, ())) > 1:
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
    found: float | int = accumulate.identity(_HOW[kind], dt.BY_NAME[d].np)
    return found


def combine(kind: str, d: str, a: Lane, b: Lane) -> Lane:
    """One step of a reduction."""
    atom = {"max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and"}
    return EMITTERS[atom.get(kind, kind)](d, a, b)


def element(plan: RowLevels, node: Expr) -> str:
    """The dtype in which a reduction runs."""
    return "bool" if node.arg in ("any", "all") else plan.types[node]


def ramp(f: Function, kind: str) -> Lane:
    """0, 1, 2, ... over the lanes."""
    return Lane(f, kind, "<" + ", ".join(f"{kind} {k}" for k in range(f.width)) + ">")


def picked(f: Function, index: Lane, n: str, base: str, step: str, storage: str) -> Lane:
    """The element of a row of `n` that the first lane of `index` names, moved into the row."""
    i = f.op(f"extractelement {index!r}, i64 0")
    f.module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
    f.module.declare("smax", "declare i64 @llvm.smax.i64(i64, i64)")
    i = f.op(f"call i64 @llvm.smin.i64(i64 {i}, i64 {f.i64('sub', n, 1)})")
    i = f.op(f"call i64 @llvm.smax.i64(i64 {i}, i64 0)")
    kind = storage_kind(storage)
    return widen(f.splat(kind, f.load(kind, base, f.i64("mul", i, step))), storage)


def gathered(
    f: Function, index: Lane, n: str, base: str, step: str, storage: str, rows: Lane, inside: Lane
) -> Lane:
    """In each lane the element that `index` names of the lane's row of `n`; rows: where that begins, from
    `base` on; inside: which lanes have one.
    """
    kind, width = storage_kind(storage), f.width
    for name in ("smin", "smax"):
        f.module.declare(
            f"v{name}", f"declare {index.type} @llvm.{name}.v{width}i64({index.type}, {index.type})"
        )
    least = f.lanes(
        "i64", f"call {index.type} @llvm.smin.v{width}i64({index!r}, {f.splat('i64', f.i64('sub', n, 1))!r})"
    )
    place = f.lanes("i64", f"call {index.type} @llvm.smax.v{width}i64({least!r}, {f.const('i64', 0)!r})")
    offsets = rows + place * f.splat("i64", step)
    pointers = f.op(f"getelementptr i8, ptr {base}, {offsets!r}")
    full, vec = f"@llvm.masked.gather.v{width}{kind}.v{width}p0", f.type(kind)
    f.module.declare(full, f"declare {vec} {full}(<{width} x ptr>, i32, <{width} x i1>, {vec})")
    found = f.lanes(
        kind, f"call {vec} {full}(<{width} x ptr> {pointers}, i32 1, {inside!r}, {vec} zeroinitializer)"
    )
    return widen(found, storage)


def across(f: Function, kind: str, d: str, total: Lane) -> Lane:
    """The lanes of a reduction combined pairwise, in every lane."""
    half = f.width // 2
    while half:
        order = ", ".join(f"i32 {(k + half) % f.width}" for k in range(f.width))
        other = f.lanes(
            total.kind, f"shufflevector {total!r}, {total.type} poison, <{f.width} x i32> <{order}>"
        )
        total = combine(kind, d, total, other)
        half //= 2
    return total


def swapped(x: Lane, half: int) -> Lane:
    """Each lane has what the one at a distance of `half` had, in segments of twice that."""
    return _moved(x, [k ^ half for k in range(x.function.width)])


def first_of_two(x: Lane, half: int) -> Lane:
    """Both lanes at a distance of `half` have what the first one had."""
    return _moved(x, [k & ~half for k in range(x.function.width)])


def _moved(x: Lane, places: Sequence[int]) -> Lane:
    order = ", ".join(f"i32 {k}" for k in places)
    return x.function.lanes(
        x.kind, f"shufflevector {x!r}, {x.type} poison, <{x.function.width} x i32> <{order}>"
    )


def first_lane(f: Function, x: Lane, d: str) -> tuple[str, str]:
    """(LLVM type, register) of a lane as it lies in memory in dtype `d`."""
    x = narrow(x, d)
    return x.kind, f.op(f"extractelement {x!r}, i64 0")
