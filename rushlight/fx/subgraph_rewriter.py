"""torch.fx.replace_pattern: parts of a graph that look like a pattern become another graph.

A pattern's inputs stand for anything, its other nodes for nodes of the same kind with the same arguments, and
what lies between may have no user outside. Matching goes from the pattern's results backward.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import rushlight as torch
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule, attribute, put
from rushlight.fx.node import Node
from rushlight.fx.tracer import symbolic_trace

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the first of its results, and the pattern's nodes with the graph's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A Match, and the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


@dataclass
class InternalMatch:
    """What filters and callbacks see of a match: the pattern's results that no node of it uses, its nodes and
    the graph's, the graph's values for its inputs and its results.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)


class _Matcher:
    def __init__(self, pattern: Graph, ignore_literals: bool) -> None:
        self.pattern, self.ignore_literals = pattern, ignore_literals
        if any(n.op != "output" and not n.users and not n.is_impure() for n in pattern.nodes):
            raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.results = pattern.output_node().all_input_nodes
        self.anchors = [n for n in self.results if len(n.users) == 1]

    def matches(self, graph: Graph) -> list[InternalMatch]:
        """All that do not overlap, in order."""
        found: list[InternalMatch] = []
        taken: set[Any] = set()
        for pairs in self._from(0, {}, list(graph.nodes)) if self.anchors else ():
            inner = {gn: pn for pn, gn in pairs.items() if pn.op != "placeholder"}
            closed = all(
                pn in self.results or all(user in inner for user in gn.users) for gn, pn in inner.items()
            )
            if closed and taken.isdisjoint(inner):
                taken |= inner.keys()
                found.append(
                    InternalMatch(
                        self.anchors,
                        pairs,
                        [pairs[n] for n in self.pattern.nodes if n.op == "placeholder"],
                        [pairs[n] for n in self.results],
                    )
                )
        return found

    def _from(self, index: int, pairs: dict[Node, Any], nodes: list[Node]) -> Iterator[dict[Node, Any]]:
        if index == len(self.anchors):
            yield pairs
            return
        for node in nodes:
            tried = dict(pairs)
            if self._equal(self.anchors[index], node, tried):
                yield from self._from(index + 1, tried, nodes)

    def _equal(self, pn: Any, gn: Any, pairs: dict[Node, Any]) -> bool:
        """Whether an argument of the pattern is one of the graph; `pairs` learns."""
        if isinstance(pn, (list, tuple)) and isinstance(gn, (list, tuple)):
            return len(pn) == len(gn) and all(self._equal(p, g, pairs) for p, g in zip(pn, gn, strict=True))
        if not isinstance(pn, Node):
            return not isinstance(gn, Node) and (self.ignore_literals or (type(pn) is type(gn) and pn == gn))
        if pn in pairs:
            return bool(pairs[pn] is gn if isinstance(gn, Node) else pairs[pn] == gn)
        if pn.op == "placeholder":
            pairs[pn] = gn
            return not isinstance(gn, Node) or sum(g is gn for g in pairs.values()) == 1
        if not isinstance(gn, Node) or pn.op != gn.op or any(g is gn for g in pairs.values()):
            return False
        if pn.op == "get_attr":
            held = [attribute(n.graph.owning_module, n.target) for n in (pn, gn)]
            if not isinstance(held[0], torch.Tensor):
                raise RuntimeError(f"Unsupported type {held[0]} when matching attributes")
            same = type(held[0]) is type(held[1])
        else:
            same = pn.target == gn.target
        pairs[pn] = gn
        return (
            same
            and list(pn.kwargs) == list(gn.kwargs)
            and self._equal([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()], pairs)
        )


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Put `replacement` in the place of each part of gm's graph that looks like `pattern`.

    Both are functions (traced), GraphModules or Graphs with as many inputs and results. Of parts that overlap
    the first is replaced. Submodules and attributes that the replacement names are copied from it. The graph
    is changed, and the places are told; AssertionError where inputs or results differ in number.
    """
    return [Match(m.anchor, m.nodes_map) for m in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: Sequence[Any] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """replace_pattern where all of match_filters(match, graph, pattern) are true.

    ignore_literals: numbers and texts in the pattern stand for any. replacement_callback(match, graph,
    pattern) gives the graph to put there, instead of `replacement`. node_name_match is not supported.
    """
    if node_name_match:
        raise NotImplementedError("replace_pattern: node_name_match is not supported; instead: match_filters")
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    wanted, graph = _graph(pattern), gm.graph
    fixed = None if replacement is None else _graph(replacement)
    changed: dict[Any, Node] = {}
    done = []
    for match in _Matcher(wanted, ignore_literals).matches(graph):
        if not all(chosen(match, graph, wanted) for chosen in match_filters or ()):
            continue
        put_there: Any = replacement_callback(match, graph, wanted) if replacement_callback else fixed
        # A value may have been a result that an earlier replacement gives now.
        match.placeholder_nodes = [
            changed.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes
        ]
        match.nodes_map = {
            pn: changed.get(n, n) if isinstance(n, Node) else n for pn, n in match.nodes_map.items()
        }
        done.append(_replace(graph, wanted, put_there, match, changed))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _bring_attributes(gm, replacement)
    return done


def _graph(given: Any) -> Graph:
    return (
        given
        if isinstance(given, Graph)
        else (given if isinstance(given, GraphModule) else symbolic_trace(given)).graph
    )


def _replace(
    graph: Graph, pattern: Graph, replacement: Graph, match: InternalMatch, changed: dict[Any, Node]
) -> ReplacedPatterns:
    inputs = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
    values: dict[Node, Any] = dict(zip(inputs, match.placeholder_nodes, strict=True))
    users = {user for n in match.returning_nodes for user in n.users}
    order = list(graph.nodes)
    last = max(order.index(n) for n in match.returning_nodes)
    with graph.inserting_before(next((n for n in order if n in users), order[last + 1])):
        found = graph.graph_copy(replacement, values)
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(found) != len(match.returning_nodes):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(found)}")
    for old, new in zip(match.returning_nodes, found, strict=True):
        old.replace_all_uses_with(new)
        changed[old] = new
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    made = [n for n in values.values() if n not in match.placeholder_nodes]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _bring_attributes(gm: GraphModule, replacement: Any) -> None:
    """What the replacement's nodes name, copied; modules that no node names are dropped."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr"):
            for holder in (gm, replacement):
                try:
                    held = attribute(holder, node.target)
                except RuntimeError:
                    continue
                if holder is replacement:
                    put(gm, node.target, copy.deepcopy(held))
                break
            else:
                raise RuntimeError(
                    f'Attempted to create a "{node.op}" node during subgraph rewriting with '
                    f"target {node.target}, but the referenced attribute does not exist in "
                    "the replacement GraphModule"
                )
    gm.graph.lint()
