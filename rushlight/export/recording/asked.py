"""What rules of sizes ask while a program is recorded: sizes of tensors, and that something holds of them."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

from rushlight.export.numbers.expressions import Expr, Relation, applied, number
from rushlight.export.numbers.symbolic import SYMBOLIC, expression
from rushlight.export.recording.places import PACKAGE

Shape = tuple[Expr, ...]


# Where what calls ops for the program is: the dispatcher and recording, and what runs graphs node by node.
_BETWEEN = tuple(
    PACKAGE + os.path.join(*part.split("/"))
    for part in (
        "_engine",
        "_torch_dispatch/methods",
        "export/listener",
        "export/overloads",
        "export/recording",
    )
)
_RUNS = PACKAGE + os.path.join("fx", "interpreter")
_LAYERS = PACKAGE + os.path.join("nn", "modules")


def _caller() -> str:
    """The file of what has called the op that is told."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_BETWEEN, "<rushlight")):
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""


class UnknownSize(Exception):
    """Nothing is known of a size."""


def sizes_of(listener: Any, t: Any) -> Shape:
    """A tensor's sizes; UnknownSize where only further records tell them."""
    found, node = listener.exprs.get(id(t)), listener.node(t)
    if found is None or id(t) in listener.counted:
        if node.op != "placeholder" and "told" not in node.meta:
            raise UnknownSize
        found = {d: n for d, n in enumerate(node.meta.get("told", ())) if n.constant is None}
    return tuple(found.get(d, number(n)) for d, n in enumerate(t._geometry.shape))


def of_program() -> bool:
    """Whether it is the program that has called what is being recorded, not the framework's own Python."""
    return not _caller().startswith(PACKAGE)


def changes(listener: Any, t: Any, dim: int) -> bool:
    """Whether one of a tensor's sizes is known to be another at other sizes of the inputs."""
    try:
        return sizes_of(listener, t)[dim].constant is None
    except UnknownSize:
        return False


class Sizes:
    """What rules ask: sizes of tensors, and that something holds."""

    def __init__(self, listener: Any) -> None:
        self.listener, self.numbers = listener, listener.numbers
        caller = PACKAGE if listener.within else _caller()
        self.own = not caller.startswith(PACKAGE) or caller.startswith(_RUNS)
        self.of_layers = self.own or caller.startswith(_LAYERS)

    def number(self, n: Any) -> Expr:
        """A size that an op was given: no constant where the framework's own Python gives it, which sees
        plain numbers, or where the program may have it of a tensor whose sizes are not told.
        """
        if (not self.own or self.numbers.unknown) and not isinstance(n, SYMBOLIC) and n != -1:
            raise UnknownSize
        return expression(n)

    def setting(self, n: Any) -> Expr:
        """The same of a number that layers are made with, which their modules hand on."""
        return expression(n) if self.of_layers and not self.numbers.unknown else self.number(n)

    def of(self, t: Any) -> Shape:
        """A tensor's sizes."""
        return sizes_of(self.listener, t)

    def same(self, a: Expr, b: Expr) -> Expr:
        """The size that two sizes have to be."""
        if a == b:
            return a
        relation = Relation("==", a, b)
        self.holds(relation)
        return a if a.constant is not None or b.constant is None else b

    def holds(self, relation: Relation) -> None:
        """The op works only where this holds."""
        if not relation.at(self.numbers.values):
            raise UnknownSize
        if self.numbers.known.holds(relation) is None:
            self.numbers.check(relation, True, None)

    def least(self, a: Expr, b: Expr) -> Expr:
        """The smaller one, decided as in this call."""
        smaller = Relation("<=", a, b)
        here = smaller.at(self.numbers.values)
        if self.numbers.known.holds(smaller) is None:
            if not smaller.free() <= self.numbers.backed and self.numbers.excused is None:
                raise UnknownSize  # a draft goes on as in this call, and asserts it
            self.numbers.decide(smaller, here)
        return a if here else b


def divided(sizes: Sizes, whole: Expr, by: Expr) -> Expr:
    """whole // by, where nothing may remain."""
    if len(by.terms) == 1:
        ((atoms, count),) = by.terms.items()
        found: dict[Any, Any] = {}
        for factors, times in whole.terms.items():
            rest = list(factors)
            if any(a not in rest for a in atoms) or times % count:
                break
            for a in atoms:
                rest.remove(a)
            found[tuple(rest)] = times // count
        else:
            return Expr(found)
    sizes.holds(Relation("==", applied("Mod", whole, by), number(0)))
    shared = math.gcd(*(int(c) for c in (*whole.terms.values(), *by.terms.values())))
    whole, by = (Expr({p: c // shared for p, c in e.terms.items()}) for e in (whole, by))
    return applied("FloorDiv", whole, by)


def broadcast(sizes: Sizes, shapes: Sequence[Shape]) -> Shape:
    """The shape of operands that go together element by element."""
    rank = max(map(len, shapes))
    found = []
    for column in zip(*[(number(1),) * (rank - len(s)) + s for s in shapes], strict=True):
        size = number(1)
        for n in column:
            size = n if size.constant == 1 else size if n.constant == 1 else sizes.same(size, n)
        found.append(size)
    return tuple(found)
