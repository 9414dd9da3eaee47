"""Parts of graphs as modules, and whether two graphs are the same."""

from __future__ import annotations

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.passes.utils.matcher_utils import SubgraphMatcher
from rushlight.nn import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that only holds other modules by name."""

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """(a GraphModule of `subgraph` that holds what its nodes name of `gm`, {name there: comp_name.name}).

    subgraph: a graph of copies of nodes of `gm`; class_name: what the module's class is called.
    """
    holder = HolderModule({})
    names: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if not isinstance(node.target, str):
            raise AssertionError(f"Expected str target, got {type(node.target)}")
        *path, last = node.target.split(".")
        theirs: Module = gm
        ours: Module = holder
        for part in path:
            if not hasattr(ours, part):
                ours.add_module(part, HolderModule({}))
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        names[node.target] = f"{comp_name}.{node.target}"
        setattr(ours, last, getattr(theirs, last))
    return GraphModule(holder, subgraph, class_name), names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs have the same nodes, connected alike, with inputs and outputs in the same order."""
    return bool(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right))
