"""SubgraphMatcher: where a graph has a part like a pattern."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import rushlight as torch
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import attribute
from rushlight.fx.node import Node
from rushlight.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]

logger = logging.getLogger(__name__)


@dataclass
class InternalMatch:
    """A part that fits.

    anchors: nodes of the pattern from which it was found; nodes_map: {node of the pattern: of the graph};
    placeholder_nodes, returning_nodes: what stands for the pattern's inputs and results, in their order.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    # By the names that a pattern gives: torch.fx.passes.utils.matcher_with_name_node_map_utils'.
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """Finds parts of graphs that are like `pattern`.

    match_output, match_placeholder: whether the pattern's output and inputs are part of it; if not, its
    inputs stand for anything, default False.
    remove_overlapping_matches: of matches that share nodes, give only the first, default True.
    ignore_literals: whether numbers, strings and so on in arguments may differ, default False.
    ValueError for a pattern without nodes, AssertionError for one with nodes that nothing reads.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        if any(node.op != "output" and not node.is_impure() and not node.users for node in pattern.nodes):
            raise AssertionError("SubgraphMatcher cannot be initialized with a pattern with dead code")
        self.pattern_placeholder_nodes = pattern.find_nodes(op="placeholder")
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        # From here the graph is walked backwards: what only the output reads.
        sinks = [node for node in output.all_input_nodes if len(node.users) == 1]
        self.pattern_anchors = [output] if match_output else sinks

    # --- one node --------------------------------------------------------------------------------

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether two get_attr nodes read tensors of the same type, whatever their numbers."""
        pattern, graph = pn.graph.owning_module, gn.graph.owning_module
        if pattern is None or graph is None:
            raise AssertionError("nodes that read attributes need a graph that a module owns")
        wanted, found = attribute(pattern, pn.target), attribute(graph, gn.target)
        if type(wanted) is not type(found):
            return False
        if not isinstance(wanted, torch.Tensor):
            raise RuntimeError(f"Unsupported type {wanted} when matching attributes")
        return True

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if pn.op == "placeholder" and not self.match_placeholder:
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else bool(pn.target == gn.target)

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        """Whether two arguments fit that are not both nodes: an input of the pattern stands for anything."""
        if isinstance(pn, Node):
            return pn.op == "placeholder" and bool(match.nodes_map.setdefault(pn, gn) == gn)
        return not isinstance(gn, Node) and type(gn) is type(pn) and bool(gn == pn)

    def _match_args(self, wanted: Any, found: Any, match: InternalMatch) -> bool:
        return len(wanted) == len(found) and all(
            self._match_arg(a, b, match) for a, b in zip(wanted, found, strict=True)
        )

    def _match_arg(self, wanted: Any, found: Any, match: InternalMatch) -> bool:
        if isinstance(wanted, Node) and isinstance(found, Node):
            return self._match_nodes(wanted, found, match)
        if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
            return self._match_args(wanted, found, match)
        return self._match_literals(wanted, found, match) or self.ignore_literals

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        """Whether a node of the graph, and what it reads, fits one of the pattern; noted in `match`."""
        if pn in match.nodes_map:
            return bool(match.nodes_map[pn] is gn)
        if any(gn is known for known in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        wanted, found = _arguments(pn, gn)
        return wanted is not None and self._match_args(wanted, found, match)

    # --- a graph ---------------------------------------------------------------------------------

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The parts of `graph` that fit. Of their nodes only inputs and results are read from outside.

        node_name_match: nodes whose name contains this fit any anchor of the pattern.
        """
        candidates = {
            anchor: [node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)]
            for anchor in self.pattern_anchors
        }
        tried = [(anchor, nodes) for anchor, nodes in candidates.items() if nodes]
        start = InternalMatch(self.pattern_anchors)
        found = list(self._matches(tried, start, node_name_match)) if tried else []
        found = [match for match in found if self._is_contained(match.nodes_map)]
        found = [match for match in found if validate_partition(_computed(match))]
        logger.info("Matches returned: %s", found)
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found

    def _matches(
        self, tried: list[tuple[Node, list[Node]]], so_far: InternalMatch, name: str
    ) -> Iterator[InternalMatch]:
        """All ways to fit the anchors that are left, each with its candidates."""
        if not tried:
            so_far.placeholder_nodes = [so_far.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
            so_far.returning_nodes = [so_far.nodes_map[pn] for pn in self.pattern_returning_nodes]
            yield so_far
            return
        (anchor, candidates), *others = tried
        for node in candidates:
            match = so_far.__copy__()
            if self._match_nodes(anchor, node, match, name):
                yield from self._matches(others, match, name)

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether what is inside the part is read only there."""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        return all(
            pn in self.pattern_returning_nodes or all(user in inside for user in gn.users)
            for gn, pn in inside.items()
        )

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            nodes = _computed(match)
            if taken.isdisjoint(nodes):
                kept.append(match)
                taken.update(nodes)
        return kept


def _computed(match: InternalMatch) -> list[Node]:
    return [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]


def _arguments(pn: Node, gn: Node) -> tuple[list[Any] | None, list[Any] | None]:
    """The arguments of two nodes side by side, with an op's defaults; None where they cannot be compared."""
    if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
        return [*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()]
    if pn.op != "call_function" or pn.target != gn.target or not hasattr(pn.target, "_schema"):
        return None, None
    declared = pn.target._schema.arguments

    def given(node: Node) -> list[Any]:
        found = []
        for i, argument in enumerate(declared):
            if argument.name in node.kwargs:
                found.append(node.kwargs[argument.name])
            elif not argument.kwarg_only and i < len(node.args):
                found.append(node.args[i])
            else:
                found.append(argument.default_value)
        return found

    return given(pn), given(gn)
