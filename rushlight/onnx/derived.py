"""Pointwise ops without a form in op_forms.py: their scalar expressions, atom by atom (atoms.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive import cast, types
from rushlight._engine.dispatch.runners.pointwise import variant
from rushlight._engine.ops.expressions import const, round_stored, substitute, symbol, toposort
from rushlight.onnx.atoms import ATOMS
from rushlight.onnx.builder import Builder, Ref
from rushlight.onnx.errors import UnsupportedOperatorError


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
    for node in toposort([root]):
        own = dt.BY_NAME[known[node]]
        if node.op == "in":
            made[node] = b.cast(operands[node.arg], own)
        elif node.op == "const":
            made[node] = b.constant(np.asarray(node.arg, own.np))
        elif node.op == "cast":
            made[node] = b.cast(made[node.src[0]], own)
        elif node.op not in ATOMS:
            raise UnsupportedOperatorError(
                f"{name} is an expression with {node.op}, which ONNX has no form for"
            )
        else:
            src = [
                b.cast(made[s], dt.BY_NAME[types.operand_type(node, known, i)])
                for i, s in enumerate(node.src)
            ]
            made[node] = ATOMS[node.op](b, *src)
            made[node].dtype = own
    return made[root]
