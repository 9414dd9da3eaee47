"""What help() shows of an op: its row's docstring, and what follows from its kind."""

from __future__ import annotations

from rushlight._engine.ops.table import Row

_REDUCED = "dim: one or several, by default all; with keepdim they stay, with size 1."


def help_text(row: Row) -> str:
    """The row's docstring, with a paragraph on shapes and the result's dtype where the kind says them."""
    derived = {"pointwise": _pointwise, "reduce": _reduced}.get(row.kind)
    if derived is None or not row.doc:
        return row.doc
    indent = "    " if "\n    " in row.doc or "\n" not in row.doc else ""
    return f"{row.doc.rstrip()}\n\n{indent}{' '.join(derived(row))}\n{indent}"


def _pointwise(row: Row) -> list[str]:
    operands = sum(p.is_tensor for p in row.params)
    lines = ["Any shape." if operands == 1 else "Shapes broadcast, and dtypes are promoted."]
    if row.dtypes == "float":
        lines.append("Integers give the default floating dtype.")
    if row.result == "bool":
        lines.append("The result is bool.")
    if row.result == "real":
        lines.append("Of complex numbers the result is real.")
    return lines


def _reduced(row: Row) -> list[str]:
    takes_dtype = any(p.name == "dtype" for p in row.params)
    lines = [_REDUCED, "dtype: what the input is converted to first."] if takes_dtype else [_REDUCED]
    if row.dtypes == "bool":
        lines.append("The result is bool.")
    return lines
