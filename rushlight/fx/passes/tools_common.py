"""What passes have in common: names of what nodes call, and graphs put in topological order."""

from __future__ import annotations

import heapq
import operator
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.fx import names
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

__all__ = [
    "FxNetAccFusionsFinder",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}
# Arithmetic of sizes, and checks of it: legalize_graph() puts it before what may depend on it.
_EARLY = frozenset(
    getattr(operator, name) for name in "add mul sub floordiv truediv mod le lt ge gt eq ne".split()
)


def get_acc_ops_name(k: str | type) -> str:
    """The dotted name of a class (a string is its own name)."""
    if isinstance(k, str):
        return k
    if "acc_ops" in (k.__module__ or ""):
        return f"acc_ops.{k.__name__}"
    return f"{names.public(k.__module__)}.{k.__name__}"


def get_node_target(submodules: Mapping[str, torch.nn.Module], node: Node) -> str:
    """The name of what a node calls: a method's, a function's with its module, a called module's class with
    its module. AssertionError for nodes that call nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_method":
        return str(node.target)
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if "acc_ops" in (getattr(node.target, "__module__", None) or ""):
        return f"acc_ops.{node.target.__name__}"
    return names.qualified(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node makes a tensor, by the `type` that ShapeProp leaves in its meta."""
    made = node.meta.get("type")
    return made is not None and issubclass(made, torch.Tensor)


def _sorted(graph: Graph, order: Callable[[Graph, dict[Node, int]], list[Node]]) -> tuple[Graph, list[Node]]:
    """A graph with the nodes of `graph` in that order, and those that lie in a circle."""
    waiting = dict.fromkeys(graph.nodes, 0)
    for node in graph.nodes:
        for user in node.users:
            waiting[user] += 1
    made, known = Graph(), dict[Node, Node]()
    for node in order(graph, waiting):
        known[node] = made.node_copy(node, known.__getitem__)
    made._codegen = graph._codegen
    return made, [node for node, count in waiting.items() if count]


def _by_generation(graph: Graph, waiting: dict[Node, int]) -> list[Node]:
    """First what reads nothing, then what reads only that, and so on."""
    found, ready = [], deque(node for node in graph.nodes if not waiting[node])
    while ready:
        found.append(ready.popleft())
        for user in found[-1].users:
            waiting[user] -= 1
            if not waiting[user]:
                early = user.op == "call_function" and _is_early(user.target)
                (ready.appendleft if early else ready.append)(user)
    return found


def _is_early(target: Any) -> bool:
    aten = ("aten.sym_constrain_range", "aten._assert_async", "aten.scalar_tensor", "aten._assert_scalar")
    return target in _EARLY or str(target).startswith(aten)


def _by_place(graph: Graph, waiting: dict[Node, int]) -> list[Node]:
    """At each step the first node of the old order whose inputs are there."""
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    ready = [i for i, node in enumerate(nodes) if not waiting[node]]
    found = []
    while ready:
        found.append(nodes[heapq.heappop(ready)])
        for user in found[-1].users:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, place[user])
    return found


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Give the module a graph with the same nodes in topological order (not the old order where it could be
    kept: see stable_topological_sort). RuntimeError where nodes lie in a circle.
    """
    made, left = _sorted(gm.graph, _by_generation)
    if left:
        raise RuntimeError(f"Input graph has cycles, unable to add {left}")
    gm.graph = made
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Give the module a graph with the same nodes in topological order, and else in the order that they have.
    AssertionError where nodes lie in a circle.
    """
    made, left = _sorted(gm.graph, _by_place)
    if left:
        raise AssertionError(f"Input graph has cycles, unable to add {left}")
    gm.graph = made
    return gm


class FxNetAccFusionsFinder:
    """Finds fusion groups: connected nodes that hand each other what is no tensor, so that they must not be
    parted. Calling it gives {node: its group}; nodes whose group reaches beyond `acc_nodes` leave that set.

    module: a GraphModule whose nodes ShapeProp has seen; acc_nodes: the nodes in question.
    """

    def __init__(self, module: GraphModule, acc_nodes: NodeSet) -> None:
        self.module, self.acc_nodes = module, acc_nodes
        self.nodes = list(module.graph.nodes)
        self.node_index = {node: i for i, node in enumerate(self.nodes)}

    @dataclass
    class FusionGroup:
        """A group as it grows: the index of its first node, its nodes, what they read from outside, and the
        nodes whose neighbours were not looked at yet.
        """

        top_node_idx: int
        nodes: NodeSet
        inputs: NodeSet
        nodes_need_process: NodeSet

        def add_node(self, node: Node) -> None:
            """Take a node in."""
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs |= {
                n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS and n not in self.nodes
            }

    def recursive_add_node(
        self, fusion_group: FusionGroup, inputs: NodeSet | NodeList, visited: NodeSet | None = None
    ) -> bool:
        """Take in the nodes on a path from `inputs` back to the group; whether there is one."""
        ordered = sorted(inputs, key=self.node_index.__getitem__) if isinstance(inputs, set) else inputs
        for node in ordered:
            if visited is not None:
                if node in visited:
                    continue
                visited.add(node)
            if node.op not in CALLABLE_NODE_OPS or self.node_index[node] < fusion_group.top_node_idx:
                continue
            if node in fusion_group.nodes:
                return True
            if self.recursive_add_node(fusion_group, node.all_input_nodes, visited):
                fusion_group.add_node(node)
                return True
        return False

    def _take(self, group: FusionGroup, neighbours: list[Node]) -> None:
        for node in neighbours:
            group.add_node(node)
            self.recursive_add_node(group, group.inputs, visited=set())

    def _group(self, first: Node) -> FusionGroup:
        group = self.FusionGroup(self.node_index[first], {first}, set(first.all_input_nodes), {first})
        while group.nodes_need_process:
            node = min(group.nodes_need_process, key=self.node_index.__getitem__)
            group.nodes_need_process.remove(node)
            self.recursive_add_node(group, group.inputs, visited=set())
            if "tensor_meta" not in node.meta:
                for user in node.users:
                    if user.op in CALLABLE_NODE_OPS and user not in group.nodes:
                        self._take(group, [user])
            for read in node.all_input_nodes:
                known = "tensor_meta" in read.meta or read in group.nodes
                if read.op in CALLABLE_NODE_OPS and not known:
                    group.top_node_idx = min(group.top_node_idx, self.node_index[read])
                    self._take(group, [read])
        return group

    def __call__(self) -> dict[Node, NodeSet]:
        """{node: the nodes of its group}, in the graph's order."""
        found: dict[Node, NodeSet] = {}
        for node in [node for node in self.nodes if node in self.acc_nodes]:
            plain = node.op not in CALLABLE_NODE_OPS or "tensor_meta" in node.meta
            if plain or node in found or node not in self.acc_nodes:
                continue
            group = self._group(node)
            if group.nodes <= self.acc_nodes:
                found.update(dict.fromkeys(sorted(group.nodes, key=self.node_index.__getitem__), group.nodes))
            else:
                self.acc_nodes -= group.nodes
        return found
