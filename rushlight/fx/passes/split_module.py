"""split_module: a GraphModule as a few submodules, called one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, attribute
from rushlight.fx.node import Node, map_arg
from rushlight.fx.proxy import Proxy

__all__ = ["Partition", "split_module", "split_module_simple"]


class Partition:
    """A part of the graph as it becomes a module; names are those of the old graph's nodes.

    inputs, outputs: what it reads of others, and what others read of it; dependencies, dependents: other
    partitions, by name; environment: {old node: node of `graph`}; targets: what the module holds.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n"
            f" outputs: {self.outputs},\n partitions depended on: {self.dependencies},\n"
            f" partition dependents: {self.dependents}"
        )


def _attribute(module: Any, name: str) -> Any:
    try:
        return attribute(module, name)
    except (AttributeError, RuntimeError):
        raise AttributeError(f"Node target {name} not found!") from None


class _Splitter:
    """The state of split_module()."""

    def __init__(
        self,
        m: GraphModule,
        partition_of: Callable[[Node], str],
        keep_names: bool,
        keep_inputs: bool,
        tuples: bool,
    ) -> None:
        self.m, self.keep_names, self.keep_inputs, self.tuples = m, keep_names, keep_inputs, tuples
        self.nodes = {node.name: node for node in m.graph.nodes}
        self.partitions: dict[str, Partition] = {}
        self.of: dict[Node, Partition] = {}
        for node in m.graph.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                name = partition_of(node)
                self.of[node] = self.partitions.setdefault(name, Partition(name))
                self.of[node].node_names.append(node.name)
        # The graph that calls the parts: its nodes by the names of old ones, and what its module holds.
        self.base = Graph()
        self.known: dict[str, Node] = {}
        self.held: dict[str, Any] = {}

    # --- who needs what --------------------------------------------------------------------------

    def connect(self) -> None:
        """Note for each partition what it reads of others."""
        for user in self.m.graph.nodes:
            if user.op == "output" or user in self.of:
                for read in user.all_input_nodes:
                    self._cross(self.of.get(read), read, self.of.get(user))

    def _cross(self, made: Partition | None, read: Node, used: Partition | None) -> None:
        if made is used:
            return
        if made is not None:
            made.outputs.setdefault(read.name)
        if used is not None:
            used.inputs.setdefault(read.name)
        if made is not None and used is not None:
            made.dependents.setdefault(used.name)
            used.dependencies.setdefault(made.name)

    def ordered(self) -> list[str]:
        """The partitions' names, each after those that it depends on; RuntimeError for a circle."""
        ready = [name for name, p in self.partitions.items() if not p.dependencies]
        found = []
        while ready:
            found.append(ready.pop())
            for name in self.partitions[found[-1]].dependents:
                waiting = self.partitions[name].dependencies
                waiting.pop(found[-1])
                if not waiting:
                    ready.append(name)
        if len(found) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return found

    # --- the parts -------------------------------------------------------------------------------

    def fill(self, qualname_map: dict[str, str] | None, order: list[str]) -> None:
        """Write the partitions' graphs, but for their outputs."""
        for name in order:
            self._inputs(self.partitions[name])
        for node, partition in self.of.items():
            args, kwargs = map_arg((node.args, node.kwargs), partition.environment.__getitem__)
            target = node.target
            if node.op == "call_module":
                target = node.target.replace(".", "_")
                partition.targets[target] = _attribute(self.m, node.target)
                if qualname_map is not None:
                    qualname_map[f"{partition.submod_name}.{target}"] = node.target
            made = partition.graph.create_node(
                node.op, target, args, kwargs, node.name if self.keep_names else None, node.type
            )
            made.meta = node.meta.copy()
            partition.environment[node] = made

    def _inputs(self, partition: Partition) -> None:
        """Inputs of a partition; modules that are read as values it holds itself."""
        read = [self.nodes[name] for name in partition.inputs]
        modules = [
            node
            for node in read
            if node.op == "get_attr" and isinstance(_attribute(self.m, node.target), torch.nn.Module)
        ]
        given = [node for node in read if node not in modules]
        for i, node in enumerate(given):
            name = node.name if self.keep_inputs else f"arg_{i}"
            made = partition.graph.placeholder(name, type_expr=node.type)
            made.meta = node.meta.copy()
            partition.environment[node] = made
        for node in modules:
            made = partition.graph.get_attr(node.target)
            made.meta = node.meta.copy()
            partition.environment[node] = made
            partition.targets[node.target] = _attribute(self.m, node.target)
        partition.inputs = dict.fromkeys(node.name for node in given)

    # --- the whole -------------------------------------------------------------------------------

    def copy(self, node: Node) -> None:
        """Put an input, or what reads an attribute, into the graph that calls the parts."""
        if node.name in self.known or node.op not in ("placeholder", "get_attr"):
            return
        if node.op == "get_attr":
            made = self.base.get_attr(node.target)
            self.held[node.target] = _attribute(self.m, node.target)
        elif self.keep_names:
            made = self.base.create_node("placeholder", node.name, node.args, type_expr=node.type)
        else:
            default = node.args[0] if node.args else ...
            made = self.base.placeholder(node.target, type_expr=node.type, default_value=default)
        made.meta = node.meta.copy()
        self.known[node.name] = made

    def call(self, partition: Partition) -> None:
        """Make a partition's module, and its call."""
        outputs = list(partition.outputs)
        results = tuple(partition.environment[self.nodes[name]] for name in outputs)
        alone = len(results) == 1 and not self.tuples
        partition.graph.output(results[0] if alone else results)
        self.held[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        call = self.base.call_module(
            partition.submod_name, tuple(self.known[name] for name in partition.inputs)
        )
        for i, name in enumerate(outputs):
            self.known[name] = call if alone else Proxy(call)[i].node  # type: ignore[index]

    def assembled(self, order: list[str], keep_order: bool) -> GraphModule:
        """The module that calls the parts. keep_order: attributes are read right before their use."""
        for node in self.m.graph.nodes:
            if node.op == "placeholder" or not keep_order:
                self.copy(node)
        for name in order:
            for read in self.partitions[name].inputs:
                self.copy(self.nodes[read])
            self.call(self.partitions[name])
        output = self.m.graph.output_node()
        for node in output.all_input_nodes:
            self.copy(node)
        self.base.output(map_arg(output.args[0], lambda n: self.known[n.name]))
        made = GraphModule(self.held, self.base)
        made.meta["partition_names"] = {p.submod_name for p in self.partitions.values()}
        return made


def split_module(
    m: GraphModule,
    root_m: torch.nn.Module | None,
    split_callback: Callable[[Node], int | str],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A GraphModule that calls submodules `submod_N`, each with the nodes for which split_callback gives N.

    m: the module to split; root_m: the one that was traced (not used, as in PyTorch).
    split_callback: a function of a node that says in which part it belongs.
    qualname_map: is filled with {a module's new name: its old one}.
    keep_original_order: call the parts in the order in which their first nodes come, not one that follows
    from what they read, default False. keep_original_node_name: nodes of the parts are called as they were.
    keep_original_input_name: their inputs are; else arg_0, arg_1, ...; default True.
    partition_affix: call the parts `submod_AFFIX_N`. tuple_return: parts with one result return a tuple.
    RuntimeError where parts would need each other's results.
    """
    prefix = "" if partition_affix is None else f"{partition_affix}_"
    splitter = _Splitter(
        m,
        lambda node: f"{prefix}{split_callback(node)}",
        bool(keep_original_node_name),
        keep_original_input_name,
        tuple_return,
    )
    splitter.connect()
    order = splitter.ordered()
    splitter.fill(qualname_map, order)
    return splitter.assembled(
        list(splitter.partitions) if keep_original_order else order, bool(keep_original_order)
    )


def split_module_simple(
    m: GraphModule, node_to_partition: dict[Node, int], *, partition_affix: str | None = None
) -> GraphModule:
    """split_module() by a dict of the nodes that call something, with the parts in the order in which their
    first nodes come.
    """
    prefix = "" if partition_affix is None else f"{partition_affix}_"
    splitter = _Splitter(m, lambda node: f"{prefix}{node_to_partition[node]}", False, True, False)
    splitter.connect()
    order = list(splitter.partitions)
    splitter.fill(None, order)
    return splitter.assembled(order, True)
