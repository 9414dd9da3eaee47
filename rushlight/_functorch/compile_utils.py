"""torch._functorch.compile_utils: what compilers of graphs share."""

from __future__ import annotations

from typing import Any

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops

__all__ = [
    "fx_graph_cse",
    "get_aten_target",
    "get_outputs",
    "get_placeholders",
    "strip_overloads",
]


def get_aten_target(node: Node) -> Any:
    """The op that a node calls, without its overload."""
    return getattr(node.target, "overloadpacket", node.target)


def get_placeholders(graph: Graph) -> list[Node]:
    """A graph's inputs."""
    return list(graph.find_nodes(op="placeholder"))


def get_outputs(graph: Graph) -> list[Any]:
    """What a graph gives, in order."""
    found = graph.output_node().args[0]
    return list(found) if isinstance(found, (tuple, list)) else [found]


def fx_graph_cse(fx_g: Graph) -> Graph:
    """A copy of a graph without effects, in which nothing is computed twice but random numbers."""
    return CSEPass(get_CSE_banned_ops()).of_graph(fx_g)


def strip_overloads(gm: GraphModule) -> None:
    """Let a module's nodes call ops instead of overloads, in place."""
    for node in gm.graph.nodes:
        node.target = get_aten_target(node)
    gm.recompile()
