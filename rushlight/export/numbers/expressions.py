"""Numbers that are expressions of sizes and of what a program reads of tensors, and what is known of them.

An `Expr` is a sum of products of atoms: symbols (`s77`, `u0`), or operations that are no sums (`(u0//2)`,
`Mod(u0, 2)`). Two expressions that are the same sum are equal, so that `u0 + 1 - u0` is the number 1.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

INFINITY = math.inf
Bounds = tuple[float, float]
Values = Mapping[str, float]
_EVERYTHING: Bounds = (-INFINITY, INFINITY)


class Atom(NamedTuple):
    """A symbol (no operands), or an operation of expressions."""

    op: str
    args: tuple[Expr, ...] = ()

    def __str__(self) -> str:
        if not self.args:
            return self.op
        shown = [str(a) for a in self.args]
        if self.op == "FloorDiv":
            return f"({_wrapped(shown[0])}//{_wrapped(shown[1])})"
        if self.op in ("TrueDiv", "Pow"):
            return f"({_wrapped(shown[0])}{'/' if self.op == 'TrueDiv' else '**'}{_wrapped(shown[1])})"
        return f"{self.op}({', '.join(shown)})"


def _wrapped(text: str) -> str:
    return f"({text})" if " " in text and not text.startswith("(") else text


_MEANINGS: dict[str, Callable[..., Any]] = {
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "TrueDiv": operator.truediv,
    "Pow": operator.pow,
    "Max": max,
    "Min": min,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "BitwiseXor": operator.xor,
    "Abs": abs,
    "ToFloat": float,
    "TruncToInt": math.trunc,
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
    "RoundToInt": round,
    "RoundDecimal": round,
    "Ite": lambda if_, one, other: one if if_ else other,
    **{
        f"OpaqueUnaryFn_{name}": getattr(math, name)
        for name in "sqrt cos cosh sin sinh tan tanh asin acos atan exp log log2".split()
    },
}


class Expr:
    """A sum: a coefficient for each product of atoms, the empty product for the number alone."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[tuple[Atom, ...], Any]) -> None:
        self.terms = {product: c for product, c in terms.items() if c != 0 or isinstance(c, float)}
        self._hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            constant = self.constant
            self._hash = hash(frozenset(self.terms.items()) if constant is None else constant)
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return bool(self.constant == other)
        return isinstance(other, Expr) and self.terms == other.terms

    @property
    def name(self) -> str:
        """Of a symbol, its name. AttributeError for another expression."""
        ((product, count),) = self.terms.items() if len(self.terms) == 1 else (((), 0),)
        if len(product) != 1 or product[0].args or count != 1:
            raise AttributeError(f"{self} is no symbol")
        return product[0].op

    @property
    def free_symbols(self) -> set[Expr]:
        """Its symbols."""
        return {symbol(name) for name in self.free()}

    @property
    def constant(self) -> Any:
        """The number that it is; None where it has symbols."""
        if not self.terms:
            return 0
        return self.terms.get((), None) if len(self.terms) == 1 else None

    def free(self) -> set[str]:
        """The names of its symbols."""
        atoms = [a for product in self.terms for a in product]
        found = {a.op for a in atoms if not a.args}
        return found.union(*(arg.free() for a in atoms for arg in a.args)) if atoms else found

    def at(self, values: Values) -> Any:
        """Its value, given those of its symbols."""
        total: Any = 0
        for product, count in self.terms.items():
            part = count
            for a in product:
                part = part * (
                    _MEANINGS[a.op](*(arg.at(values) for arg in a.args)) if a.args else values[a.op]
                )
            total = total + part
        return total

    def put(self, by: Mapping[str, Expr]) -> Expr:
        """With expressions in the place of symbols."""
        total = number(0)
        for product, count in self.terms.items():
            part = number(count)
            for a in product:
                whole = applied(a.op, *(arg.put(by) for arg in a.args)) if a.args else symbol(a.op)
                part = part * (whole if a.args else by.get(a.op, whole))
            total = total + part
        return total

    def bounds(self, ranges: Mapping[str, Bounds]) -> Bounds:
        """Between which numbers it lies, given its symbols' bounds."""
        low = high = 0.0
        for product, count in self.terms.items():
            part = (1.0, 1.0)
            for a in product:
                part = _times(part, _atom_bounds(a, ranges))
            part = _times(part, (count, count))
            low, high = low + part[0], high + part[1]
        return low, high

    def __add__(self, other: Expr) -> Expr:
        terms = dict(self.terms)
        for product, count in other.terms.items():
            terms[product] = terms.get(product, 0) + count
        return Expr(terms)

    def __neg__(self) -> Expr:
        return Expr({product: -count for product, count in self.terms.items()})

    def __sub__(self, other: Expr) -> Expr:
        return self + -other

    def __mul__(self, other: Expr) -> Expr:
        terms: dict[tuple[Atom, ...], Any] = {}
        for a, m in self.terms.items():
            for b, n in other.terms.items():
                product = tuple(sorted((*a, *b), key=str))
                terms[product] = terms.get(product, 0) + m * n
        return Expr(terms)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        items = sorted(self.terms.items(), key=_order)
        if items[0][1] < 0 and items[-1][0] == () and items[-1][1] > 0:
            items = [items[-1], *items[:-1]]
        text = ""
        for product, count in items:
            sign = "-" if count < 0 else "+"
            factors = [str(abs(count))] if abs(count) != 1 or not product else []
            powers = [
                f"{a}**{product.count(a)}" if product.count(a) > 1 else str(a) for a in dict.fromkeys(product)
            ]
            shown = "*".join([*factors, *powers])
            text = f"{text} {sign} {shown}" if text else f"{'-' if count < 0 else ''}{shown}"
        return text

    __repr__ = __str__


