"""What stands in the door while a profiler is at work: each op and each node of a backward leaves a record.

Ops run as if nobody stood there, on their fast paths; a record is six entries in a flat list.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from time import perf_counter_ns
from typing import Any

from rushlight.autograd import engine, hooks
from rushlight.base.spans import BACKWARD, OP, SPANS, Log
from rushlight.base.tape import TAPE
from rushlight.dispatch import state
from rushlight.dispatch.overrides import past_interpreters
from rushlight.dispatch.state import STACK
from rushlight.tensor.tensor import Tensor

_PACKAGE = str(Path(__file__).parent.parent)
_shorts: dict[Any, Callable[..., Any]] = {}


class Detail:
    """What one op's record holds if more than its time is asked for."""

    __slots__ = ("shapes", "result", "bytes", "stack")

    def __init__(self, args: Any, kwargs: dict[str, Any], found: Any, stack: bool) -> None:
        named = [v for name, v in kwargs.items() if name != "out"]
        self.shapes = [_shape(v) for v in (*args, *named)]
        self.result = _shape(found) if isinstance(found, Tensor) else [0]
        self.bytes = sum(map(_bytes, found if isinstance(found, (tuple, list)) else (found,)))
        self.stack = callers() if stack else []


def _shape(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return list(value._a.shape)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
        return [_shape(v) for v in value]
    return []


def _bytes(value: Any) -> int:
    """The memory of a result that is no view."""
    return value._a.nbytes if isinstance(value, Tensor) and value._a.base is None else 0


def callers() -> list[str]:
    """The program's own frames, innermost first, as "file(line): function"."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<")):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return found


class Watch:
    """An interpreter in this thread's door. `detailed`: keep shapes and memory; `stack`: callers too."""

    watches = True  # for guards of compiled code: what it computes stays the same

    def __init__(self, detailed: bool, stack: bool) -> None:
        self.detailed, self.stack = detailed or stack, stack
        self.log = Log()
        self.note = self.log.records.extend

    def start(self) -> None:
        """Begin to watch this thread."""
        state.push(self)
        SPANS.append(self.log)
        self._outer, hooks.GUARD = hooks.GUARD, self._node
        self._apply = self._outer or engine.apply

    def stop(self) -> None:
        """End it."""
        if hooks.GUARD == self._node:
            hooks.GUARD = self._outer
        SPANS.remove(self.log)
        state.pop(self)

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op and note when."""
        modes = STACK.modes
        start = perf_counter_ns()
        if modes or TAPE:
            found = state.interpret(row, call, args, kwargs)
        else:
            short = _shorts.get(call) or _shorten(row, call)
            modes.append(self)
            try:
                found = short(*args, **kwargs)
            finally:
                modes.pop()
        end = perf_counter_ns()
        self.note((OP, row, call, start, end,
                   Detail(args, kwargs, found, self.stack) if self.detailed else None))
        return found

    def _node(self, node: Any, grad: Any) -> Any:
        if self.log.thread != get_ident():
            return self._apply(node, grad)
        name = node.name()
        start = perf_counter_ns()
        found = self._apply(node, grad)
        self.note((BACKWARD, name, None, start, perf_counter_ns(), None))
        return found


def _shorten(row: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    make = getattr(call, "unwatched", None)
    found = _shorts[call] = make() if make else past_interpreters(row, call)
    return found
