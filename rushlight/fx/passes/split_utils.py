"""Graphs split by tags on their nodes."""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from rushlight import nn
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node, map_arg
from rushlight.fx.passes.tools_common import CALLABLE_NODE_OPS, NodeList, is_node_output_tensor
from rushlight.fx.passes.utils.common import HolderModule, lift_subgraph_as_module
from rushlight.fx.proxy import Proxy

__all__ = [
    "Component",
    "getattr_recursive",
    "move_non_tensor_nodes_on_boundary",
    "setattr_recursive",
    "split_by_tags",
]


def getattr_recursive(obj: Any, name: str) -> Any:
    """What an object has under a dotted name, or None."""
    for part in name.split("."):
        if isinstance(obj, nn.ModuleList):
            obj = obj._modules.get(part)
        else:
            obj = getattr(obj, part, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set what an object has under a dotted name."""
    *path, last = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """A part of a graph as it becomes a module.

    graph, name, order: its own graph, its tag and the tag's place; input_placeholders, orig_inputs: its
    inputs here and there; orig_outputs: nodes there that others read; getattr_maps: nodes there that read
    attributes, and here; gm: the module.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


class _Splitter:
    """The state of split_by_tags()."""

    def __init__(self, gm: GraphModule, tags: list[str]) -> None:
        self.gm = gm
        self.components = {tag: Component(Graph(), i, tag) for i, tag in enumerate(tags)}
        # By nodes of the old graph: the component, the node in it, the node of the new main graph.
        self.of: dict[Node, Component] = {}
        self.inside: dict[Node, Node] = {}
        self.main = Graph()
        self.outside: dict[Node, Node] = {}
        self.used: dict[Node, None] = {}

    def input_of(self, component: Component, node: Node) -> Node:
        """What stands in a component for a node of the old graph that one of its nodes reads."""
        if node.op == "get_attr":
            if node not in component.getattr_maps:
                made = component.graph.get_attr(node.target, type_expr=node.type)
                made.meta = copy.copy(node.meta)
                component.getattr_maps[node] = made
            return component.getattr_maps[node]
        if node.op != "placeholder" and self.of[node] is component:
            return self.inside[node]
        if node not in component.orig_inputs:
            component.orig_inputs.append(node)
            made = component.graph.placeholder(node.name, type_expr=node.type)
            made.meta = copy.copy(node.meta)
            component.input_placeholders.append(made)
            self.used[node] = None
        return component.input_placeholders[component.orig_inputs.index(node)]

    def assign(self, node: Any) -> None:
        """Put a node into its tag's component."""
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag: {node.format_node()}")
        component = self.components[node.tag]
        latest = max((self.of[n].order for n in node.all_input_nodes if n in self.of), default=0)
        if component.order < latest:
            raise AssertionError(
                f"Component {component.name} order must be >= max of its upstream components, "
                f"order={component.order} and max={latest}"
            )
        self.of[node] = component
        made: Any = component.graph.node_copy(node, lambda n: self.input_of(component, n))
        made.tag = node.tag
        self.inside[node] = made

    def walk(self) -> Node:
        """Put all nodes where they belong; the output."""
        output = None
        for node in self.gm.graph.nodes:
            if node.op == "output":
                if output is not None:
                    raise RuntimeError("Multiple output nodes in graph!")
                output = node
            elif node.op == "placeholder":
                self.outside[node] = self.main.placeholder(node.name, type_expr=node.type)
                self.outside[node].meta = copy.copy(node.meta)
            elif node.op != "get_attr":
                self.assign(node)
        if output is None:
            raise RuntimeError("Graph had no output node!")
        return output

    def call(self, component: Component, return_tuple: bool) -> dict[str, str]:
        """Make the component's module, and its call in the main graph; {old name: new name}."""
        results = tuple(self.inside[node] for node in component.orig_outputs)
        alone = len(results) == 1 and not return_tuple
        component.graph.output(results[0] if alone else results)
        component.gm, names = lift_subgraph_as_module(self.gm, component.graph, component.name)
        call = self.main.call_module(
            component.name, tuple(self.outside[node] for node in component.orig_inputs)
        )
        for i, node in enumerate(component.orig_outputs):
            self.outside[node] = call if alone else Proxy(call)[i].node
        return names


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> GraphModule | tuple[GraphModule, dict[str, str]]:
    """A GraphModule that calls one submodule for each tag, in the order of `tags`.

    gm: each of its nodes that calls something has an attribute `tag`, one of `tags`.
    return_fqn_mapping: give also {a parameter's or module's old name: its new one}, default False.
    return_tuple: whether a submodule with one result returns a tuple, default False.
    GraphModuleCls: the class of the result. AssertionError for a node without a tag, and for one that reads
    what a later tag makes.
    """
    splitter = _Splitter(gm, tags)
    output = splitter.walk()
    # What the output reads of the module itself is read in the main graph.
    attributes = [node for node in output.all_input_nodes if node.op == "get_attr"]
    for node in output.all_input_nodes:
        if node.op == "get_attr":
            splitter.outside[node] = splitter.main.get_attr(node.name, type_expr=node.type)
        else:
            splitter.used[node] = None
    for node in splitter.used:
        if node.op != "placeholder":
            splitter.of[node].orig_outputs.append(node)
    names: dict[str, str] = {}
    for component in splitter.components.values():
        names.update(splitter.call(component, return_tuple))
    splitter.main.output(map_arg(output.args[0], splitter.outside.__getitem__))
    splitter.main._codegen = gm.graph._codegen
    root = HolderModule({c.name: c.gm for c in splitter.components.values()})
    for node in attributes:
        setattr(root, node.name, getattr_recursive(gm, node.target))
    made = GraphModuleCls(root, splitter.main)
    return (made, names) if return_fqn_mapping else made


def move_non_tensor_nodes_on_boundary(subgraphs: list[Any]) -> None:
    """Move what makes no tensor, and is read in another subgraph, there, if all that reads it can follow.

    subgraphs: objects with `nodes` (a list) and `is_acc`, of a graph that ShapeProp has seen; their lists are
    changed. Only nodes of subgraphs with is_acc are moved.
    """
    place = {node: i for i, subgraph in enumerate(subgraphs) for node in subgraph.nodes}

    def readers(node: Node) -> list[Node]:
        return [user for user in node.users if user.op in CALLABLE_NODE_OPS and user in place]

    for here, subgraph in enumerate(subgraphs):
        if not subgraph.is_acc:
            continue
        waiting = deque(
            node
            for node in subgraph.nodes
            if not is_node_output_tensor(node) and any(place[user] != here for user in readers(node))
        )
        seen: set[Node] = set()
        while waiting:
            node = waiting.popleft()
            if node in seen or place[node] != here:
                continue
            seen.add(node)
            there = {place[user] for user in readers(node)} - {here}
            if len(there) != 1:
                continue
            target = there.pop()
            moved = _movable(node, here, target, place, readers)
            for each in moved or ():
                subgraph.nodes.remove(each)
                subgraphs[target].nodes.append(each)
                place[each] = target
            if moved:
                waiting += [
                    read
                    for read in node.all_input_nodes
                    if place.get(read) == here and not is_node_output_tensor(read)
                ]


def _movable(node: Node, here: int, target: int, place: dict[Node, int], readers: Any) -> NodeList | None:
    """The nodes that must move with one, or None where one of their readers is somewhere else."""
    left, found = [node], dict[Node, None]()
    while left:
        each = left.pop()
        if place[each] == target or each in found:
            continue
        if place[each] != here:
            return None
        found[each] = None
        left += readers(each)
    return list(found)
