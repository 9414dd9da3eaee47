"""The least cut of a network: which edges of least capacity part two of its nodes (Dinic's algorithm)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterator

INFINITY = math.inf


class Network:
    """Edges with capacities between nodes of any kind."""

    def __init__(self) -> None:
        # What may still flow from a node to another.
        self.left: dict[Hashable, dict[Hashable, float]] = {}

    def edge(self, start: Hashable, end: Hashable, capacity: float) -> None:
        """An edge; a second one between the same nodes adds to the first."""
        own = self.left.setdefault(start, {})
        own[end] = own.get(end, 0) + capacity
        self.left.setdefault(end, {}).setdefault(start, 0)

    def cut(self, source: Hashable, sink: Hashable) -> set[Hashable]:
        """The nodes on the source's side. RuntimeError where no edge of finite capacity parts the two."""
        self.left.setdefault(source, {}), self.left.setdefault(sink, {})
        while sink in (levels := self._levels(source)):
            heads = {node: iter(list(edges)) for node, edges in self.left.items()}
            while pushed := self._push(source, sink, levels, heads):
                if pushed == INFINITY:
                    raise RuntimeError("the two ends are joined by a way that cannot be cut")
        return set(levels)

    def _levels(self, source: Hashable) -> dict[Hashable, int]:
        levels, waiting = {source: 0}, deque([source])
        while waiting:
            node = waiting.popleft()
            for end, capacity in self.left[node].items():
                if capacity > 0 and end not in levels:
                    levels[end] = levels[node] + 1
                    waiting.append(end)
        return levels

    def _push(
        self,
        source: Hashable,
        sink: Hashable,
        levels: dict[Hashable, int],
        heads: dict[Hashable, Iterator[Hashable]],
    ) -> float:
        """Let flow what one way takes; 0 where there is none left of these levels."""
        way = [source]
        while way:
            node = way[-1]
            if node == sink:
                return self._flow(way)
            for end in heads[node]:
                if self.left[node][end] > 0 and levels.get(end) == levels[node] + 1:
                    way.append(end)
                    break
            else:
                way.pop()
        return 0

    def _flow(self, way: list[Hashable]) -> float:
        steps = list(zip(way, way[1:], strict=False))
        amount = min(self.left[a][b] for a, b in steps)
        if amount == INFINITY:
            return amount
        for a, b in steps:
            self.left[a][b] -= amount
            self.left[b][a] += amount
        return amount
