"""Pointwise rows that are a single atom of their operands: the formula is the name."""
from __future__ import annotations

from rushlight.ops.scalar import Expr, m
from rushlight.ops.table import Row, pointwise

NUMBER = "Tensor | Number"


def unary(name: str, doc: str, *aliases: str, atom: str = "", **facts: object) -> Row:
    """The row NAME(input), for the atom of that name (or `atom`)."""
    def body(input) -> Expr:
        return getattr(m, atom or name)(input)
    return pointwise(body, name=name, doc=doc, aliases=aliases, **facts)


def binary(name: str, doc: str, *aliases: str, atom: str = "", first: str = "Tensor",
           second: str = "Tensor", arg: str | None = None, **facts: object) -> Row:
    """The row NAME(input, other); `first` and `second` are the schema types of its operands."""
    def body(input, other) -> Expr:
        return getattr(m, atom or name)(input, other, arg=arg)
    body.__annotations__ = {"input": first, "other": second}
    return pointwise(body, name=name, doc=doc, aliases=aliases, **facts)
