"""Pointwise ops without a line in ops.tsv: their scalar expressions, atom by atom (atoms.tsv)."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive import cast, types
from rushlight._engine.dispatch.runners.pointwise import variant
from rushlight._engine.ops.expressions import const, round_stored, substitute, symbol, toposort
from rushlight.onnx.builder import Builder, Ref
from rushlight.onnx.errors import UnsupportedOperatorError


@lru_cache(None)
def table(name: str) -> dict[str, Any]:
    """A table of this folder: names, and compiled expressions."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if line.strip()]
    return {key: compile(text, f"{name}: {key}", "eval") for keys, text in rows for key in keys.split()}


def pointwise(b: Builder, row: Any, bound: dict[str, Any], result: Any) -> Ref:
    """A pointwise row's expression for `bound` (Refs, numbers and words by the row's names) as nodes."""
    given = {p.name: bound[p.name] for p in row.params if not p.is_tensor or bound[p.name] is None}
    formula = variant(row, given)
    root, operands = formula.root, {}
    for name in formula.operands:
        value = bound[name]
        if isinstance(value, Ref):
            operands[name] = value
        else:
            root = substitute(root, {symbol(name): const(value)})
    promoting = {p.name for p in row.params if p.is_tensor} - set(row.options.get("not_promoting", ()))
    ranks = [
        (cast.DIMS if bound[n].shape else cast.ZERO, bound[n].dtype)
        if isinstance(bound[n], Ref)
        else cast.rank_of_number(bound[n])
        for n in formula.operands
        if n in promoting
    ]
    work = cast.compute_dtype(row.dtypes, cast.common_dtype(ranks))
    (root,) = round_stored([root], work.name if work.itemsize < 4 else None)
    operands = {n: b.cast(v, work) if n in promoting else v for n, v in operands.items()}
    return b.cast(expression(b, root, operands, work, row.name), result.dtype)


def expression(b: Builder, root: Any, operands: dict[str, Ref], work: Any, name: str) -> Ref:
    """A scalar expression over `operands`, computed in `work`, as nodes."""
    known = types.infer([root], {n: v.dtype.name for n, v in operands.items()}, work.name)
    made: dict[Any, Ref] = {}
    atoms = table("atoms.tsv")
    for node in toposort([root]):
        own = dt.BY_NAME[known[node]]
        if node.op == "in":
            made[node] = b.cast(operands[node.arg], own)
        elif node.op == "const":
            made[node] = b.constant(np.asarray(node.arg, own.np))
        elif node.op == "cast":
            made[node] = b.cast(made[node.src[0]], own)
        elif node.op not in atoms:
            raise UnsupportedOperatorError(
                f"{name} is an expression with {node.op}, which ONNX has no form for"
            )
        else:
            src = [
                b.cast(made[s], dt.BY_NAME[types.operand_type(node, known, i)])
                for i, s in enumerate(node.src)
            ]
            made[node] = evaluated(b, atoms[node.op], dict(zip("abcd", src, strict=False)))
            made[node].dtype = own
    return made[root]


_BUILTINS = {"len": len, "range": range, "int": int, "float": float, "list": list}


class Scope(dict[str, Any]):
    """The names of a table's expression: its arguments, capital names as ONNX ops, and `forms`' functions."""

    def __init__(self, b: Builder, names: dict[str, Any], forms: Any = None) -> None:
        super().__init__(names, __builtins__=_BUILTINS)
        self.b, self.forms = b, forms

    def __missing__(self, name: str) -> Any:
        if name[0].isupper() and name not in ("False", "True", "None"):
            return getattr(self.b, name)
        if self.forms is not None and hasattr(self.forms, name):
            return getattr(self.forms, name)
        if name == "as_bool":
            return lambda v: self.b.cast(v, dt.bool_)
        raise KeyError(name)


def evaluated(b: Builder, code: Any, names: dict[str, Any], forms: Any = None) -> Any:
    """A line of a table, with these arguments."""
    return eval(code, Scope(b, names, forms))
