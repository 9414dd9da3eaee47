"""Streams and events of a real device, with the methods of the simulated ones (streams.py)."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from rushlight._engine.devices.cuda.driver.library import Driver

_NON_BLOCKING, _NO_TIMING, _EXTERNAL = 1, 2, 1


class Event:
    """An event of the driver's, recorded in a stream's queue unless that comes later; destroyed with the
    object.
    """

    def __init__(self, queue: Queue, timing: bool, later: bool = False) -> None:
        device, driver = queue.device, queue.device.driver
        self.driver: Driver = driver
        device.flush()
        with device.visited():
            self.handle = driver.handle("cuEventCreate", 0 if timing else _NO_TIMING)
            weakref.finalize(self, _destroyed, device, "cuEventDestroy_v2", self.handle).atexit = False
            if not later:
                driver("cuEventRecord", self.handle, queue.handle)


def _destroyed(device: Any, name: str, handle: int) -> None:
    if not device.platform.forked:  # a child's handles are its parent's
        with device.visited():  # a collector comes at any time, in any thread
            device.driver.raw(name)(handle)


class Queue:
    """A stream. number: 0 for the default stream, else its handle; None for a new one."""

    pool: Any = None  # whose memory is allocated for it

    def __init__(self, device: Any, number: int | None, priority: int) -> None:
        self.device, self.priority = device, priority
        self.handle = number or 0
        if number is None:
            device.enter()
            self.handle = device.driver.handle("cuStreamCreateWithPriority", _NON_BLOCKING, priority)
            weakref.finalize(self, _destroyed, device, "cuStreamDestroy_v2", self.handle).atexit = False
        self.number = self.handle

    def run(self, until: Any = None) -> None:
        """Wait until all work is done."""
        self.device.enter()
        self.device.driver("cuStreamSynchronize", self.handle)

    def mark(self) -> Mark:
        """The present end of the queue."""
        return Mark(self)

    def moment(self, timing: bool) -> TimedMark:
        """A mark that notes when it is reached."""
        return TimedMark(self, timing)

    def outside(self, timing: bool) -> OutsideMark:
        """A mark that is set again and again, also by graphs."""
        return OutsideMark(self, timing)

    def wait_for(self, mark: Mark) -> None:
        """What is queued from now on runs after what another stream has queued up to a mark."""
        if mark.stream is not self:
            self.device.enter()
            self.device.flush()
            self.device.driver("cuStreamWaitEvent", self.handle, mark.event.handle, 0)
            if mark.branch is not None:
                self.device.joins(self, mark.branch)

    def knows(self, stream: Any, place: Any) -> bool:
        """Whether an order is known: nobody asks without the strict mode."""
        return True


class Mark:
    """A place in a stream's queue."""

    def __init__(self, stream: Queue, timing: bool = False, outside: bool = False) -> None:
        self.branch = None if outside else stream.device.branch(stream)
        self.stream, self.event = stream, Event(stream, timing, outside)

    def done(self) -> bool:
        """Whether nobody works on what came before it."""
        return self.advance()

    def advance(self) -> bool:
        """Whether the work before it is done, as the driver says; what is asked spoils no capture.

        A mark in a graph is none of a stream's: once the capture has ended, whoever has the graph's memory
        comes after the graph.
        """
        if self.branch is not None:
            return bool(self.branch[0].over)
        device = self.stream.device
        with device.visited(), device.uncaptured():
            return self.event.driver.ready("cuEventQuery", self.event.handle)

    def finish(self) -> None:
        """Wait for the work before it."""
        self.stream.device.enter()
        self.event.driver("cuEventSynchronize", self.event.handle)


class TimedMark:
    """A mark that notes when it is reached: what events record."""

    def __init__(self, stream: Queue, timing: bool) -> None:
        self.mark = Mark(stream, timing)

    def reached(self) -> bool:
        """Whether its time is known."""
        return self.mark.advance()

    def until(self, other: TimedMark) -> float:
        """Milliseconds from here to another moment."""
        found = ctypes.c_float()
        event = self.mark.event
        self.mark.stream.device.enter()
        event.driver("cuEventElapsedTime", ctypes.byref(found), event.handle, other.mark.event.handle)
        return found.value

    @property
    def handle(self) -> int:
        """The driver's."""
        return int(self.mark.event.handle)


class OutsideMark(TimedMark):
    """What external events record: one event of the driver's, for which a graph has nodes."""

    def __init__(self, stream: Queue, timing: bool) -> None:
        self.mark = Mark(stream, timing, True)

    def record(self, stream: Queue) -> None:
        """Set it at the present end of a queue, or let what is captured of it do so."""
        self._told("cuEventRecordWithFlags", self.handle, stream.handle, stream)

    def hold(self, stream: Queue) -> None:
        """What is queued from now on, or replayed of what is captured now, waits until it is reached."""
        self._told("cuStreamWaitEvent", stream.handle, self.handle, stream)

    def _told(self, name: str, one: int, other: int, stream: Queue) -> None:
        stream.device.enter()
        stream.device.flush()
        stream.device.driver(name, one, other, _EXTERNAL if stream in stream.device.captures else 0)
