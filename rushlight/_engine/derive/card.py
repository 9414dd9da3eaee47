"""A row's card: everything that the table knows and derives about one op, as text."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from rushlight._engine.derive.vjp import differentiate
from rushlight._engine.ops import signature
from rushlight._engine.ops.expressions import Expr, const, symbol
from rushlight._engine.ops.monoid import Reduction
from rushlight._engine.ops.table import Row, public

_EXAMPLE = 2


def card(row: Row) -> str:
    """The card: schema, names, kind, formula, gradient, dtype rule, kernels, policy, source."""
    lines = [signature.text(row.name, row.params, row.out), textwrap.indent(row.doc.strip(), "    "), ""]
    facts = [
        ("kind", row.kind),
        ("names", ", ".join(public_names(row)) or "internal"),
        ("arguments", ", ".join(f"{p.name}: {p.type}" for p in row.params)),
        *meaning(row),
        ("dtypes", dtype_rule(row)),
        ("kernel", kernel_of(row)),
        ("autocast", row.autocast),
        ("refuses", ", ".join(row.refuse) or "nothing"),
        ("source", source_of(row)),
    ]
    lines += [f"{name:10} {value}" for name, value in facts]
    return "\n".join(lines)


def public_names(row: Row) -> list[str]:
    """Every public spelling of the row."""
    return sorted(f"{space}.{name}" for space, name, _ in public(row))


def meaning(row: Row) -> list[tuple[str, str]]:
    """The formula and the gradient, as the row's kind has them."""
    if row.kind == "pointwise":
        return _pointwise(row)
    if row.kind == "reduce":
        found: Reduction = row.body(*[symbol(p.name) for p in row.params[: row.body.__code__.co_argcount]])
        finish = "" if found.finish is None else f", then {found.finish(symbol('s'), symbol('n'))}"
        return [
            ("formula", f"{found.combine} over {found.map}{finish}"),
            ("gradient", "derived from the monoid" if row.vjp is None else "declared"),
        ]
    derived = {
        "view": "the transposed map",
        "index": "add at the same coordinates",
        "contract": "contractions with permuted labels",
        "composite": "by substitution",
        "opaque": "none",
    }[row.kind]
    return [("gradient", f"declared: {row.vjp.__module__}" if row.vjp is not None else derived)]


def _pointwise(row: Row) -> list[tuple[str, str]]:
    values: dict[str, Any] = {}
    for p in row.params:
        values[p.name] = symbol(p.name) if not p.is_static else p.default
        if p.default is signature.REQUIRED and p.is_static:
            values[p.name] = _EXAMPLE  # a formula for each value: one of them is shown
        if p.is_number and p.default is not signature.REQUIRED and p.default is not None:
            values[p.name] = const(p.default)
    root: Expr = row.body(**values)
    derivatives = [(f"d/d{p.name}", _derivative(root, p.name)) for p in row.params if p.is_tensor]
    return [("formula", str(root)), *derivatives]


def _derivative(root: Expr, name: str) -> str:
    try:
        return str(differentiate(root, [symbol(name)])[0])
    except NotImplementedError:
        return "none"


def dtype_rule(row: Row) -> str:
    """How the result's dtype follows from the operands'."""
    rules = {
        "same": "promoted",
        "float": "promoted, integers to the default floating dtype",
        "sum": "integers to int64",
        "bool": "bool",
        "int": "promoted",
    }
    rule = rules.get(row.dtypes, row.dtypes)
    return rule if row.result == "same" else f"{rule}; result {row.result}"


def kernel_of(row: Row) -> str:
    """What runs it."""
    if row.fused is not None:
        return "declared"
    return {
        "pointwise": "NumPy first, one generated LLVM loop when hot",
        "view": "none",
        "reduce": "NumPy's reduction, generated when large",
        "composite": "its rows'",
    }.get(row.kind, "the body")


def source_of(row: Row) -> str:
    """Where the row is written."""
    code = getattr(row.body, "__wrapped__", row.body).__code__
    path = inspect.getsourcefile(code) or code.co_filename
    return f"{path[path.rfind('rushlight') :]}:{code.co_firstlineno}"
