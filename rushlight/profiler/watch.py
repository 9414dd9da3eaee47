"""What stands in the dispatcher while a profiler is at work: each op and each backward node leaves a record.

Ops run as if nobody stood there, on their fast paths.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

from rushlight._engine.core.profiling_ranges import OP, SPANS, Log
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch import interpreters
from rushlight._engine.dispatch.interpreters import DETAILED, LONE, RECORDS, STACK
from rushlight._engine.dispatch.method_overrides import unasked
from rushlight._engine.dispatch.overrides import past_interpreters, place
from rushlight._engine.tensors.tensor import Tensor

_PACKAGE = str(Path(__file__).parent.parent)
# Methods that are no rows, with their events' names; as they are where nobody watches; how many do.
_EVENTS = {name: name for name in "copy_ fill_ zero_ to item detach detach_ resize_ set_".split()}
_EVENTS |= dict.fromkeys("float double half bfloat16 bool int long short char byte cpu type_as".split(), "to")
_METHODS = {name: unasked(getattr(Tensor, name)) for name in _EVENTS}
_watching = [0]


def _shape(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._geometry.shape
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
        return [list(_shape(v)) for v in value]
    return ()


def _bytes(found: Any, operands: Iterable[Any]) -> int:
    """The memory of results that are neither operands' nor views."""
    given = {id(v._array) for v in operands if isinstance(v, Tensor)}
    return sum(
        v._geometry.nbytes
        for v in (found if isinstance(found, (tuple, list)) else (found,))
        if isinstance(v, Tensor) and v._array.base is None and id(v._array) not in given
    )


def callers() -> list[str]:
    """The program's own frames, innermost first, as "file(line): function"."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<")):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


def _noted(name: str, method: Any) -> Any:
    where = OP, name, ""

    @wraps(method)
    def noted(*args: Any, **kwargs: Any) -> Any:
        watch = STACK.modes[-1] if STACK.modes else None
        if watch.__class__ is not Watch:
            return method(*args, **kwargs)
        return watch.timed(where, method, args, kwargs)

    return noted


def _count(change: int) -> None:
    """One profiler more, or less: while there are any, methods that are no rows leave records, too."""
    _watching[0] += change
    for name, method in _METHODS.items():
        setattr(Tensor, name, _noted(_EVENTS[name], method) if _watching[0] else method)


class Watch:
    """An interpreter in this thread's dispatcher. Any of `shapes`, `memory`, `stack`: keep details."""

    watches = True  # for guards of compiled code: what it computes stays the same

    def __init__(self, shapes: bool, memory: bool, stack: bool) -> None:
        self.detailed, self.memory, self.stack = shapes or memory or stack, memory, stack
        self.log = Log()

    def start(self) -> None:
        """Begin to watch this thread."""
        _count(1)
        interpreters.push(self)
        DETAILED.extend([self] * self.detailed)
        if LONE[0] is None:
            RECORDS.clear()
            LONE[0], self.log.records = self, RECORDS
        SPANS.append(self.log)

    def stop(self) -> None:
        """End it."""
        _count(-1)
        SPANS.remove(self.log)
        if LONE[0] is self:
            LONE[0], self.log.records = None, RECORDS.copy()
        interpreters.pop(self)
        DETAILED[:] = [watch for watch in DETAILED if watch is not self]

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op and note when."""
        return self.timed(place(row, call), self._within, (row, call, args, kwargs), {}, (args, kwargs))

    def _within(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        modes = STACK.modes
        if modes or TAPE:
            return interpreters.interpret(row, call, args, kwargs)
        modes.append(self)
        try:
            return past_interpreters(row, call)(*args, **kwargs)
        finally:
            modes.pop()

    def timed(
        self, where: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any], shown: Any = None
    ) -> Any:
        """call(*args, **kwargs), noted as an op; `shown`: what it was called with, if that is not it."""
        start = perf_counter()
        found = call(*args, **kwargs)
        end = perf_counter()
        called_with, named = shown or (args, kwargs)
        self.detail(called_with, named, found)
        self.log.records += (where, start, end)
        return found

    def detail(self, args: Any, kwargs: Any, found: Any) -> None:
        """Note more of an op, if asked to, just before its record: shapes, the result's, bytes, callers."""
        if self.detailed:
            shapes = [v._geometry.shape if v.__class__ is Tensor else _shape(v) for v in args]
            if kwargs:
                shapes += [_shape(v) for name, v in kwargs.items() if name != "out"]
            memory = _bytes(found, (*args, *kwargs.values())) if self.memory else 0
            self.log.details[len(self.log.records)] = (
                shapes,
                _shape(found) if isinstance(found, Tensor) else (0,),
                memory,
                callers() if self.stack else [],
            )
