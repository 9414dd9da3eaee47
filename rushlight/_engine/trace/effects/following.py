"""A call is followed: each noted instruction of its Python functions is told before it runs.

Python 3.12 and later tell a tool of instructions (sys.monitoring); a tracer may not hear there
of those of a frame that has begun. Before 3.12 there is the tracer (sys.settrace) alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from threading import get_ident
from types import CodeType
from typing import Any

from rushlight._engine.trace.effects.instructions import Noted, noted

# Numbers of tools that nobody has by convention.
_TOOLS = (3, 4)

Wanted = Callable[[Any], bool]
Runs = Callable[[Any, Noted], None]
Passed = Callable[[int], object]


@contextmanager
def following(
    wanted: Wanted, runs: Runs, passed: Passed = bool, never: Container[int] = ()
) -> Iterator[bool]:
    """Call runs(frame, instruction) before each noted instruction of this thread whose frame is `wanted`, and
    passed(number) for each function that begins there, and each instruction: equal for equal paths.

    never: by its id, code whose frames are known not to be wanted.

    What the `with` gives: whether it can; not where a debugger traces, or two others follow calls.
    """
    if sys.gettrace() is not None:
        yield False
    elif sys.version_info >= (3, 12):
        with _by_a_tool(wanted, runs, passed) as can:
            yield can
    else:
        with _by_a_tracer(wanted, runs, passed, never):
            yield True


if sys.version_info >= (3, 12):

    @contextmanager
    def _by_a_tool(wanted: Wanted, runs: Runs, passed: Passed) -> Iterator[bool]:
        monitoring, events, thread = sys.monitoring, sys.monitoring.events, get_ident()
        steps: dict[CodeType, dict[int, Noted]] = {}

        def begins(code: CodeType, offset: int, *thrown: Any) -> None:
            if get_ident() == thread:
                if code not in steps and wanted(sys._getframe(1)):
                    steps[code] = noted(code)
                    monitoring.set_local_events(tool, code, events.INSTRUCTION)
                if code in steps:
                    passed(id(code))

        def instruction(code: CodeType, offset: int) -> None:
            if get_ident() == thread:
                passed(offset)
                step = steps[code].get(offset)
                if step is not None and wanted(sys._getframe(1)):
                    runs(sys._getframe(1), step)

        heard = {events.PY_START: begins, events.PY_RESUME: begins, events.PY_THROW: begins}
        heard[events.INSTRUCTION] = instruction
        tool = next((number for number in _TOOLS if monitoring.get_tool(number) is None), None)
        if tool is None:
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
def _by_a_tracer(wanted: Wanted, runs: Runs, passed: Passed, never: Container[int]) -> Iterator[None]:
    def begins(frame: Any, event: str, arg: Any) -> Callable[..., Any] | None:
        if id(frame.f_code) in never or not wanted(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps = noted(frame.f_code)
        passed(id(frame.f_code))

        def each(frame: Any, event: str, arg: Any) -> Callable[..., Any]:
            if event == "opcode":
                place = frame.f_lasti
                passed(place)
                step = steps.get(place)
                if step is not None and wanted(frame):
                    runs(frame, step)
            return each

        return each

    sys.settrace(begins)
    try:
        yield
    finally:
        sys.settrace(None)
