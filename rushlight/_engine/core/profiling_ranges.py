"""Named stretches of time: what a profiler shows beside ops, and PyTorch's record_function.

SPANS holds the logs of the profilers at work.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter
from typing import Any

OP, BACKWARD, USER = 0, 1, 7  # scopes, numbered as PyTorch's RecordScope


class Log:
    """Records of one thread's time: place, start, end, place, start, end, ... in seconds of perf_counter.

    One flat list, so that a record makes no object that stays. A place is (scope, name, suffix); a span's
    name; or a node: its class, or what dispatch/node_names.py's named takes.
    `details` are those of the records that have more, by where these begin. `apart`: what goes on beside the
    thread, which any thread may tell: (name, start, end, shapes).
    """

    __slots__ = ("records", "details", "apart", "thread")

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.details: dict[int, Any] = {}
        self.apart: list[tuple[str, float, float, list[Any]]] = []
        self.thread = get_ident()


SPANS: list[Log] = []


def _profiler_enabled() -> bool:
    """torch.autograd._profiler_enabled: whether a profiler is at work."""
    return bool(SPANS)


def note(place: Any, start: float) -> None:
    """Leave a record of what began at `start` and ends now."""
    end = perf_counter()
    for log in SPANS:
        if log.thread == get_ident():
            log.records += (place, start, end)


def beside(name: str, shapes: list[Any]) -> Callable[[], None] | None:
    """What is called when something ends that begins now and goes on beside this thread; None: no profiler is
    at work.
    """
    logs = [log for log in SPANS if log.thread == get_ident()]
    if not logs:
        return None
    start = perf_counter()

    def end() -> None:
        told = name, start, perf_counter(), shapes
        for log in logs:
            log.apart.append(told)

    return end


def spanned(name: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """call(*args, **kwargs), shown by the profilers at work; `name`: see Log's places."""
    if not SPANS:
        return call(*args, **kwargs)
    start = perf_counter()
    try:
        return call(*args, **kwargs)
    finally:
        note(name, start)


class span:
    """The same as a context manager."""

    __slots__ = ("name", "start")

    def __init__(self, name: Any) -> None:
        self.name = name

    def __enter__(self) -> span:
        self.start = perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        note(self.name, self.start)
