"""torch.fx.experimental.const_fold: what hangs on a module's own tensors alone is computed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.tracer import symbolic_trace

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module with a graph of its constants, `const_subgraph_module`, which runs before the first call; its
    results are the attribute `fx_const_folded_attrs_name` from there on.
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The graph's result."""
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants. AssertionError where they have been computed."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        several = isinstance(found, tuple)
        made = [self._parameter(value) for value in (found if several else (found,))]
        held = torch.nn.ParameterList(made) if several else made[0]
        setattr(self, self.fx_const_folded_attrs_name, held)

    def _parameter(self, value: Any) -> Any:
        if isinstance(value, int):
            value = torch.tensor([float(value)], device=self.device_for_folded_attrs)
        return torch.nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: Any, name: str) -> str:
    """A name like this one that a module has no attribute of."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        numbered = re.match(r"(.*)_(\d+)$", name)
        name = f"{name}_1" if numbered is None else f"{numbered[1]}_{int(numbered[2]) + 1}"
    return name


def split_const_subgraphs(
    module: Any,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """The module, traced where it is none of fx's, with its constants apart.

    skip_folding_node_fn: says of a node that it is none; device_for_folded_attrs: where numbers become
    tensors.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    fixed = _constants(traced, skip_folding_node_fn)
    used = [
        n
        for n in traced.graph.nodes
        if n in fixed and n.op != "get_attr" and any(user not in fixed for user in n.users)
    ]
    if not used:
        return FoldedGraphModule(traced, traced.graph)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    folded = _folded(traced.graph, fixed, used)
    rest = _rest(traced.graph, fixed, used, name)
    empty = [torch.nn.Parameter(torch.zeros(1)) for _ in used]
    setattr(traced, name, empty[0] if len(used) == 1 else torch.nn.ParameterList(empty))
    try:
        return FoldedGraphModule(traced, rest, folded, name, device_for_folded_attrs)
    finally:
        delattr(traced, name)


def _constants(traced: GraphModule, skip: Callable[[Node], bool] | None) -> set[Node]:
    """The nodes that read nothing but what the module holds."""
    found: set[Node] = set()
    for node in traced.graph.nodes:
        whole = node.op not in ("placeholder", "output") and found.issuperset(node.all_input_nodes)
        if whole and not (skip is not None and skip(node)) and not _has_effects(traced, node):
            found.add(node)
    return found


def _has_effects(traced: GraphModule, node: Node) -> bool:
    if node.is_impure():
        return True
    held = traced.get_submodule(str(node.target)) if node.op == "call_module" else None
    return isinstance(held, GraphModule) and any(
        n.op in ("call_function", "call_module") and _has_effects(held, n) for n in held.graph.nodes
    )


def _folded(graph: Graph, fixed: set[Node], used: list[Node]) -> Graph:
    made, values = Graph(), dict[Node, Node]()
    for node in graph.nodes:
        if node in fixed:
            values[node] = made.node_copy(node, values.__getitem__)
    results = tuple(values[node] for node in used)
    made.output(results if len(results) > 1 else results[0])
    made.eliminate_dead_code()
    return made


def _rest(graph: Graph, fixed: set[Node], used: list[Node], name: str) -> Graph:
    """The graph that reads the constants' values."""
    made, values = Graph(), dict[Node, Node]()
    for node in graph.nodes:
        if node in fixed and node.op != "get_attr":
            if node in used:
                target = name if len(used) == 1 else f"{name}.{used.index(node)}"
                values[node] = made.create_node("get_attr", target)
                values[node].meta = dict(node.meta)
        elif node.op == "output":
            made.node_copy(node, values.__getitem__)
        else:
            values[node] = made.node_copy(node, values.__getitem__)
    for node in [n for n in reversed(made.nodes) if n.op == "get_attr" and not n.users]:
        made.erase_node(node)
    return made
