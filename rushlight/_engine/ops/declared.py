"""Rows that are lines of tables: those of a single atom of their operands, and those of one formula.

declared.tsv: family, name, operands ("| Number" behind those that may be numbers), facts, refusals, docstring.
Facts are those of a Row, and `atom` and `arg` where the atom is not called as the row is. A refusal is kinds
of dtypes, and PyTorch's words for them or (one word) its kernel, which has none. "*" is the row's name.
formulas.tsv: family, kind, name, parameters, facts, what a body of that kind returns, docstring.
"""

from __future__ import annotations

import math
import os
from typing import Any

from rushlight._engine.ops.expressions import const, m, make, stored
from rushlight._engine.ops.table import ROWS, Row, composite, pointwise

ONE_BOOL_SUB = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)
_PATH, _FORMULAS = (
    os.path.join(os.path.dirname(__file__), name) for name in ("declared.tsv", "formulas.tsv")
)


def _read(path: str) -> list[list[str]]:
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


_LINES, _FORMULA_LINES = _read(_PATH), _read(_FORMULAS)


def not_for(kernel: str, *kinds: str) -> dict[str, str]:
    """PyTorch's refusal of the kinds of dtypes that it has no kernel for."""
    return dict.fromkeys(kinds, f"\"{kernel}\" not implemented for '{{dtype}}'")


def atoms(family: str, **common: Any) -> dict[str, Row]:
    """Declare a family's rows of one atom, by name; `common`: facts of those that say no other."""
    return {
        line[0]: _declared(family, number, common, *line)
        for number, (of, *line) in enumerate(_LINES, 1)
        if of == family
    }


def _declared(
    family: str,
    number: int,
    common: dict[str, Any],
    name: str,
    operands: str,
    facts: str,
    refusals: str,
    doc: str,
) -> Row:
    given = common | dict(_fact(word) for word in facts.replace("*", name).split())
    types = dict(f"{operand} | ".split(" | ")[:2] for operand in operands.split(", "))
    body = _body(given.pop("atom", name), given.pop("arg", None), len(types))
    # As if written in that line of the table, where a card looks for it.
    body.__code__ = body.__code__.replace(co_varnames=tuple(types), co_filename=_PATH, co_firstlineno=number)
    body.__annotations__ = {n: "Tensor | Number" if other else "Tensor" for n, other in types.items()}
    body.__module__ = f"rushlight._engine.ops.{family}"
    refuse: dict[str, str] = {}
    for part in filter(None, refusals.replace("*", name).split("; ")):
        kinds, _, words = part.partition(": ")
        refuse |= dict.fromkeys(kinds.split(), words) if " " in words else not_for(words, *kinds.split())
    return pointwise(body, name=name, doc=doc, refuse=refuse, **given)


def _body(atom: str, arg: str | None, operands: int) -> Any:
    return {
        1: lambda x: make(atom, x, arg=arg),
        2: lambda x, y: make(atom, x, y, arg=arg),
        3: lambda x, y, z: make(atom, x, y, z, arg=arg),
    }[operands]


def formulas(family: str) -> dict[str, Row]:
    """Declare a family's rows of one formula, by name."""
    return {
        line[1]: _of_formula(family, number, *line)
        for number, (of, *line) in enumerate(_FORMULA_LINES, 1)
        if of == family
    }


def _of_formula(
    family: str, number: int, kind: str, name: str, parameters: str, facts: str, formula: str, doc: str
) -> Row:
    scope: dict[str, Any] = {
        "m": m,
        "const": const,
        "stored": stored,
        "math": math,
        "ROWS": ROWS,
        "__name__": f"rushlight._engine.ops.{family}",
    }
    text = "\n" * (number - 1) + f"def {name}({parameters}): return {formula}"
    exec(compile(text, _FORMULAS, "exec"), scope)
    declare = pointwise if kind == "pointwise" else composite
    return declare(scope[name], name=name, doc=doc, **dict(_fact(word) for word in facts.split()))


def _fact(word: str) -> tuple[str, Any]:
    """A fact's name and value: yes and no, several of what Row wants several of, or a word."""
    name, _, value = word.partition("=")
    if name in ("aliases", "where", "wide", "narrow", "not_promoting"):
        return name, tuple(filter(None, value.split(",")))
    return name, {"yes": True, "no": False}.get(value, value)
