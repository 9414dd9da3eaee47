"""Sparse and nested tensors in a graph: the graph knows their values, which are ordinary tensors."""

from __future__ import annotations

from typing import Any

from rushlight._engine.autograd.engine import is_of_parts
from rushlight._engine.tensors.geometry import lookup_function, sparse_coo, strided


def inner(tensors: list[Any]) -> list[Any]:
    """Sparse and nested tensors by their values."""
    return [t.parts[-1] if is_of_parts(t) else t for t in tensors]


def aligned(outputs: list[Any], grads: list[Any]) -> list[Any]:
    """The gradients of outputs; those of sparse ones at their places, in the order of their values."""
    return [g if g is None else _values(o, g) for o, g in zip(outputs, grads, strict=True)]


def _values(output: Any, grad: Any) -> Any:
    if output.is_nested:
        return output.aligned(grad)
    if output.layout is strided:
        return grad
    same, equal = grad.layout is output.layout, lookup_function("equal")
    if same and all(a is b or equal(a, b) for a, b in zip(grad.parts[:-1], output.parts[:-1], strict=True)):
        return grad.parts[-1]
    whole = grad.to_dense()
    if output.layout is sparse_coo:
        return whole[tuple(output._indices())]
    return whole.reshape(-1)[places(output)].reshape(output.parts[-1].shape)


def places(t: Any) -> Any:
    """Where the values of a sparse tensor are among all of its elements, in their order."""
    arange = lookup_function("arange")
    if t.layout is sparse_coo:  # in which values may share a place
        whole = arange(t.numel()).reshape(t.shape)
        index = tuple(t._indices())
        return (whole[index] if index else whole.expand(t._nnz(), *t.shape)).reshape(-1)
    values = t.detach().parts[-1]
    numbers = arange(1, values.numel() + 1).reshape(values.shape)
    spread = t.detach().map(lambda _: numbers).to_dense().reshape(-1)
    found = lookup_function("nonzero")(spread)[:, 0]
    return found[lookup_function("argsort")(spread[found])]
