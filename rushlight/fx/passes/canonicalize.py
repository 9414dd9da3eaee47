"""Graphs in an order, and with names, that do not depend on the order in which they were traced."""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable
from itertools import count
from typing import Any

from rushlight.fx import names
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node

__all__ = ["canonicalize_graph", "rename_nodes_to_canonical"]


def rename_nodes_to_canonical(graph: Graph, skip_ops: frozenset[str] = frozenset()) -> dict[str, str]:
    """Give all nodes the names that they would get if they were made now, in this order; {old: new}.

    skip_ops: kinds of nodes that keep their names.
    """
    space, renamed = names.Namespace(), dict[str, str]()
    for node in graph.nodes:
        before = node.name
        node.name = space.create_name(before if node.op in skip_ops else names.suggested(node.target), node)
        if node.name != before:
            renamed[before] = node.name
    graph._namespace = space
    return renamed


def _barriers(graph: Graph, is_safe_to_reorder: Callable[[Node], bool]) -> dict[Node, list[Node]]:
    """{node: nodes that must come after it}, beside those that read it: those that are not safe to move stay
    in their order, and the others stay between the same two of them.
    """
    after: dict[Node, list[Node]] = {}
    last: Node | None = None
    movable: list[Node] = []
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        fixed = not is_safe_to_reorder(node)
        for before in [*(movable if fixed else ()), *([last] if last else ())]:
            after.setdefault(before, []).append(node)
        if fixed:
            last, movable = node, []
        else:
            movable.append(node)
    return after


def _order(
    graph: Graph, key: Callable[[Node, dict[Node, int]], Any], later: dict[Node, list[Node]]
) -> list[Node]:
    waiting = {node: len(node.all_input_nodes) for node in graph.nodes}
    for nodes in later.values():
        for node in nodes:
            waiting[node] += 1
    place: dict[Node, int] = {}
    numbers = count()
    ready = [(key(node, place), next(numbers), node) for node, left in waiting.items() if not left]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)[2]
        place[node] = len(place)
        for user in [*node.users, *later.get(node, ())]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (key(user, place), next(numbers), user))
    left = [node for node, number in waiting.items() if number]
    if left:
        raise RuntimeError(
            f"Canonicalization failed: processed {len(place)} of {len(waiting)} nodes. Remaining: {left}"
        )
    return list(place)


def _attributes_late(order: list[Node]) -> list[Node]:
    """The order with each node that reads an attribute right before the first that reads it."""
    others = [node for node in order if node.op != "get_attr"]
    place = {node: i for i, node in enumerate(others)}
    end = len(others) - (bool(others) and others[-1].op == "output")
    before: dict[int, list[Node]] = {}
    for node in order:
        if node.op == "get_attr":
            first = min((place.get(user, len(others)) for user in node.users), default=end)
            before.setdefault(first, []).append(node)
    found = []
    for i, node in enumerate(others):
        found += [*before.pop(i, ()), node]
    return found + [node for nodes in before.values() for node in nodes]


def _items_beside(order: list[Node]) -> list[Node]:
    """The order with the nodes that take items of a result right behind it, by index."""
    items: dict[Any, list[Node]] = {}
    for node in order:
        if node.op == "call_function" and node.target is operator.getitem:
            items.setdefault(node.args[0], []).append(node)
    taken = {node for nodes in items.values() for node in nodes}
    found: list[Node] = []

    def place(node: Node) -> None:
        found.append(node)
        for item in sorted(items.get(node, ()), key=_index):
            place(item)

    for node in order:
        if node not in taken:
            place(node)
    return found


def _index(node: Node) -> tuple[int, int, str]:
    index = node.args[1]
    return (0, index, "") if isinstance(index, int) else (1, 0, str(index))


def canonicalize_graph(
    graph: Graph,
    canonical_key_fn: Callable[[Node, dict[Node, int]], Any],
    is_safe_to_reorder: Callable[[Node], bool],
    *,
    skip_rename_ops: frozenset[str] = frozenset(),
    group_getitems: bool = False,
) -> dict[str, str]:
    """Order and name the nodes so that graphs of the same structure are the same; {old name: new name}.

    canonical_key_fn: (a node, {nodes before it: their places}) -> what decides which of the nodes that could
    come next does: the smallest.
    is_safe_to_reorder: whether a node may move; those that may not keep their order.
    skip_rename_ops: kinds of nodes that keep their names.
    group_getitems: whether nodes that take items of a result come right behind it, default False.
    """
    order = _order(graph, canonical_key_fn, _barriers(graph, is_safe_to_reorder))
    order = _attributes_late(order)
    graph._nodes[:] = _items_beside(order) if group_getitems else order
    return rename_nodes_to_canonical(graph, skip_rename_ops)
