"""An allocator whose work is cut short anywhere, as by a signal's function that raises, goes on soundly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from linecache import getline
from typing import Any

import pytest

from rushlight._engine.devices.cuda.allocator import Allocator, Handle
from tests.cuda.test_allocator import Driver

KIB, MIB = 1 << 10, 1 << 20


class _Stopped(Exception):
    """What the signal's function raises."""


class _Stream:
    number, kept, busy, pool = 0, False, False, None

    def mark(self) -> _Stream:
        return self

    def done(self) -> bool:
        return not self.busy


def _stopping(after: int) -> tuple[Callable[..., Any], list[int]]:
    """A trace function that raises at a line of the allocator's; how many lines are left."""
    left = [after]

    def trace(frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(("allocator.py", "figures.py")):
            return None
        if frame.f_code.co_name in ("__del__", "free"):  # where an exception is lost
            return None
        line = getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and "with self.lock" not in line:  # where no signal is heard
            left[0] -= 1
            if not left[0]:
                sys.settrace(None)
                raise _Stopped
        return trace

    return trace, left


def _program(allocator: Allocator, streams: list[_Stream], held: list[Handle]) -> None:
    def take(size: int, stream: int = 0) -> None:
        held.append(allocator.allocate(size, streams[stream], MemoryError))

    for size in (100, 3 * KIB, 700 * KIB, 5 * MIB, 3 * MIB, 700 * KIB):
        take(size)
    take(600, 1)
    held[3].block.streams = {streams[1]}
    streams[1].busy = True
    del held[1], held[2]
    take(512)
    streams[1].busy = False
    take(12 * MIB)
    del held[:3]
    allocator.empty()
    take(2 * MIB)


def _check(allocator: Allocator, held: list[Handle]) -> None:
    """Nothing that is held overlaps, figures are those of what is held, and all comes back."""
    places = sorted([(h.address, h.address + h.block.size) for h in held])
    assert all(end <= begin for (_, end), (begin, _) in zip(places, places[1:], strict=False))
    assert allocator.figure("allocated_bytes") == sum([h.block.size for h in held])
    for segment in allocator.snapshot():
        assert sum([b["size"] for b in segment["blocks"]]) == segment["total_size"]
    held.clear()
    allocator.empty()
    figures = ("allocated_bytes", "active_bytes", "inactive_split_bytes", "reserved_bytes", "segment")
    assert [allocator.figure(name) for name in figures] == [0] * len(figures)
    assert not allocator.segments


def test_it_may_be_stopped_at_any_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda told: None)  # of what a handle's end lost; keeps none
    for after in range(3, 2000, 29):
        driver = Driver(60 * MIB)
        allocator = Allocator(driver.total, driver.reserve, driver.release, lambda: None)
        streams, held = [_Stream(), _Stream()], list[Handle]()
        trace, left = _stopping(after)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            _program(allocator, streams, held)
        except (_Stopped, IndexError):  # of the list, where less was taken
            pass
        finally:
            sys.settrace(before)
        streams[1].busy = False
        held += [allocator.allocate(size, streams[0], MemoryError) for size in (3 * KIB, 5 * MIB)]
        _check(allocator, held)
        if left[0] > 0:
            return  # the program has ended before
    raise AssertionError("the program is longer")
