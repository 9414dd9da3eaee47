"""How the program's text writes the op that is running: with an operator, as a method, or as a function.

It is read off the text at the place where the program's own code stands; without text nothing is known.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import lru_cache
from linecache import getline
from types import CodeType, ModuleType
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.contents import is_module
from rushlight._engine.trace.recorder import _PACKAGE

# By the classes of the text's nodes: names in the module operator, and of the rows that these run.
_OPERATORS = {
    ast.Add: ("add", "add"),
    ast.Sub: ("sub", "sub"),
    ast.Mult: ("mul", "mul"),
    ast.Div: ("truediv", "div"),
    ast.FloorDiv: ("floordiv", "floor_divide"),
    ast.Mod: ("mod", "remainder"),
    ast.Pow: ("pow", "pow"),
    ast.MatMult: ("matmul", "matmul"),
    ast.BitAnd: ("and_", "bitwise_and"),
    ast.BitOr: ("or_", "bitwise_or"),
    ast.BitXor: ("xor", "bitwise_xor"),
    ast.LShift: ("lshift", "bitwise_left_shift"),
    ast.RShift: ("rshift", "bitwise_right_shift"),
    ast.USub: ("neg", "neg"),
    ast.Invert: ("invert", "bitwise_not"),
    ast.Eq: ("eq", "eq"),
    ast.NotEq: ("ne", "ne"),
    ast.Lt: ("lt", "lt"),
    ast.LtE: ("le", "le"),
    ast.Gt: ("gt", "gt"),
    ast.GtE: ("ge", "ge"),
}


def as_written(row: Any, writes: bool) -> tuple[str, str] | None:
    """("operator", its name in the module operator) or ("method", its name), where the program's text writes
    the row so; None where it does not, or nothing is known. writes: whether the op writes to its operand.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(("<rushlight", _PACKAGE)):
        frame = frame.f_back
    found = None if frame is None or row is None else _text(frame.f_code, frame.f_lasti)
    if found is None:
        return None
    if isinstance(found, ast.Call):
        return _method(found.func, frame, row, writes)
    op: Any = found.ops[0] if isinstance(found, ast.Compare) else getattr(found, "op", None)
    name, of = _OPERATORS.get(type(op), ("", ""))
    if row.name != of or writes is not isinstance(found, ast.AugAssign):
        return None
    return "operator", f"i{name.rstrip('_')}" if writes else name


def _method(func: Any, frame: Any, row: Any, writes: bool) -> tuple[str, str] | None:
    """Whether a call is one of the op's method on a tensor."""
    if not isinstance(func, ast.Attribute) or func.attr != row.name + "_" * writes:
        return None
    if "Tensor" not in row.where or not hasattr(Tensor, func.attr):
        return None
    owner = _value(func.value, frame)
    return ("method", func.attr) if owner is _UNKNOWN or isinstance(owner, Tensor) else None


_UNKNOWN = object()


def _value(text: ast.expr, frame: Any) -> Any:
    """What a name stands for, also one of a module's or layer's; _UNKNOWN of all that is no such name."""
    if isinstance(text, ast.Name):
        local = _local(text.id, frame)
        names = frame.f_globals if text.id in frame.f_globals else frame.f_builtins
        return names.get(text.id, _UNKNOWN) if local is _UNKNOWN else local
    if isinstance(text, ast.Attribute):
        owner = _value(text.value, frame)
        if owner is _UNKNOWN:
            return _UNKNOWN
        computed = isinstance(inspect.getattr_static(type(owner), text.attr, None), property)
        if not computed and (isinstance(owner, ModuleType) or is_module(owner)):
            return getattr(owner, text.attr, _UNKNOWN)
    return _UNKNOWN


def _local(name: str, frame: Any) -> Any:
    """A local variable; _UNKNOWN if there is none of this name. None where the program may have the dict of
    them, which looking would bring up to date.
    """
    code: CodeType = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return frame.f_locals.get(name, _UNKNOWN)
    if name not in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        return _UNKNOWN
    if not _LOOKING.isdisjoint(code.co_names):
        return None
    names = frame.f_locals
    found = names.get(name, _UNKNOWN)
    if names.__class__ is dict and sys.getrefcount(names) <= _ALONE:
        names.clear()  # the frame keeps it, and would let no value go until it asks again
    return found


_LOOKING = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"))
# The frame's, the variable's, and the one that is asked with.
_ALONE = 3


@lru_cache(maxsize=1024)
def _text(code: CodeType, at: int) -> Any:
    """The operation of a program's text that an instruction stands for."""
    lines = next((p for i, p in enumerate(code.co_positions()) if i == at // 2), None)
    if lines is None or None in lines:
        return None
    first, last, begin, end = lines
    text = [getline(code.co_filename, n).encode() for n in range(int(first or 0), int(last or 0) + 1)]
    if not all(text):
        return None
    text[-1] = text[-1][:end]
    text[0] = text[0][begin:]
    if any([b"\\" in line for line in text]):  # to read an unknown escape again would warn again
        return None
    try:
        found: Any = ast.parse(b"".join(text).strip() if last == first else b"(" + b"".join(text) + b")")
    except SyntaxError:
        return None
    only = found.body[0] if len(found.body) == 1 else None
    only = only.value if isinstance(only, ast.Expr) else only
    return only if isinstance(only, (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)) else None
