"""Derived gradients of view, index and contract rows: the same map, read backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import asarray
from rushlight._engine.core.layout import Layout, contiguous_strides
from rushlight._engine.ops.table import ROWS, Row
from rushlight._engine.tensors.tensor import BELOW, Tensor, wrap


def view_rule(row: Row) -> Callable[..., Any]:
    """Of a view: the gradient put (added, where elements may overlap) where the view reads."""

    def rule(s: Any, grad: Any) -> Any:
        shape = s.shape(row.params[0].name)
        rest = [getattr(s, p.name) for p in row.params[1:]]
        if type(grad) in BELOW and f"{row.name}_scatter" in ROWS:  # writes to its views leave no node
            return ROWS[f"{row.name}_scatter"](grad.new_zeros(shape), grad, *rest)
        if not row.options.get("overlaps") and grad.__class__ not in BELOW:
            into = grad.new_zeros(shape)
            row(into, *rest).copy_(grad)
            return into
        places = _places(row, shape, rest)
        flat = grad.new_zeros(int(np.prod(shape)))
        return flat.index_add(0, places.to(grad.device), grad.reshape(-1)).reshape(shape)

    return rule


def _places(row: Row, shape: tuple[int, ...], rest: list[Any]) -> Any:
    """Which element of a contiguous operand each element of the view is, flat."""
    layout = row.body(Layout(shape, contiguous_strides(shape)), *rest)
    grid = np.full(layout.sizes, layout.offset, np.int64)
    for axis, (size, stride) in enumerate(zip(layout.sizes, layout.strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * stride
        grid += steps.reshape([-1 if i == axis else 1 for i in range(len(layout.sizes))])
    return wrap(grid.reshape(-1))


def index_rule(row: Row) -> Callable[..., Any]:
    """Of an index row: zeros with the gradient added at the coordinates that were read."""
    names, others = [p.name for p in row.params[1:]], sum(p.is_tensor for p in row.params[1:])

    def rule(s: Any, grad: Any) -> Any:
        shape = s.shape(row.params[0].name)
        rest = [getattr(s, n) for n in names]
        arrays = [v._array if isinstance(v, Tensor) else v for v in rest]
        coordinates = tuple(
            wrap(asarray(c)) if not isinstance(c, slice) else c for c in row.body(shape, *arrays)
        )
        into = grad.new_zeros(shape)
        return ROWS["index_put"](into, coordinates, grad, True), *[None] * others

    setattr(rule, "keeps", frozenset(names))
    return rule


def contract_rule(row: Row) -> Callable[..., Any]:
    """Of a contraction: for each operand, the contraction of the gradient with the others."""
    operands = [p.name for p in row.params if p.is_tensor]
    attributes = [p.name for p in row.params if not p.is_tensor]

    def rule(s: Any, grad: Any) -> Any:
        spec = row.body(*[s.shape(n) for n in operands], *[getattr(s, n) for n in attributes])
        ins, out = spec.split("->")
        labels = ins.split(",")
        results: list[Any] = []
        for i, name in enumerate(operands):
            if not s.needs(name):
                results.append(None)
                continue
            others = [getattr(s, n).conj() for n in operands if n != name]
            terms = ",".join([out, *[lab for j, lab in enumerate(labels) if j != i]])
            results.append(ROWS["_of_equation"](f"{terms}->{labels[i]}", [grad, *others]))
        return tuple(results)

    setattr(rule, "keeps", frozenset(operands))
    return rule
