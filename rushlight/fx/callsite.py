"""How a call was written: which arguments had keywords, and in which module the function was looked up.

The door has bound an op's arguments by name before a Proxy hears of it, and one callable is torch.relu and
torch.nn.functional.relu. The text of the call that is running tells what was written; where there is no text,
required arguments count as positional and others as keywords.
"""

from __future__ import annotations

import ast
import linecache
import sys
from types import FrameType
from typing import Any

import rushlight as torch
from rushlight._engine.ops.signature import REQUIRED
from rushlight._engine.ops.table import NAMES, ROWS
from rushlight.fx import names

_PACKAGE = torch.__file__.rpartition("__init__")[0]
_OURS = ("<rushlight", f"{_PACKAGE}fx", f"{_PACKAGE}dispatch", f"{_PACKAGE}tensor")


def _frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _call(frame: FrameType | None) -> ast.expr | None:
    """The call or operator that a frame is in, as a tree."""
    if frame is None:
        return None
    places = list(frame.f_code.co_positions())
    line, end, start, stop = places[frame.f_lasti // 2]
    lines = linecache.getlines(frame.f_code.co_filename)
    if line is None or end is None or not lines:
        return None
    part = [text.encode() for text in lines[line - 1 : end]]
    part[-1] = part[-1][:stop]
    part[0] = part[0][start:]
    try:
        return ast.parse(b"(" + b"".join(part) + b")", mode="eval").body
    except SyntaxError:
        return None


class Functional:
    """A function of nn.functional, by its public name: PyTorch has two where one of ours is torch's as
    well."""

    def __init__(self, function: Any) -> None:
        self._function, self.__doc__ = function, function.__doc__
        self.__name__ = self.__qualname__ = names.name_of(function)
        self.__module__ = "rushlight.nn.functional"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return other is self._function or isinstance(other, Functional) and other._function is self._function

    def __hash__(self) -> int:
        return hash(self._function)


def _in_functional(function: Any, call: ast.expr | None, frame: FrameType | None) -> bool:
    """Whether the function was looked up in nn.functional."""
    if function.__module__ == "rushlight.nn.functional":
        return True
    if (
        ("nn.functional", function.__name__) not in NAMES
        or frame is None
        or not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
    ):
        return False
    owner = ast.unparse(call.func.value).split(".")
    value = frame.f_locals.get(owner[0], frame.f_globals.get(owner[0]))
    for part in owner[1:]:
        value = getattr(value, part, None)
    return value is torch.nn.functional


def as_written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(args, kwargs, function) of a call of an op, as PyTorch's own functions would be told; the function is
    a name where an operator of a tensor's was meant, which PyTorch takes for a method."""
    row = ROWS.get(function.__name__)
    if row is None:
        return args, kwargs, function
    frame = _frame()
    call = _call(frame)
    given = bound(row.params, args, kwargs)
    if isinstance(call, (ast.BinOp, ast.Compare)):
        operands = [p.name for p in row.params if p.is_tensor]
        return tuple(given[k] for k in operands), {}, names.name_of(function)
    if _in_functional(function, call, frame):
        function = Functional(function)
        if names.qualified(function).startswith("torch.nn.functional"):
            # PyTorch has it in Python, and hands everything on: what has a default by keyword.
            needed = [p.name for p in row.params if p.default is REQUIRED]
            return (
                tuple(given[k] for k in needed),
                {k: v for k, v in given.items() if k not in needed and k != "out"},
                function,
            )
    plain = isinstance(call, ast.Call) and not any(isinstance(a, ast.Starred) for a in call.args)
    if not plain or not all(k.arg for k in call.keywords):
        given = {p.name: given[p.name] for p in row.params if given.get(p.name) is not p.default}
        return tuple(given.values()), {}, function
    written = [k.arg for k in call.keywords if k.arg in given]
    others = [v for k, v in given.items() if k not in written]
    spread = row.params and row.params[min(len(row.params), len(call.args)) - 1].varargs
    return (args if spread else tuple(others[: len(call.args)])), {k: given[k] for k in written}, function


def bound(params: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What each parameter is given, by name, in order."""
    given = dict(zip([p.name for p in params], args, strict=False)) | kwargs
    return {p.name: given[p.name] for p in params if p.name in given} | given
