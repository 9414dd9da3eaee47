"""The debug log of a checkpoint: which ops ran, and from which lines, in a call and in its repetition."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import rushlight as torch
from rushlight._engine.dispatch import interpreters

_PACKAGE = str(Path(torch.__file__).parent)


class OpLog(interpreters.Interpreter):
    """A context and an interpreter in the dispatcher: inside, each op that is called leaves a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self.lines = []
        return super().__enter__()

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Note the op, its operands, its result and its caller; run it."""
        found = interpreters.interpret(row, call, args, kwargs)
        operands = ", ".join([_text(a) for a in args] + [f"{n}={_text(v)}" for n, v in kwargs.items()])
        self.lines.append(f"{_text(found)} = {row.name}({operands})    at {_caller()}")
        return found


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_text, value))})"
    return repr(value)


def _caller() -> str:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def report(first: OpLog, again: OpLog) -> str:
    """Both logs, as the head of an error's text."""
    return (
        "An error happened while unpacking tensors; dumping logs of latest computation because you "
        "passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n"
        f"{_section('1. Operators that ran in the original forward', first)}"
        f"{_section('2. Operators that ran during recomputation', again)}"
    )


def _section(title: str, log: OpLog) -> str:
    return "\n".join([title, *[f"    {line}" for line in log.lines], "", ""])
