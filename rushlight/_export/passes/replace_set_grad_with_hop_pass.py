"""torch._export.passes.replace_set_grad_with_hop_pass: where a graph switches gradients."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._export.utils import node_inline_, nodes_filter, nodes_first, nodes_map, sequential_split
from rushlight.fx.node import Node


def _is_set_grad_enabled_node(node: Node) -> bool:
    """Whether a node switches gradients."""
    return node.op == "call_function" and node.target == torch._C._set_grad_enabled


def _is_set_grad_enabled_sub_mod(node: Node, omit_if_same_with_ambient: bool = False) -> Any:
    """Whether a node calls a module that begins by switching gradients; False too, on demand, where they are
    so already.
    """
    if node.op != "call_module" or not isinstance(node.target, str):
        return False
    owner: Any = node.graph.owning_module
    inner = nodes_first(owner.get_submodule(node.target).graph.nodes, lambda n: n.op != "placeholder")
    if inner is None or not _is_set_grad_enabled_node(inner):
        return False
    return not omit_if_same_with_ambient or inner.args[0] != torch.is_grad_enabled()


__all__ = ["node_inline_", "nodes_filter", "nodes_first", "nodes_map", "sequential_split"]
