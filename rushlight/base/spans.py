"""Named stretches of time: what a profiler shows beside ops, and PyTorch's record_function.

SPANS holds the logs of the profilers at work. Nobody pays for a span who asks `if SPANS` first:
`with span(name) if SPANS else NO_SPAN`.
"""
from __future__ import annotations

from contextlib import nullcontext
from threading import get_ident
from time import perf_counter
from typing import Any

OP, BACKWARD, USER = 0, 1, 7  # scopes, numbered as PyTorch's RecordScope


class Log:
    """Records of one thread's time: (place, start, end) each, in seconds of perf_counter.

    A place is (scope, name, suffix), or a node: its name, or what dispatch/names.py's named takes.
    `details` are those of the records that have more, by their index.
    """

    __slots__ = ("records", "details", "thread", "note")

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.details: dict[int, Any] = {}
        self.note, self.thread = self.records.append, get_ident()


SPANS: list[Log] = []
NO_SPAN = nullcontext()


class span:
    """A context manager: the time inside is shown under `name` by the profilers at work."""

    __slots__ = ("name", "start")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> span:
        self.start = perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        for log in SPANS:
            if log.thread == get_ident():
                log.note(((USER, self.name, ""), self.start, perf_counter()))
