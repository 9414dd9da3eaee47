"""The NumPy meaning of scalar expressions: each node of the DAG evaluated once, on whole arrays.

Two-byte and smaller floats compute in float32 and are rounded once, at the end, as PyTorch's
kernels do. An expression is laid out as a list of steps once per combination of dtypes, which are
written down as one Python function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive.types import infer, operand_type
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import Expr, toposort

Array = np.ndarray[Any, Any]
# What a step does to its operands: (function, slots of its operands, slot of its result).
Step = tuple[Callable[..., Any], tuple[int, ...], int]

# What reductions combine with.
COMBINE = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def evaluate(outputs: Sequence[Expr], env: Mapping[str, Any], compute_dtype: str) -> list[Array]:
    """The values of `outputs` with inputs from `env`, computed in `compute_dtype`.

    Values of two-byte dtypes are left in float32; literals that meet no array are `compute_dtype`.
    """
    arrays = {name: np.asarray(a) for name, a in env.items()}
    kinds = tuple([(name, dt.from_numpy_dtype(a.dtype).name) for name, a in arrays.items()])
    found = program(tuple(outputs), kinds, dt.opmath(dt.BY_NAME[compute_dtype]).name)
    with np.errstate(all="ignore"):
        return [np.asarray(v) for v in found(list(arrays.values()))]


class Program:
    """An expression laid out for NumPy: `run` takes the input arrays, in order.

    Row atoms (ops/row_expressions.py) act on the last axis, whose extent is that of the input numbered
    `row`; inputs that are scalars of a row have extent 1 there.
    """

    def __init__(
        self, outputs: Sequence[Expr], inputs: Sequence[tuple[str, str]], work: str, row: int = 0
    ) -> None:
        self._types = infer(outputs, dict(inputs), work)
        self._storage = dict(inputs)
        self._slots: dict[Any, int] = {}
        self._start: list[Any] = [None] * len(inputs)
        self._steps: list[Step] = []
        self._row = row
        names = {name: i for i, (name, _) in enumerate(inputs)}
        for node in toposort(outputs):
            self._place(node, names)
        self._results = tuple(self._slots[o] for o in outputs)
        self.run = self._written()

    def _written(self) -> Callable[[Sequence[Any]], list[Any]]:
        """One Python function of all steps, which lets go of what nobody reads after a step."""
        constants = {f"v{i}": value for i, value in enumerate(self._start) if value is not None}
        read = {*constants, *(f"v{i}" for i in self._results)}
        lines = [f"return [{', '.join(f'v{i}' for i in self._results)}]"]
        for k, (_, operands, result) in reversed([*enumerate(self._steps)]):
            given = [f"v{i}" for i in operands]
            lines += [f"del {name}" for name in {*given} - read]
            lines.append(f"v{result} = f{k}({', '.join(given)})")
            read.update(given)
        lines.append(f"[{', '.join(f'v{i}' for i in range(len(self._storage)))}] = arrays")
        scope = {**constants, **{f"f{k}": step[0] for k, step in enumerate(self._steps)}}
        source = "\n    ".join(["def run(arrays):", *lines[::-1]])
        exec(compile(source, "<rushlight expression>", "exec"), scope)
        found: Callable[[Sequence[Any]], list[Any]] = scope["run"]
        return found

    def _slot(self, value: Any = None) -> int:
        self._start.append(value)
        return len(self._start) - 1

    def _step(self, key: Any, function: Callable[..., Any], *operands: int) -> int:
        found = self._slots.get(key)
        if found is None:
            found = self._slots[key] = self._slot()
            self._steps.append((function, operands, found))
        return found

    def _place(self, node: Expr, names: Mapping[str, int]) -> None:
        own = dt.BY_NAME[self._types[node]].np
        if node.op == "in":
            slot = names[node.arg]
            if dt.BY_NAME[self._storage[node.arg]].np != own:
                slot = self._step(("wide", node), _converter(own), slot)
            self._slots[node] = slot
        elif node.op == "const":
            self._slots[node] = self._slot(_literal(node.arg, own))
        elif node.op == "cast":
            self._place_cast(node, own)
        elif node.op in _ROW_OPS:
            operands = [self._slots[s] for s in node.src] or [self._row]
            self._step(node, _ROW_OPS[node.op](node.arg, own), *operands)
        else:
            operands = [self._operand(node, i) for i in range(len(node.src))]
            self._step(node, self._function(node), *operands)

    def _place_cast(self, node: Expr, own: Any) -> None:
        # Through a two-byte dtype the value is rounded there and widened again.
        source, storage = self._slots[node.src[0]], dt.BY_NAME[node.arg].np
        if storage != dt.BY_NAME[self._types[node.src[0]]].np:
            source = self._step((node, storage), _converter(storage), source)
        self._slots[node] = source
        if storage != own:
            self._slots[node] = self._step(("wide", node), _converter(own), source)

    def _operand(self, node: Expr, number: int) -> int:
        source = node.src[number]
        wanted = operand_type(node, self._types, number)
        slot = self._slots[source]
        if wanted == self._types[source]:
            return slot
        target = dt.BY_NAME[wanted].np
        if source.op == "const":
            return self._slot(_literal(source.arg, target))
        return self._step((source, wanted), _converter(target), slot)

    def _function(self, node: Expr) -> Callable[..., Any]:
        numpy, arg = ATOMS[node.op].numpy, node.arg
        if node.op == "largest" and node.src[0].op == "in":
            # Of the dtype that is stored, not of the wider one that it computes in.
            limit = (
                ATOMS["largest"]
                .numpy(np.zeros((), dt.BY_NAME[self._storage[node.src[0].arg]].np))
                .astype(np.float64)[()]
            )
            return lambda a: a.dtype.type(limit)
        return numpy if arg is None else lambda *operands: numpy(*operands, arg=arg)


def _converter(target: Any) -> Callable[[Any], Any]:
    return lambda a: a.astype(target)


def _literal(value: Any, target: Any) -> Any:
    if isinstance(value, complex) and target.kind != "c":
        value = value.real
    if target.kind in "iu":
        # Out of range literals wrap, as C's conversions do.
        return np.array(int(value) & (1 << 64) - 1, np.uint64).astype(target)[()]
    with np.errstate(all="ignore"):
        return target.type(value)


def _reducer(kind: str, own: Any) -> Callable[..., Any]:
    ufunc = COMBINE[kind]
    extra = {"dtype": own} if kind in ("add", "mul") else {}
    return lambda a: ufunc.reduce(a, axis=-1, keepdims=True, **extra)


def _pick(_: Any, own: Any) -> Callable[..., Any]:
    def at(row: Any, index: Any) -> Any:
        shape = np.broadcast_shapes(row.shape[:-1], index.shape[:-1])
        row = np.broadcast_to(row, (*shape, row.shape[-1]))
        index = np.broadcast_to(index, (*shape, index.shape[-1]))
        inside = np.clip(index, 0, max(row.shape[-1] - 1, 0))
        return np.take_along_axis(row, inside.astype(np.int64), -1)

    return at


# Atoms of row kernels (ops/row_expressions.py).
_ROW_OPS: dict[str, Callable[..., Callable[..., Any]]] = {
    "reduce": _reducer,
    "at": _pick,
    "extent": lambda _, own: lambda a: own.type(a.shape[-1]),
    "fetch": lambda *_: None,  # type: ignore[dict-item]  # only machine code reads memory
    "iota": lambda _, own: lambda a: np.arange(a.shape[-1]),
}


@cache
def program(
    outputs: tuple[Expr, ...], inputs: tuple[tuple[str, str], ...], work: str, row: int = 0
) -> Callable[[Sequence[Any]], list[Any]]:
    """The laid-out expression for these input dtypes, as a function, kept."""
    return Program(outputs, inputs, work, row).run
