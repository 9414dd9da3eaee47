"""Nodes for expressions of sizes, and for what a program asserts of them."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

import rushlight as torch
from rushlight.export import overloads
from rushlight.export.numbers.expressions import INFINITY, Atom, Expr, Relation, number, symbol
from rushlight.export.numbers.symbolic import Numbers, SymBool, SymInt
from rushlight.export.symbols import Symbol
from rushlight.fx.graph import Graph
from rushlight.fx.node import Node

_CALLS: dict[str, Any] = {
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "TrueDiv": operator.truediv,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "BitwiseXor": operator.xor,
    "Abs": abs,
    "RoundToInt": round,
    "RoundDecimal": round,
    "TruncToInt": math.trunc,
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
}
_COMPARE = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


class SizeNodes:
    """The nodes of expressions in a graph, each made once."""

    def __init__(self, graph: Graph, known: list[Symbol], numbers: Numbers) -> None:
        self.graph, self.numbers = graph, numbers
        self.known = {s.name: s for s in known}
        self._made: dict[Expr, Node] = {}

    def now(self, expr: Expr) -> Any:
        """The node of an expression, where the graph is being written; the number that it is."""
        return self._of(expr, self._made)

    def before(self, expr: Expr, node: Node) -> Any:
        """The node of an expression, before another node of a whole graph."""
        earlier = self._earlier(node)
        with self.graph.inserting_before(node):
            found = self._of(expr, earlier)
        for e, made in earlier.items():
            self._made.setdefault(e, made)
        return found

    def _earlier(self, node: Node) -> dict[Expr, Node]:
        places = {n: i for i, n in enumerate(self.graph.nodes)}
        return {e: n for e, n in self._made.items() if n in places and places[n] < places[node]}

    def _of(self, expr: Expr, made: dict[Expr, Node]) -> Any:
        if expr.constant is not None:
            return expr.constant
        if expr not in made:
            made[expr] = self._sum(expr, made)
        return made[expr]

    def _sum(self, expr: Expr, made: dict[Expr, Node]) -> Node:
        parts = list(expr.terms.items())
        if len(parts) == 1:
            return self._product(*parts[0], made)
        first = Expr(dict(parts[:-1])) if parts[-1][0] == () or len(parts) > 1 else expr
        product, count = parts[-1]
        sign, left = (operator.sub, -count) if count < 0 else (operator.add, count)
        return self._call(sign, (self._of(first, made), self._of(Expr({product: left}), made)), expr)

    def _product(self, product: tuple[Atom, ...], count: Any, made: dict[Expr, Node]) -> Node:
        whole = Expr({product: count})
        if count != 1:
            return self._call(operator.mul, (self._of(Expr({product: 1}), made), count), whole)
        times = product.count(product[-1])
        if times == len(product) > 1:
            return self._call(operator.pow, (self._of(Expr({product[:1]: 1}), made), times), whole)
        if len(product) > 1:
            rest = Expr({product[:-1]: 1})
            return self._call(
                operator.mul, (self._of(rest, made), self._of(Expr({product[-1:]: 1}), made)), whole
            )
        atom = product[0]
        if not atom.args:
            return self._symbol(atom.op, made)
        named = {"Max": torch.sym_max, "Min": torch.sym_min, "ToFloat": torch.sym_float} | _CALLS
        call = named.get(atom.op) or torch.sym_sqrt
        return self._call(call, tuple(self._of(a, made) for a in atom.args), whole)

    def _call(self, function: Any, args: tuple[Any, ...], expr: Expr) -> Node:
        node = self.graph.call_function(function, args)
        self._told(node, expr)
        return node

    def _told(self, node: Node, expr: Expr) -> None:
        value = expr.at(self.numbers.values)
        node.meta.update(sym=True, val=SymInt.of(int(value), self.numbers, expr, node))

    def _symbol(self, name: str, made: dict[Expr, Node]) -> Node:
        if name in self.numbers.unbacked:
            node, dim = self.numbers.unbacked[name]
            if dim is None:
                return node
            with self.graph.inserting_after(node):
                return self._size_of(node, dim, symbol(name))
        leaves = {n.meta["leaf"]: n for n in self.graph.nodes if "leaf" in n.meta}
        places = self.known[name].places
        place, of = min(places.items(), key=lambda item: (item[1](0), item[1](1)) != (0, 1))
        own = leaves[place.leaf]
        if place.dim is None:
            return own
        by, plus = of(1) - of(0), of(0)
        with self.graph._behind_inputs():
            found = self._size_of(own, place.dim, symbol(name) * number(by) + number(plus))
            if plus:
                found = self._call(operator.sub, (found, plus), symbol(name) * number(by))
            if by != 1:
                found = self._call(operator.floordiv, (found, by), symbol(name))
        return found

    def _size_of(self, tensor: Node, dim: int, expr: Expr) -> Node:
        node = self.graph.call_function(
            overloads.named("torch.ops.aten.sym_size.int"), (tensor, dim), name="sym_size_int_1"
        )
        self._told(node, expr)
        return node

    def once(self) -> None:
        """One node for each expression."""
        first: dict[Expr, Node] = {}
        for node in self.graph.nodes:
            value = node.meta.get("val")
            if not isinstance(value, SymInt):
                continue
            if value.expr not in first:
                first[value.expr] = node
            elif node.meta.get("sym"):
                node.replace_all_uses_with(first[value.expr])
                self.graph.erase_node(node)
        self._made = first

    # --- assertions --------------------------------------------------------------------------------

    def assertions(self, inner: bool = False) -> None:
        """Write nodes that compare, at every call, what the program asserts and relies upon. inner: the graph
        is of a function that the program hands on: what it asserts of numbers of its own tensors.
        """
        numbers = self.numbers
        held = numbers.known.ranges
        for name, (node, dim) in list(numbers.unbacked.items()):
            low, high = held.get(name, (-INFINITY, INFINITY))
            if node.graph is not self.graph:  # inside of a function of its own
                continue
            if numbers.natural.get(name) == (low, high):
                continue
            own = self.now(symbol(name)) if dim is not None else node
            behind = own
            for sign, edge in ((">=", low), ("<=", high)):
                if abs(edge) != INFINITY:
                    behind = self._assert(Relation(sign, symbol(name), number(edge)), behind, None)
        for relation, message in numbers.asserted:
            if _is_bound(relation):
                continue  # it has been compared
            within = [n for n in relation.free() if n in numbers.unbacked]
            if inner and not within:
                continue
            if any(numbers.unbacked[n][0].graph is not self.graph for n in within):
                continue
            roots = [self.now(symbol(n)) for n in within or relation.free()]
            if roots:
                order = list(self.graph.nodes)
                self._assert(relation, self._end_of_assertions(max(roots, key=order.index)), message)
            if numbers.notes.get(relation):
                self._noted(numbers.notes[relation])

    def _noted(self, custom: Any) -> None:
        """The nodes of sizes and assertions have what the program noted where it decided by them."""
        for node in self.graph.nodes:
            if node.meta.get("sym") or node.meta.get("asserts") or node in self._made.values():
                node.meta.setdefault("custom", custom)

    def _end_of_assertions(self, node: Node) -> Node:
        """The last of the nodes behind a node that compare numbers."""
        order = list(self.graph.nodes)
        for after in order[order.index(node) + 1 :]:
            if "asserts" not in after.meta:
                return node
            node = after
        return node

    def _assert(self, relation: Relation, behind: Node, message: str | None) -> Node:
        with self.graph.inserting_after(behind):
            mark = self.graph.call_function(overloads.anyone("_assert_scalar.default"), (True, ""))
        made = self._earlier(mark)
        with self.graph.inserting_before(mark):
            node = self._relation(relation, made)
        self._made.update(made)  # also in the place of nodes that come later
        between = behind.next
        while between is not mark:
            between.meta["asserts"], between = True, between.next
        told = str(relation)
        if any(self.numbers.known.ranges.get(name, (-INFINITY, 0))[0] < 0 for name in relation.free()):
            told = re.sub(r"\bMod\(", "PythonMod(", told)  # whose sign is the divisor's
        said = message or f"Runtime assertion failed for expression {told} on node '{node.name}'"
        mark.args = (node, said)
        mark.meta.update(behind.meta, asserts=True)
        for key in ("val", "sym", "nr"):
            mark.meta.pop(key, None)
        mark.meta["val"] = None
        return mark

    def _relation(self, relation: Relation, made: dict[Expr, Node]) -> Node:
        if relation.parts:
            parts = tuple(self._relation(p, made) for p in relation.parts)
            joint: Any = {"And": operator.and_, "Or": operator.or_, "Not": torch.sym_not}[relation.sign]
            node = self.graph.call_function(joint, parts)
        else:
            sides = (self._of(relation.left, made), self._of(relation.right, made))
            node = self.graph.call_function(_COMPARE[relation.sign], sides)
        value = relation.at(self.numbers.values)
        node.meta.update(sym=True, asserts=True, val=SymBool(value, self.numbers, relation, node))
        return node


def _is_bound(relation: Relation) -> bool:
    """Whether it says between which numbers a symbol lies."""
    terms = (relation.left - relation.right).terms
    alone = len(relation.free()) == 1 and not relation.parts and relation.sign not in ("==", "!=")
    return alone and all(len(p) < 2 and abs(c) == 1 and not p[0].args for p, c in terms.items() if p)
