"""torch._export.utils: what the nodes of exported programs stand for, and walks over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import rushlight as torch
from rushlight.fx.node import Node

__all__ = [
    "get_buffer",
    "get_lifted_tensor_constant",
    "get_param",
    "is_buffer",
    "is_lifted_tensor_constant",
    "is_param",
    "nodes_count",
    "nodes_filter",
    "nodes_first",
    "nodes_map",
    "wrap_method",
]


def is_param(program: Any, node: Node) -> bool:
    """Whether a node is a parameter of the program."""
    return node.name in program.graph_signature.inputs_to_parameters


def get_param(program: Any, node: Node) -> Any:
    """The parameter that a node is; None for another node."""
    name = program.graph_signature.inputs_to_parameters.get(node.name)
    return None if name is None else program.state_dict[name]


def is_buffer(program: Any, node: Node) -> bool:
    """Whether a node is a buffer of the program."""
    return node.name in program.graph_signature.inputs_to_buffers


def get_buffer(program: Any, node: Node) -> Any:
    """The buffer that a node is; None for another node."""
    name = program.graph_signature.inputs_to_buffers.get(node.name)
    if name is None:
        return None
    kept = name not in program.graph_signature.non_persistent_buffers
    return program.state_dict[name] if kept else program.constants[name]


def is_lifted_tensor_constant(program: Any, node: Node) -> bool:
    """Whether a node is a tensor that the program holds beside its state."""
    return node.name in program.graph_signature.inputs_to_lifted_tensor_constants


def get_lifted_tensor_constant(program: Any, node: Node) -> Any:
    """The tensor that such a node is; None for another node."""
    name = program.graph_signature.inputs_to_lifted_tensor_constants.get(node.name)
    return None if name is None else program.constants[name]


def nodes_map(nodes: Iterable[Node], node_call_back: Callable[[Node], Any]) -> Iterable[Node]:
    """Call the function with each node; the nodes."""
    for node in nodes:
        node_call_back(node)
    return nodes


def nodes_filter(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> list[Node]:
    """The nodes that the function says True of."""
    return [node for node in nodes if node_call_back(node)]


def nodes_first(nodes: Iterable[Node], node_call_back: Any = None) -> Node | None:
    """The first of them; None if there is none."""
    return next(iter(nodes_filter(nodes, node_call_back or (lambda node: True))), None)


def nodes_count(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> int:
    """How many there are."""
    return len(nodes_filter(nodes, node_call_back))


class _Method(torch.nn.Module):
    """A module whose call is a method of another module."""

    def __init__(self, method: Any) -> None:
        super().__init__()
        self._export_root = method.__self__
        self.method = method

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the method gives."""
        return self.method(*args, **kwargs)


def wrap_method(method: Any) -> torch.nn.Module:
    """A module that export() takes, of a method of a module."""
    made = _Method(method)
    made.forward = method  # type: ignore[method-assign]
    return made
