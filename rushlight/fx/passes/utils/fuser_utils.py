"""Nodes of a graph put into a module of their own."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.tools_common import NodeList, stable_topological_sort
from rushlight.fx.proxy import Proxy

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes: NodeList) -> NodeList:
    """The nodes in topological order, else in the order given. AssertionError where they lie in a circle."""
    place = {node: i for i, node in enumerate(nodes)}
    waiting = {node: sum(read in place for read in node.all_input_nodes) for node in nodes}
    ready = [i for i, node in enumerate(nodes) if not waiting[node]]
    found = []
    while ready:
        found.append(nodes[heapq.heappop(ready)])
        for user in found[-1].users:
            if user in place:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, place[user])
    if len(found) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return found


def validate_partition(partition: NodeList) -> bool:
    """Whether these nodes can become one: no way leads out of them and back in."""
    inside = set(partition)
    left = [user for node in partition for user in node.users if user not in inside]
    seen: set[Node] = set()
    while left:
        node = left.pop()
        if node in inside:
            return False
        seen.add(node)
        left += [user for user in node.users if user not in seen]
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: NodeList,
    module_name: str,
    partition_lookup_table: Iterable[Node] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """(a module that does what `nodes` do, what they read of `gm`, those of them that others read).

    nodes: nodes of `gm` in topological order; module_name: the class name of the new module.
    always_return_tuple: whether the module returns a tuple where it has one result, default False.
    AssertionError for nodes of another module, and for those that cannot become one (validate_partition).
    """
    # utils.common imports the matcher, which imports this file
    from rushlight.fx.passes.utils.common import lift_subgraph_as_module

    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(nodes if partition_lookup_table is None else partition_lookup_table)
    inputs = list(
        dict.fromkeys(read for node in nodes for read in node.all_input_nodes if read not in inside)
    )
    if all(node.op == "placeholder" for node in inputs):
        order = {node: i for i, node in enumerate(gm.graph.nodes)}
        inputs.sort(key=order.__getitem__)
    made, known = Graph(), dict[Node, Node]()
    for node in inputs:
        known[node] = made.placeholder(node.name, type_expr=node.type)
        known[node].meta = copy.copy(node.meta)
    for node in nodes:
        known[node] = made.node_copy(node, known.__getitem__)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    results = tuple(known[node] for node in outputs)
    made.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    made.lint()
    fused, _ = lift_subgraph_as_module(gm, made, comp_name="", class_name=module_name)
    return fused, tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Let `gm` call `sub_gm`, under its class's name, in place of the nodes `orig_outputs`; gives `gm` back.

    insertion_point: the node behind which the call comes; the last of orig_outputs, if None.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    after = insertion_point or next((n for n in reversed(gm.graph.nodes) if n in orig_outputs), None)
    if after is None:
        raise AssertionError(
            "Cannot determine insertion point: no insertion_point provided and orig_outputs is empty. "
            "Pass the last partition node as insertion_point."
        )
    with gm.graph.inserting_after(after):
        call = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    if not orig_outputs:
        return gm
    if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with gm.graph.inserting_before(call.next):
        for i, node in enumerate(orig_outputs):
            node.replace_all_uses_with(Proxy(call)[i].node, propagate_meta=True)  # type: ignore[index]
    call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: NodeList) -> None:
    """Take nodes out of the graph, the last one first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: list[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Put each of these sets of nodes into a module of its own: `prefix` and the set's number. Gives `gm`."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        made, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, made, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
