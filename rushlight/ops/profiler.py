"""torch.ops.profiler: spans of the profiler as ops, which stay in a graph though nobody reads them."""

from __future__ import annotations

from typing import Any

from rushlight.profiler.simple import record_function


def _record_function_enter_new(name: str, args: str | None = None) -> record_function:
    """Begin a span; what comes back ends it."""
    span = record_function(name, args)
    span.__enter__()
    return span


def _record_function_enter(name: str, args: str | None = None) -> record_function:
    """Begin a span; what comes back ends it."""
    return _record_function_enter_new(name, args)


def _record_function_exit(handle: Any) -> None:
    """End a span."""
    handle.__exit__(None, None, None)


for _op in (_record_function_enter_new, _record_function_enter, _record_function_exit):
    setattr(_op, "_has_effect", True)
