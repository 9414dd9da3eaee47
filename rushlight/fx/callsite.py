"""How a call was written: which arguments had keywords.

The dispatcher has bound an op's arguments by name before a Proxy hears of it. The text of the call that is
running tells what was written; where there is no text, required arguments count as positional and others as
keywords.
"""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from types import FrameType
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.caller_arguments import handed_on, optional
from rushlight._engine.dispatch.spellings import in_python, row_of
from rushlight._engine.ops.table import ROWS

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


def as_written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(args, kwargs, function) of a call of an op, as PyTorch's own functions would be told; the function is
    a name where it is a method of tensors.
    """
    if getattr(function, "__qualname__", "") == f"Tensor.{function.__name__}":
        return args, kwargs, function.__name__
    row = row_of(function) or ROWS.get(function.__name__)
    if row is None or hasattr(function, "_qualified_op_name") or hasattr(function, "_schema"):
        return args, kwargs, function
    several = next((i for i, p in enumerate(row.params) if p.varargs), None)
    if several is not None:
        named = _named(_call(_frame()), kwargs, row.params)
        named = (optional(row.params) if in_python(function) else {}) | named
        return _spread(args, several, in_python(function)), named, function
    if in_python(function):
        return *handed_on(row.params, bound(row.params, args, kwargs), function), function
    # torch's functions have no `inplace`: it is of the row that torch.nn.functional's share with them.
    return args, {k: v for k, v in kwargs.items() if k != "inplace"}, function


def _spread(args: tuple[Any, ...], several: int, in_python: bool) -> tuple[Any, ...]:
    """The arguments of a function that takes any number of them from that place on; PyTorch's Python takes a
    list apart before it asks whom the call is for.
    """
    rest = args[several:]
    if len(rest) == 1 and isinstance(rest[0], (list, tuple)) and in_python:
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
