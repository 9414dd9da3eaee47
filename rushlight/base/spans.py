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
    name; or a node: its class, or what dispatch/names.py's named takes.
    `details` are those of the records that have more, by where these begin.
    """

    __slots__ = ("records", "details", "thread")

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.details: dict[int, Any] = {}
        self.thread = get_ident()


SPANS: list[Log] = []


def records() -> Any:
    """What the profilers of this thread have records added to; None where there are none."""
    if not SPANS:
        return None
    thread = get_ident()
    found = [log.records for log in SPANS if log.thread == thread]
    return (found[0] if len(found) == 1 else Tee(found)) if found else None


def note(place: Any, start: float) -> None:
    """Leave a record of what began at `start` and ends now."""
    end, thread = perf_counter(), get_ident()
    for log in SPANS:
        if log.thread == thread:
            log.records += (place, start, end)


class Tee:
    """Several lists that take the same records."""

    def __init__(self, kept: list[list[Any]]) -> None:
        self.kept = kept

    def __iadd__(self, record: Any) -> Tee:
        for log in self.kept:
            log += record
        return self


def spanned(name: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """call(*args, **kwargs), shown by the profilers at work; `name`: see Log's places."""
    if not SPANS:
        return call(*args, **kwargs)
    log = records()
    start = perf_counter()
    try:
        return call(*args, **kwargs)
    finally:
        if log is not None:
            log += (name, start, perf_counter())


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
