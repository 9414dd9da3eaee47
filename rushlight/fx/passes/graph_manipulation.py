"""Other targets for nodes, and how many bytes nodes take."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight as torch
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, Target, map_arg
from rushlight.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target
) -> None:
    """Let the nodes of that op and target have another op and target."""
    made, known = Graph(), dict[Node, Node]()
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg((node.args, node.kwargs), known.__getitem__)
            known[node] = made.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            known[node] = made.node_copy(node, known.__getitem__)
    fx_module.graph = made


class size_bytes(NamedTuple):
    """Bytes of a node's result, and of that and a called module's parameters together."""

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module: GraphModule, args: list[torch.Tensor] | None = None) -> None:
    """Note at each node but the output its `size_bytes`. args: inputs to run ShapeProp with first."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    node: Any
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What ShapeProp noted of a node's tensor; RuntimeError where it noted nothing."""
    noted: TensorMetadata | None = node.meta.get("tensor_meta")
    if not noted:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return noted


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """A node's size_bytes, counted in elements of its result's dtype; ShapeProp must have run."""
    made = get_tensor_meta(node)
    held = fx_module.get_submodule(node.target).parameters() if node.op == "call_module" else ()
    each = made.dtype.itemsize
    output = made.shape.numel()
    return size_bytes(each * output, each * (output + sum(p.numel() for p in held)))
