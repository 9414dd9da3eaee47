"""The numbers that nodes are called with, by which records at several sizes are compared."""

from __future__ import annotations

from typing import Any

from rushlight.export.numbers.symbolic import SYMBOLIC
from rushlight.export.symbols import Sym
from rushlight.fx.node import Node, map_aggregate


def numbers(node: Node) -> list[Any]:
    """What a node is called with, flat, but for other nodes: their places stand for them, and SYMBOLIC for
    those that are numbers.
    """
    found: list[Any] = [node.op, node.target]
    map_aggregate((node.args, node.kwargs), lambda a: found.append(_place_in(a)))
    return found


def _place_in(value: Any) -> Any:
    if not isinstance(value, Node):
        return value
    if value.meta.get("sym") or "numbers" in value.meta or isinstance(value.meta.get("val"), SYMBOLIC):
        return SYMBOLIC
    return f"%{value.meta['nr']}"


def rewritten(node: Node, values: list[Any]) -> None:
    """Give a node what `numbers` tells, changed."""
    rest = iter(values[2:])
    node.args, node.kwargs = map_aggregate(
        (node.args, node.kwargs), lambda a: (next(rest), a)[1] if isinstance(a, Node) else next(rest)
    )


def is_size(value: Any) -> bool:
    """Whether it is a number that a size may have made."""
    return isinstance(value, (int, Sym)) and not isinstance(value, bool)
