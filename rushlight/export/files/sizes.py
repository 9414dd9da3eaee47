"""Sizes, and numbers and conditions made of them, as SymPy spells them in files, and read back.

A size is a text in Python's syntax here (`2*s77 + 1`, `u0 >= 0`), there `Add(Mul(Integer(2), Symbol('s77',
positive=True, integer=True)), Integer(1))`.
"""

from __future__ import annotations

import ast
from typing import Any

from rushlight.export.numbers.expressions import parsed
from rushlight.export.numbers.symbolic import SIZES, SymBool, SymFloat
from rushlight.export.symbols import Sym

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Mult: "Mul",
    ast.Add: "Add",
    ast.FloorDiv: "FloorDiv",
    ast.Div: "IntTrueDiv",
    ast.Pow: "PowByNatural",
    ast.BitAnd: "And",
    ast.BitOr: "Or",
}
_COMPARED: dict[type[ast.AST], str] = {
    ast.Gt: "StrictGreaterThan",
    ast.Lt: "StrictLessThan",
    ast.GtE: "GreaterThan",
    ast.LtE: "LessThan",
}
_SIGNS = {
    "Mul": "*",
    "Add": " + ",
    "FloorDiv": "//",
    "IntTrueDiv": "/",
    "FloatTrueDiv": "/",
    "PowByNatural": "**",
    "And": " & ",
    "Or": " | ",
    "StrictGreaterThan": " > ",
    "StrictLessThan": " < ",
    "GreaterThan": " >= ",
    "LessThan": " <= ",
}
# Functions that are called so there, and here.
_CALLED = {
    **{
        name: name
        for name in "Mod PythonMod Max Min ToFloat TruncToInt FloorToInt CeilToInt RoundToInt RoundDecimal "
        "Abs LShift RShift OpaqueUnaryFn_sqrt".split()
    },
    "Equality": "Eq",
    "Unequality": "Ne",
}
_BACK = {ours: theirs for theirs, ours in _CALLED.items()}


def size(value: Any) -> dict[str, Any]:
    """A number of a shape, or a number or condition that sizes decide."""
    if isinstance(value, SymBool):
        return _expression(str(value), {"as_bool": value.value})
    if isinstance(value, SymFloat) or getattr(value, "kind", "") == "float":
        return _expression(value.expression, {"as_float": float(value.hint)})
    if isinstance(value, SIZES):
        return _expression(value.expression, {f"as_{getattr(value, 'kind', 'int')}": value.hint})
    return {"as_int": int(value)}


def _expression(text: str, hint: dict[str, Any]) -> dict[str, Any]:
    return {"as_expr": {"expr_str": _sympy(ast.parse(text, mode="eval").body), "hint": hint}}


def _sympy(tree: Any) -> str:
    if isinstance(tree, ast.Name):
        kind = "real=True" if tree.id.startswith("zuf") else "integer=True"
        positive = "positive=True, " if tree.id.startswith("s") else ""
        return f"Symbol('{tree.id}', {positive}{kind})"
    if isinstance(tree, ast.Constant):
        kind = "Integer" if isinstance(tree.value, int) else "Float"
        shown = repr(tree.value) if kind == "Integer" else f"'{tree.value!r}', precision=53"
        return f"{kind}({shown})"
    if isinstance(tree, ast.UnaryOp):
        inner = _sympy(tree.operand)
        return f"Not({inner})" if isinstance(tree.op, ast.Invert) else f"Mul(Integer(-1), {inner})"
    if isinstance(tree, ast.Call):
        return f"{_BACK[tree.func.id]}({', '.join(map(_sympy, tree.args))})"  # type: ignore[attr-defined]
    if isinstance(tree, ast.Compare):
        return f"{_COMPARED[type(tree.ops[0])]}({_sympy(tree.left)}, {_sympy(tree.comparators[0])})"
    if isinstance(tree.op, ast.Sub):
        return f"Add({_sympy(tree.left)}, Mul(Integer(-1), {_sympy(tree.right)}))"
    return f"{_OPERATORS[type(tree.op)]}({_sympy(tree.left)}, {_sympy(tree.right)})"


def size_of(fields: dict[str, Any]) -> Any:
    """What `size` told; ValueError for what is no number."""
    if "as_int" in fields:
        return int(fields["as_int"])
    for key, kind in (("as_bool", bool), ("as_float", float)):
        if key in fields:
            return kind(fields[key])
    hint = fields["as_expr"].get("hint") or {"as_int": 0}
    ((kind, value),) = hint.items()
    text = _plain(ast.parse(fields["as_expr"]["expr_str"], mode="eval").body)
    if kind == "as_int":
        text = str(parsed(text))
    number = value if kind in ("as_bool", "as_float") else int(value)
    return Sym(text, number, kind.removeprefix("as_"))


def _plain(tree: Any) -> str:
    """The text; nothing but names, numbers, signs and the functions above."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return f"(0 - {_plain(tree.operand)})"
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return str(tree.value)
    name = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""
    if name == "Symbol" and str(tree.args[0].value).isidentifier():
        return str(tree.args[0].value)
    if name == "Integer":
        return _plain(tree.args[0])
    if name == "Float":
        return repr(float(tree.args[0].value))
    parts = [_plain(a) for a in getattr(tree, "args", ())]
    if name == "Not":
        return f"~({parts[0]})"
    if name in _CALLED:
        return f"{_CALLED[name]}({', '.join(parts)})"
    if name not in _SIGNS:
        raise ValueError(f"{ast.unparse(tree)} is no expression of sizes")
    return _SIGNS[name].join(f"({p})" if " " in p and name != "Add" else p for p in parts)
