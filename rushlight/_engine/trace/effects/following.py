"""A call is followed: each noted instruction of its Python functions is told before it runs.

Python 3.12 and later tell a tool of instructions (sys.monitoring); a tracer may not hear there
of those of a frame that has begun. Before 3.12 there is the tracer (sys.settrace) alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from types import CodeType
from typing import Any

from rushlight._engine.trace.effects.instructions import Noted, noted

# Numbers of tools that nobody has by convention.
_TOOLS = (3, 4)

Wanted = Callable[[Any], bool]
Runs = Callable[[Any, Noted], None]


@contextmanager
def following(wanted: Wanted, runs: Runs) -> Iterator[bool]:
    """Call runs(frame, instruction) before each noted instruction of this thread whose frame is `wanted`.

    What the `with` gives: whether it can; not where a debugger traces, or two others follow calls.
    """
    if sys.gettrace() is not None:
        yield False
    elif sys.version_info >= (3, 12):
        with _by_a_tool(wanted, runs) as can:
            yield can
    else:
        with _by_a_tracer(wanted, runs):
            yield True


if sys.version_info >= (3, 12):

    @contextmanager
    def _by_a_tool(wanted: Wanted, runs: Runs) -> Iterator[bool]:
        monitoring, events, thread = sys.monitoring, sys.monitoring.events, get_ident()
        steps: dict[CodeType, dict[int, Noted]] = {}

        def begins(code: CodeType, offset: int, *thrown: Any) -> None:
            if get_ident() == thread and code not in steps and wanted(sys._getframe(1)):
                steps[code] = noted(code)
                if steps[code]:
                    monitoring.set_local_events(tool, code, events.INSTRUCTION)

        def instruction(code: CodeType, offset: int) -> None:
            step = steps[code].get(offset)
            if step is not None and get_ident() == thread:
                frame = sys._getframe(1)
                if wanted(frame):
                    runs(frame, step)

        heard = {events.PY_START: begins, events.PY_RESUME: begins, events.PY_THROW: begins}
        heard[events.INSTRUCTION] = instruction
        for tool in _TOOLS:
            if monitoring.get_tool(tool) is None:
                break
        else:
            yield False
            return
        monitoring.use_tool_id(tool, "rushlight")
        for event, callback in heard.items():
            monitoring.register_callback(tool, event, callback)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW)
        try:
            yield True
        finally:
            monitoring.set_events(tool, 0)
            for code in steps:
                monitoring.set_local_events(tool, code, 0)
            for event in heard:
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)


@contextmanager
def _by_a_tracer(wanted: Wanted, runs: Runs) -> Iterator[None]:
    def begins(frame: Any, event: str, arg: Any) -> Callable[..., Any] | None:
        if not wanted(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps = noted(frame.f_code)

        def each(frame: Any, event: str, arg: Any) -> Callable[..., Any]:
            step = steps.get(frame.f_lasti) if event == "opcode" else None
            if step is not None and wanted(frame):
                runs(frame, step)
            return each

        return each

    sys.settrace(begins)
    try:
        yield
    finally:
        sys.settrace(None)
