"""A directed graph of what needs what."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Any


class DiGraph:
    """Nodes with attributes, and edges between them. Nodes are any objects that can be keys."""

    def __init__(self) -> None:
        self._node: dict[Any, dict[str, Any]] = {}
        self._succ: dict[Any, dict[Any, bool]] = {}
        self._pred: dict[Any, dict[Any, bool]] = {}
        self._node_order: dict[Any, int] = {}

    def add_node(self, n: Hashable, **attributes: Any) -> None:
        """A node, or more attributes of one that is there."""
        if n not in self._node:
            self._node[n], self._succ[n], self._pred[n] = {}, {}, {}
            self._node_order[n] = len(self._node_order)
        self._node[n].update(attributes)

    def add_edge(self, u: Hashable, v: Hashable) -> None:
        """An edge from u to v, which become nodes."""
        self.add_node(u)
        self.add_node(v)
        self._succ[u][v] = self._pred[v][u] = True

    def successors(self, n: Hashable) -> Iterator[Any]:
        """Where edges of n lead; ValueError where there is no such node."""
        return iter(self._at(self._succ, n))

    def predecessors(self, n: Hashable) -> Iterator[Any]:
        """Where edges that lead to n begin; ValueError where there is no such node."""
        return iter(self._at(self._pred, n))

    def _at(self, table: dict[Any, dict[Any, bool]], n: Hashable) -> dict[Any, bool]:
        if n not in self:
            raise ValueError(f"The node {n} is not in the digraph.")
        return table[n]

    @property
    def edges(self) -> Iterator[tuple[Any, Any]]:
        """All edges, each as (from, to)."""
        return ((n, m) for n, successors in self._succ.items() for m in successors)

    @property
    def nodes(self) -> dict[Any, dict[str, Any]]:
        """The nodes' attributes."""
        return self._node

    def __iter__(self) -> Iterator[Any]:
        return iter(self._node)

    def __contains__(self, n: object) -> bool:
        try:
            return n in self._node
        except TypeError:
            return False

    def forward_transitive_closure(self, src: str) -> set[str]:
        """All that can be reached from a node, which is among it."""
        return self._reached(self._succ, src)

    def backward_transitive_closure(self, src: str) -> set[str]:
        """All from which a node can be reached, which is among it."""
        return self._reached(self._pred, src)

    def _reached(self, table: dict[Any, dict[Any, bool]], src: Any) -> set[Any]:
        found, waiting = {src}, deque([src])
        while waiting:
            for n in self._at(table, waiting.popleft()):
                if n not in found:
                    found.add(n)
                    waiting.append(n)
        return found

    def all_paths(self, src: str, dst: str) -> str:
        """The part of the graph that lies on paths from one node to another, in Graphviz' language."""
        part = DiGraph()
        on_the_way = self.forward_transitive_closure(src) & self.backward_transitive_closure(dst)
        for n, m in self.edges:
            if n in on_the_way and m in on_the_way:
                part.add_edge(n, m)
        return part.to_dot()

    def first_path(self, dst: str) -> list[str]:
        """A path to a node that begins where nothing leads to; each step back is the first that was added."""
        path = [dst]
        while self._pred[path[-1]]:
            before = next(iter(self._pred[path[-1]]))
            if before in path:
                break
            path.append(before)
        return path[::-1]

    def to_dot(self) -> str:
        """The graph in Graphviz' language."""
        edges = "\n".join(f'"{n}" -> "{m}";' for n, m in self.edges)
        return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{edges}\n}}\n"


__all__ = ["DiGraph"]
