"""What of a recorded graph nobody reads, and what of that is left out."""

from __future__ import annotations

import operator

from rushlight.export.numbers.symbolic import SYMBOLIC
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node

_UNTOLD = frozenset(("aten.detach.default", "aten.detach_.default", "aten.lift_fresh_copy.default"))


def without_unread(graph: Graph, whole: bool) -> None:
    """Erase what nobody reads. whole: numbers and constants alone, as PyTorch's export() does, which tells
    all other ops that a program has called.
    """
    graph.eliminate_dead_code(lambda node: node.is_impure() or _stays(node, whole))


def _stays(node: Node, whole: bool) -> bool:
    if node.target is operator.getitem:
        return True
    number = node.meta.get("sym") or isinstance(node.meta.get("val"), SYMBOLIC)
    return whole and node.op == "call_function" and not number and str(node.target) not in _UNTOLD
