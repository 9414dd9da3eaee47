"""Edges of the graph as values: they stand for tensors where gradients begin and end."""
from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.autograd.node import Node


class GradientEdge(NamedTuple):
    """A result's place in the graph: the node and which of its results. It keeps the graph alive, no data."""

    node: Node
    output_nr: int
    ownership_token: Any = None

    @property
    def _g(self) -> Node:
        return self.node

    @property
    def _i(self) -> int:
        return self.output_nr


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where the gradient of `tensor` arrives; RuntimeError if it does not require gradients."""
    if tensor._g is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require "
                           "gradients")
    return GradientEdge(tensor._g, tensor._i)


def listed(values: Any) -> list[Any]:
    """One tensor or edge, or a list or tuple of them, as a list."""
    many = isinstance(values, (list, tuple)) and not isinstance(values, GradientEdge)
    return list(values) if many else [values]
