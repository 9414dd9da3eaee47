"""Which nodes came of which function or layer of the program, by what tracing noted in their meta."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rushlight.fx.graph import Graph
from rushlight.fx.names import public
from rushlight.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that came of one call.

    source: the function or class; input_nodes: what they read from outside, but for parameters; output_nodes:
    those that others read; params: the nodes among them that read attributes.
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def _is_source(noted: Any, wanted: Any) -> bool:
    """Whether a class that nn_module_stack names, itself or by its dotted name, is a wanted one."""
    if not isinstance(wanted, type):
        return bool(noted == wanted)
    if isinstance(noted, type):
        return issubclass(noted, wanted)
    return bool(noted == f"{public(wanted.__module__)}.{wanted.__qualname__}")


def _source(node: Node, wanted: list[Any]) -> tuple[Any, str] | None:
    """(the source that a node came of, the call's name), if it is a wanted one."""
    stack = node.meta.get("source_fn_stack")
    if stack is not None:
        name, source = stack[-1][:2]
        return (source, name) if source in wanted else None
    if node.meta.get("torch_fn") is not None:
        name, function = node.meta["torch_fn"]
        if function.split(".")[1] in wanted:
            return function.split(".")[1], name
    modules = node.meta.get("nn_module_stack") if node.op == "call_function" else None
    if modules:
        name, kind = list(modules.values())[-1]
        found = [source for source in wanted if _is_source(kind, source)]
        return (found[0], name) if found else None
    return None


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """{source: the partitions that came of it}, for those of `wanted_sources` that the graph has.

    wanted_sources: functions (`torch.nn.functional.linear`) and classes of layers (`torch.nn.Linear`).
    filter_fn: a partition is left out if it is False for one of its nodes.
    """
    calls: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        found = _source(node, wanted_sources)
        if found is not None:
            calls.setdefault(found[0], {}).setdefault(found[1], []).append(node)
    place = {node: i for i, node in enumerate(graph.nodes)}
    return {
        source: [
            _partition(nodes, source, place)
            for nodes in by_name.values()
            if filter_fn is None or all(map(filter_fn, nodes))
        ]
        for source, by_name in calls.items()
    }


def _partition(nodes: list[Node], source: Any, place: dict[Node, int]) -> SourcePartition:
    inside = set(nodes)
    computed = [node for node in nodes if node.op != "get_attr"]
    read = {arg for node in nodes for arg in node.args if isinstance(arg, Node) and arg not in inside}
    return SourcePartition(
        nodes,
        source,
        sorted((node for node in read if node.op != "get_attr"), key=place.__getitem__),
        sorted((n for n in computed if any(u not in inside for u in n.users)), key=place.__getitem__),
        sorted((node for node in nodes if node.op == "get_attr"), key=place.__getitem__),
    )


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a node of the second reads one of the first."""
    return any(user in subgraph2.nodes for node in subgraph1.nodes for user in node.users)