def _order(item: tuple[tuple[Atom, ...], Any]) -> Any:
    return -len(item[0]), [str(a) for a in item[0]]


def _times(a: Bounds, b: Bounds) -> Bounds:
    ends = [0.0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(ends), max(ends)


def _atom_bounds(a: Atom, ranges: Mapping[str, Bounds]) -> Bounds:
    if not a.args:
        return ranges.get(a.op, _EVERYTHING)
    parts = [arg.bounds(ranges) for arg in a.args]
    if a.op in ("Max", "Min"):
        function: Any = max if a.op == "Max" else min
        return function(p[0] for p in parts), function(p[1] for p in parts)
    if a.op in ("Mod", "PythonMod") and parts[1][0] > 0:
        return 0, min(parts[1][1] - 1, parts[0][1] if parts[0][0] >= 0 else INFINITY)
    if a.op == "FloorDiv" and parts[1][0] > 0:
        ends = [
            x / y if math.isinf(x) else float(x // y) for x in parts[0] for y in parts[1] if y != INFINITY
        ]
        beyond = [0.0] if parts[1][1] == INFINITY else []
        return min(ends + beyond), max(ends + beyond)
    if a.op in ("ToFloat", "TruncToInt", "FloorToInt", "CeilToInt"):
        return parts[0]
    return _EVERYTHING


@lru_cache(None)
def symbol(name: str) -> Expr:
    """The expression that is a symbol."""
    return Expr({(Atom(name),): 1})


def number(value: float) -> Expr:
    """The expression that is a number."""
    return Expr({(): value})


def product(factors: Sequence[Expr]) -> Expr:
    """All of them multiplied."""
    return math.prod(factors, start=number(1))


def applied(op: str, *args: Expr) -> Expr:
    """An operation that is no sum or product; the number itself where all operands are numbers."""
    constants = [a.constant for a in args]
    if None not in constants:
        return number(_MEANINGS[op](*constants))
    if op == "FloorDiv" and constants[1] == 1:
        return args[0]
    if op == "FloorDiv" and constants[1] is not None:
        by = constants[1]
        whole = Expr({p: c // by for p, c in args[0].terms.items() if c % by == 0})
        rest = Expr({p: c for p, c in args[0].terms.items() if c % by})
        if rest.constant is not None and 0 <= rest.constant < by:
            return whole
    if op in ("Mod", "PythonMod") and constants[1] is not None:
        rest = Expr({p: c for p, c in args[0].terms.items() if c % constants[1]})
        if rest.constant is not None:
            return number(rest.constant % constants[1])
    if op in ("Max", "Min"):
        args = tuple(dict.fromkeys(sorted(args, key=str)))
        if len(args) == 1:
            return args[0]
    return Expr({(Atom(op, args),): 1})


def power(base: Expr, exponent: Expr) -> Expr:
    """base to the power of exponent: a product where that is a small number."""
    times = exponent.constant
    if type(times) is int and 0 <= times <= 8:
        return product([base] * times)
    return applied("Pow", base, exponent)


_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}
_OPPOSITE = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
_COMPARE: dict[str, Callable[..., bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


class Relation(NamedTuple):
    """A comparison of two expressions, or `And`, `Or` or `Not` of relations (`sign`), which are `parts`."""

    sign: str
    left: Expr = number(0)
    right: Expr = number(0)
    parts: tuple[Relation, ...] = ()

    def __str__(self) -> str:
        if self.parts:
            if self.sign == "Not":
                return f"~{self.parts[0]}"
            shown = [str(p) if p.sign in ("==", "!=") else f"({p})" for p in self._flat()]
            return (" & " if self.sign == "And" else " | ").join(shown)
        if self.sign in ("==", "!="):
            return f"{'Eq' if self.sign == '==' else 'Ne'}({self.left}, {self.right})"
        return f"{self.left} {self.sign} {self.right}"

    def _flat(self) -> list[Relation]:
        """The parts, with those of parts that are joined alike."""
        return [q for p in self.parts for q in (p._flat() if p.sign == self.sign else [p])]

    def free(self) -> set[str]:
        """The names of its symbols."""
        return (self.left.free() | self.right.free()).union(*(p.free() for p in self.parts))

    def at(self, values: Values) -> bool:
        """Whether it holds, given values of its symbols."""
        held = [p.at(values) for p in self.parts]
        if self.parts:
            return {"And": all(held), "Or": any(held), "Not": not held[0]}[self.sign]
        return _COMPARE[self.sign](self.left.at(values), self.right.at(values))

    def is_simple(self) -> bool:
        """Whether it bounds one symbol, or says that two are equal or apart by a number."""
        terms = (self.left - self.right).terms
        alone = not self.parts and all(len(p) < 2 and not any(a.args for a in p) for p in terms)
        return (
            alone
            and (len(self.free()) < 2 if self.sign != "==" else len(self.free()) < 3)
            and self.sign != "!="
        )

    def has_operations(self) -> bool:
        """Whether it is no relation of sums of sizes, which bounds and equal symbols tell."""
        terms = [*self.left.terms, *self.right.terms]
        return any(len(product) > 1 or any(a.args for a in product) for product in terms)

    def opposite(self) -> Relation:
        """The relation that holds where this one does not."""
        if self.sign == "Not":
            return self.parts[0]
        if self.parts:
            return Relation(
                "Or" if self.sign == "And" else "And", parts=tuple(p.opposite() for p in self.parts)
            )
        return Relation(_OPPOSITE[self.sign], self.left, self.right)


class Known:
    """What holds in a program: symbols' bounds, and relations that it asserts."""

    def __init__(self, ranges: Mapping[str, Bounds] | None = None) -> None:
        self.ranges: dict[str, Bounds] = dict(ranges or {})
        self._zero: list[Expr] = []
        self._positive: list[Expr] = []  # each is >= 0
        self._other: set[Relation] = set()
        self._apart: set[Expr] = set()  # each is not 0

    def holds(self, relation: Relation) -> bool | None:
        """True or False where that follows from what is known, else None."""
        if relation.parts:
            parts = [self.holds(p) for p in relation.parts]
            if relation.sign == "Not":
                return None if parts[0] is None else not parts[0]
            decisive = relation.sign == "Or"
            return decisive if decisive in parts else None if None in parts else not decisive
        if relation in self._other:
            return True
        if relation.opposite() in self._other:
            return False
        difference = relation.left - relation.right
        if relation.sign in ("==", "!="):
            found = self._is_zero(difference)
            return found if found is None or relation.sign == "==" else not found
        if relation.sign in ("<", "<="):
            difference = -difference
        strict = relation.sign in (">", "<")
        if self._at_least(difference, 1 if strict else 0, strict):
            return True
        return False if self._at_least(-difference, 0 if strict else 1, not strict) else None

    def _at_least(self, difference: Expr, least: int, strict: bool) -> bool:
        low = difference.bounds(self.ranges)[0]
        if low >= least or (strict and low > 0):
            return True
        facts = [*self._positive, *self._zero, *(-z for z in self._zero)]
        return any((difference - fact).bounds(self.ranges)[0] >= least for fact in facts)

    def _is_zero(self, difference: Expr) -> bool | None:
        low, high = difference.bounds(self.ranges)
        if low == high == 0:
            return True
        if low > 0 or high < 0 or difference in self._apart:
            return False
        for z in self._zero:
            apart = [(difference - z).constant, (difference + z).constant]
            if 0 in apart:
                return True
            if any(apart):
                return False
        if self._at_least(difference, 1, True) or self._at_least(-difference, 1, True):
            return False
        return None

    def follows(self, name: str, others: Collection[str]) -> bool:
        """Whether a symbol is a number, or a sum of others, in all calls."""
        low, high = self.ranges.get(name, _EVERYTHING)
        alone = (Atom(name),)
        return low == high or any(
            abs(z.terms.get(alone, 0)) == 1 and (z - Expr({alone: z.terms[alone]})).free() <= set(others)
            for z in self._zero
        )

    def learn(self, relation: Relation, narrows: bool = True) -> None:
        """The relation holds from here on. narrows: its symbols have the bounds that follow from it."""
        if relation.sign == "And":
            for part in relation.parts:
                self.learn(part, narrows)
            return
        if relation.parts:
            self._other.add(relation)
            return
        if relation.sign == "!=":
            self._apart |= {relation.left - relation.right, relation.right - relation.left}
            return
        difference = relation.left - relation.right
        if relation.sign == "==":
            difference = self._opened(difference)
            self._zero.append(difference)
            if narrows:
                self._narrow(difference)
                self._narrow(-difference)
            return
        if relation.sign in ("<", "<="):
            difference = -difference
        if relation.sign in (">", "<"):
            difference = difference - number(1)
        self._positive.append(difference)
        if narrows:
            self._narrow(difference)

    def _opened(self, zero: Expr) -> Expr:
        """What is 0 as well, where that is a quotient or a conversion, and a number."""
        plus = zero.terms.get((), 0)
        rest = [(p, c) for p, c in zero.terms.items() if p]
        if len(rest) != 1 or len(rest[0][0]) != 1 or plus % rest[0][1]:
            return zero
        (atom,), wanted = rest[0][0], -plus / rest[0][1]
        by = atom.args[1].constant if atom.op == "TrueDiv" else 1
        if atom.op in ("ToFloat", "TrueDiv") and by is not None:
            return self._opened(atom.args[0] - number(int(wanted * by)))
        return zero

    def _narrow(self, positive: Expr) -> None:
        """Bounds of the symbols of what is >= 0."""
        for product, count in positive.terms.items():
            if len(product) != 1 or product[0].args:
                continue
            name = product[0].op
            rest = (positive - Expr({product: count})).bounds(self.ranges)
            low, high = self.ranges.get(name, _EVERYTHING)
            if rest[1] == INFINITY:
                continue
            edge = -rest[1] / count
            if count > 0:
                low = max(low, math.ceil(edge))
            else:
                high = min(high, math.floor(edge))
            self.ranges[name] = low, high


_OPERATORS: dict[type[ast.AST], Callable[[Expr, Expr], Expr]] = {
    ast.Add: Expr.__add__,
    ast.Sub: Expr.__sub__,
    ast.Mult: Expr.__mul__,
    ast.FloorDiv: lambda a, b: applied("FloorDiv", a, b),
    ast.Mod: lambda a, b: applied("Mod", a, b),
    ast.Div: lambda a, b: applied("TrueDiv", a, b),
    ast.Pow: lambda a, b: power(a, b),
}


def parsed(text: str) -> Expr:
    """The expression that a text is, in Python's syntax with the functions above; ValueError for another."""
    return _of_tree(ast.parse(text, mode="eval").body)


def _of_tree(tree: ast.AST) -> Expr:
    if isinstance(tree, ast.Name):
        return symbol(tree.id)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
        return number(tree.value)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_of_tree(tree.operand)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        return _OPERATORS[type(tree.op)](_of_tree(tree.left), _of_tree(tree.right))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _MEANINGS:
        return applied(tree.func.id, *map(_of_tree, tree.args))
    raise ValueError(f"{ast.unparse(tree)} is no expression of sizes")
