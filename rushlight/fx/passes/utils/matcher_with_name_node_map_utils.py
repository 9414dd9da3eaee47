"""SubgraphMatcherWithNameNodeMap: a SubgraphMatcher whose pattern gives its nodes names."""

from __future__ import annotations

from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """Matches a pattern that returns (what it returns, ..., {name: node}), the last being no part of it.

    Matches say in `name_node_map` which nodes of the graph those are. Other arguments: SubgraphMatcher's.
    """

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        graph = pattern_gm.graph
        returned = graph.output_node().args[0]
        if not isinstance(returned, (list, tuple)) or not returned or not isinstance(returned[-1], dict):
            raise AssertionError(
                "expected the pattern to return a tuple whose last item is a dict of names and nodes, "
                f"but it returns {returned}"
            )
        self.name_node_map: dict[str, Node] = dict(returned[-1])
        copied = Graph()
        known: dict[Node, Node] = {}
        copied.graph_copy(graph, known)
        copied.output(tuple(known[node] for node in returned[:-1]))
        copied.owning_module = pattern_gm
        self.name_node_map = {name: known[node] for name, node in self.name_node_map.items()}
        super().__init__(copied, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """SubgraphMatcher's matches, with their name_node_map."""
        found = super().match(graph, node_name_match)
        for match in found:
            match.name_node_map = {name: match.nodes_map[node] for name, node in self.name_node_map.items()}
        return found
