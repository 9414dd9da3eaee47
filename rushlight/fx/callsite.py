"""How a call was written: which arguments had keywords, and in which module the function was looked up.

The dispatcher has bound an op's arguments by name before a Proxy hears of it, and one callable is torch.relu
and torch.nn.functional.relu. The text of the call that is running tells what was written; where there is no
text, required arguments count as positional and others as keywords.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import traceback
from types import FrameType
from typing import Any

import rushlight as torch
from rushlight._engine.lazy import our_module
from rushlight._engine.ops.signature import REQUIRED
from rushlight._engine.ops.table import ROWS
from rushlight.fx import names

_PACKAGE = torch.__file__.rpartition("__init__")[0]
_OURS = ("<rushlight", f"{_PACKAGE}fx", f"{_PACKAGE}_engine")


def _frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def of_program(frames: traceback.StackSummary) -> traceback.StackSummary:
    """The frames without the last ones, which are the framework's."""
    count = len(frames)
    while count and frames[count - 1].filename.startswith(_OURS):
        count -= 1
    return traceback.StackSummary.from_list(frames[:count])


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


class Published:
    """A function by one of its public names, where PyTorch has a function for each: `torch.relu` and
    `nn.functional.relu` are one callable here. Equal to that callable.
    """

    def __init__(self, function: Any, module: str, name: str) -> None:
        self._function, self.__doc__, self.__module__ = function, function.__doc__, module
        self.__name__ = self.__qualname__ = name
        self.__signature__ = inspect.signature(function)
        if module != _FUNCTIONAL:  # PyTorch has these in Python
            self.table_row = function.table_row

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return other is self._function or (isinstance(other, Published) and other._function is self._function)

    def __hash__(self) -> int:
        return hash(self._function)

    def __repr__(self) -> str:
        return f"<function {self.__name__} at {hex(id(self._function))}>"


_FUNCTIONAL = "rushlight.nn.functional"


def _looked_up(function: Any, call: ast.expr | None, frame: FrameType | None) -> tuple[str, str]:
    """The module and the name by which the function was looked up."""
    home, name = our_module(function), names.name_of(function)
    if home == _FUNCTIONAL or frame is None or not isinstance(call, ast.Call):
        return home, name
    first, *path = ast.unparse(call.func).split(".")
    if not path:
        return home, name
    owner = frame.f_locals.get(first, frame.f_globals.get(first))
    for part in path[:-1]:
        owner = getattr(owner, part, None)
    if getattr(owner, path[-1], None) is not function:
        return home, name
    return (_FUNCTIONAL, path[-1]) if owner is torch.nn.functional else (home, name)


def as_written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(args, kwargs, function) of a call of an op, as PyTorch's own functions would be told; the function is
    a name where an operator of a tensor's was meant, which PyTorch takes for a method.
    """
    row = getattr(function, "table_row", None) or ROWS.get(function.__name__)
    if row is None or hasattr(function, "_qualified_op_name") or hasattr(function, "_schema"):
        return args, kwargs, function
    frame = _frame()
    call = _call(frame)
    given = bound(row.params, args, kwargs)
    if isinstance(call, (ast.BinOp, ast.Compare)):
        operands = [p.name for p in row.params if p.is_tensor]
        return tuple(given[k] for k in operands), {}, names.name_of(function)
    home, name = _looked_up(function, call, frame)
    if "." not in home and not hasattr(torch, name):  # a method of a tensor that the graph holds
        return args, kwargs, name if hasattr(torch.Tensor, name) else name.lstrip("_")
    if home == _FUNCTIONAL or name != names.name_of(function):
        function = Published(function, home, name)
    several = next((i for i, p in enumerate(row.params) if p.varargs), None)
    if several is not None:
        return _spread(args, several, name), _named(call, kwargs, row.params), function
    if names.qualified(function).startswith(("torch.nn.functional", "torch.functional")):
        # PyTorch has it in Python, and hands everything on: what has a default by keyword.
        needed = [p.name for p in row.params if p.default is REQUIRED]
        return (
            tuple(given[k] for k in needed),
            {k: v for k, v in given.items() if k not in needed and k != "out"},
            function,
        )
    # torch's functions have no `inplace`: it is of the row that torch.nn.functional's share with them.
    return args, {k: v for k, v in kwargs.items() if k != "inplace"}, function


def _spread(args: tuple[Any, ...], several: int, name: str) -> tuple[Any, ...]:
    """The arguments of a function that takes any number of them from that place on; PyTorch's Python takes a
    list apart before it asks whom the call is for.
    """
    rest = args[several:]
    if len(rest) == 1 and isinstance(rest[0], (list, tuple)) and name in names.IN_PYTHON:
        rest = tuple(rest[0])
    return (*args[:several], *rest)


def _named(call: ast.expr | None, kwargs: dict[str, Any], params: Any) -> dict[str, Any]:
    """The keywords that were written, or that are no defaults where that is not known."""
    if isinstance(call, ast.Call) and all(k.arg for k in call.keywords):
        return {k.arg: kwargs[k.arg] for k in call.keywords if k.arg in kwargs}
    defaults = {p.name: p.default for p in params}
    return {k: v for k, v in kwargs.items() if v is not defaults.get(k)}


def bound(params: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What each parameter is given, by name, in order."""
    given = dict(zip([p.name for p in params], args, strict=False)) | kwargs
    return {p.name: given[p.name] for p in params if p.name in given} | given
