"""The numbers that nodes are called with, by which records at several sizes are compared."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from rushlight.export.numbers.expressions import Expr, parsed, product
from rushlight.export.numbers.symbolic import SYMBOLIC
from rushlight.export.symbols import Sym, fitted
from rushlight.fx.node import Node, map_aggregate

_FEW = 6  # sizes of which pairs are tried


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


def of_operands(node: Node, values: Sequence[int], at: Sequence[dict[str, int]]) -> Sym | None:
    """The expression that is values[i] for the sizes at[i], of one or two sizes of a node's operands, or of
    products of these that lie side by side, or a size of an earlier node; None if none is.
    """
    several = node.all_input_nodes if node.target is not operator.getitem else _of_whole(node)
    shapes = [getattr(n.meta.get("val"), "shape", ()) for n in several]
    known = {e for shape in shapes for e in _products(shape) if all(e.free() <= p.keys() for p in at)}
    columns = {e: [e.at(p) for p in at] for e in sorted(known, key=lambda e: (len(str(e)), str(e)))}
    free = [e for e, column in columns.items() if len(set(column)) > 2]
    for few in (*((e,) for e in free), *itertools.combinations(free[:_FEW], 2)):
        named = [{f"e{i}": columns[e][p] for i, e in enumerate(few)} for p in range(len(at))]
        found = fitted(values, named)
        if isinstance(found, Sym):
            return Sym(str(parsed(found.expression).put({f"e{i}": e for i, e in enumerate(few)})), values[0])
    return _seen_before(node, values, at)


def _seen_before(node: Node, values: Sequence[int], at: Sequence[dict[str, int]]) -> Sym | None:
    """The size of an earlier node that is values[i] for the sizes at[i]."""
    seen: set[Any] = set()
    for earlier in itertools.takewhile(lambda n: n is not node, node.graph.nodes):
        for size in getattr(earlier.meta.get("val"), "shape", ()):
            if isinstance(size, Sym) and size.expression not in seen:
                seen.add(size.expression)
                expr = parsed(size.expression)
                if all(expr.free() <= p.keys() and expr.at(p) == v for v, p in zip(values, at, strict=True)):
                    return Sym(str(expr), values[0])
    return None


def _of_whole(node: Node) -> list[Node]:
    """The operands of the op that has a node among its results."""
    return node.args[0].all_input_nodes if isinstance(node.args[0], Node) else []


def _products(shape: Sequence[Any]) -> Iterator[Expr]:
    sizes = [parsed(str(n)) for n in shape]
    for first in range(len(sizes)):
        for end in range(first + 1, len(sizes) + 1):
            yield product(sizes[first:end])
