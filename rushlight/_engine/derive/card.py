"""A row's card: everything that the table knows and derives about one op, as text."""

from __future__ import annotations

import inspect
import textwrap
from contextlib import suppress
from types import FunctionType
from typing import Any

from rushlight._engine.derive.vjp import GRAD, RESULT, differentiate
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
            (
                "gradient",
                "derived from the monoid" if row.vjp is None else f"declared, {_place_of(row.vjp)}",
            ),
        ]
    derived = {
        "view": "the transposed map",
        "index": "add at the same coordinates",
        "contract": "contractions with permuted labels",
        "composite": "by substitution",
        "opaque": "none",
    }[row.kind]
    return [("gradient", f"declared, {_place_of(row.vjp)}" if row.vjp is not None else derived)]


def _pointwise(row: Row) -> list[tuple[str, str]]:
    values: dict[str, Any] = {}
    for p in row.params:
        values[p.name] = symbol(p.name) if not p.is_static else p.default
        if p.default is signature.REQUIRED and p.is_static:
            values[p.name] = _EXAMPLE  # a formula for each value: one of them is shown
        if p.is_number and p.default is not signature.REQUIRED and p.default is not None:
            values[p.name] = const(p.default)
    root: Expr = row.body(**values)
    gradients = row.options.get("gradients")
    declared = {} if gradients is None else gradients(GRAD, RESULT, **values)
    derivatives = [
        (f"d/d{p.name}", str(declared[p.name]) if p.name in declared else _derivative(root, p.name))
        for p in row.params
        if p.is_tensor
    ]
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
    """What runs it; of a composite, the rows that its body mentions and whose kernels run."""
    if row.fused is not None:
        return f"declared, {_place_of(row.fused)}"
    if row.kind == "composite":
        rows = sorted(rows_of(row.body))
        return f"its rows': {', '.join(rows)}" if rows else "its rows'"
    return {
        "pointwise": "NumPy first, one generated LLVM loop when hot",
        "view": "none",
        "reduce": "NumPy's reduction, generated when large",
    }.get(row.kind, "the body")


def rows_of(function: Any, seen: set[Any] | None = None) -> set[str]:
    """Names of the rows that a function mentions, itself or in functions of its own module that it calls."""
    seen = set() if seen is None else seen
    function = inspect.unwrap(function)
    if not isinstance(function, FunctionType) or function in seen:
        return set()
    seen.add(function)
    mentioned = [function.__globals__.get(name) for name in function.__code__.co_names]
    found = {value.name for value in mentioned if isinstance(value, Row)}
    for value in mentioned:
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            found |= rows_of(value, seen)
    return found


def source_of(row: Row) -> str:
    """Where the row is written: the file, and the line of its body's `def`."""
    return _place_of(row.body)


def _place_of(function: Any) -> str:
    """A function's file and the line of its `def`, which a code object's first line is not: that is its first
    decorator's. Of a method of an object (a row kernel's), where the method is.
    """
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is None:
        return f"{type(function).__module__}"
    path = inspect.getsourcefile(code) or code.co_filename
    line = code.co_firstlineno
    with suppress(OSError):  # a package without its sources
        lines, line = inspect.getsourcelines(code)
        line += next((i for i, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    return f"{path[path.rfind('rushlight') :]}:{line}"
