"""Streams and events of a simulated device. Work waits as long as it may: until somebody waits for it.

A stream is a queue of functions without arguments. They run in their order when the host synchronises, reads
a result, or has queued very many; so a result that is read too early is really not there, and work on two
streams that no event orders really runs in whatever order the host asks for it.
"""

from __future__ import annotations

import itertools
import signal
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

# How much a stream holds back at most: then the older half is done.
MOST = 2048
# Signals for which programs have functions that raise, and what they mean while a device works.
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF")
    if hasattr(signal, name)
]


class _Patience:
    """While it is entered, signals wait: a piece of a device's work is never left half done by one.

    What comes is heard when it is left: the program's function is called then, and may raise.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.came: list[int] = []
        self.programs: list[tuple[int, Any]] = []

    def enter(self) -> bool:
        """Begin, in the main thread, which alone hears signals; whether it has begun."""
        if threading.current_thread() is not threading.main_thread():
            return False
        depth = self.depth
        try:
            self.depth = depth + 1
            if not depth:
                self.programs = [
                    (n, f) for n in _SIGNALS if callable(f := signal.getsignal(n)) and f != self._hear
                ]
                for number, _ in self.programs:
                    signal.signal(number, self._hear)
        except BaseException:  # a program's function raised before it was replaced
            self.depth = depth + 1
            self.leave()
            raise
        return True

    def leave(self) -> None:
        """End; the functions of signals that have come are called, all of them, whichever raise."""
        self.depth -= 1
        if self.depth:
            return
        programs, self.programs = self.programs, []
        try:
            self._restore(programs)
        finally:
            came, self.came = self.came, []
            self._tell(came)

    def _restore(self, programs: list[tuple[int, Any]]) -> None:
        """Set the program's functions again: all, though one that is there again may raise meanwhile."""
        try:
            while programs:
                signal.signal(*programs[-1])
                programs.pop()
        finally:
            if programs:
                self._restore(programs)

    def _tell(self, came: list[int]) -> None:
        try:
            while came:
                signal.raise_signal(came.pop(0))
        finally:
            if came:
                self._tell(came)

    def _hear(self, number: int, frame: Any) -> None:
        self.came.append(number)


_patience = _Patience()
# Held by the thread that does streams' work. Work may wait for another stream's, in any order: with a lock
# for each stream, two threads would wait for each other.
_working = threading.RLock()


class Stream:
    """A queue of one device. number: 0 for the default stream."""

    pool: Any = None  # whose memory is allocated for it

    def __init__(self, device: Any, number: int, priority: int = 0) -> None:
        self.device, self.number, self.priority = device, number, priority
        self.queue: deque[Callable[[], None]] = deque()
        self.queued = self.finished = 0  # how much there ever was, and is done
        self.lock = threading.RLock()
        self.running = False
        self.worker = 0  # the thread that does a piece now, which `finished` counts already
        self.under = 0  # the piece's number; what it calls may do others after it
        self.clock: dict[Stream, int] = {}  # how far this stream knows others to be, by events (strict mode)

    def submit(self, work: Callable[[], None]) -> None:
        """Put work at the end of the queue."""
        with self.lock:
            self.queue.append(work)
            self.queued += 1
            over = len(self.queue) > MOST
        if over:
            self.run(self.finished + MOST // 2)

    def run(self, until: int | None = None) -> None:
        """Do the work up to a place in the queue, or all of it."""
        until = self.queued if until is None else until
        while not self.reached(until):
            if self.finished < until and self.queue:
                self._part(until)
                continue
            with _working:  # another thread's piece ends, or is the next one again
                if self.finished >= until or not self.queue:
                    return

    def reached(self, place: int) -> bool:
        """Whether the work up to a place in the queue is done; a piece's own is, for what it calls."""
        finished = self.finished  # read first: with no worker afterwards, all that it counts is done
        if self.worker in (0, threading.get_ident()):
            return finished >= place
        return place < self.under

    def _part(self, until: int) -> None:
        """Do the work up to a place, or up to a signal, which is heard then."""
        patient = False
        try:
            patient = _patience.enter()
            with _working:
                while self.finished < until and self.queue:
                    self._piece()
                    if patient and _patience.came and _patience.depth == 1:
                        break
        finally:
            if patient:
                _patience.leave()

    def _piece(self) -> None:
        """Do the next piece; one that the host has no room for stays the next."""
        before = self.worker
        if before == 0:
            self.under, self.worker = self.finished + 1, threading.get_ident()
        work = self.queue.popleft()
        self.finished += 1
        try:
            work()
        except (MemoryError, RecursionError):
            self.queue.appendleft(work)
            self.finished -= 1
            raise
        finally:
            self.worker = before

    def mark(self) -> Mark:
        """The present end of the queue."""
        return Mark(self, self.queued)

    def moment(self, timing: bool) -> TimedMark:
        """A mark that notes when it is reached."""
        return TimedMark(self)

    def outside(self, timing: bool) -> OutsideMark:
        """A mark that is set again and again, also by graphs."""
        return OutsideMark(self)

    def wait_for(self, mark: Mark) -> None:
        """What is queued from now on runs after what another stream has queued up to a mark."""
        if mark.stream is self or self.device.joins(self, mark.branch):
            return  # a graph's work is captured in the order in which it must run
        self.submit(mark.finish)
        for stream, place in (*mark.clock.items(), (mark.stream, mark.place)):
            self.clock[stream] = max(self.clock.get(stream, 0), place)

    def knows(self, stream: Stream, place: int) -> bool:
        """Whether work queued here now runs after the work of another stream up to a place."""
        return stream is self or stream.reached(place) or self.clock.get(stream, 0) >= place


class Mark:
    """A place in a stream's queue."""

    __slots__ = ("stream", "place", "clock", "branch")

    def __init__(self, stream: Stream, place: int) -> None:
        self.stream, self.place = stream, place
        self.clock = dict(stream.clock)
        self.branch = stream.device.branch(stream)

    def done(self) -> bool:
        """Whether the work before it is done; of a place in a graph, whether its capture has ended."""
        if self.branch is not None:
            return bool(self.branch[0].over)
        return self.stream.reached(self.place)

    def advance(self) -> bool:
        """Whether the work before it is done; if not, one piece of it is done now, so that asking ends."""
        if self.done():
            return True
        self.stream.run(self.stream.finished + 1)
        return False

    def finish(self) -> None:
        """Do the work before it."""
        self.stream.run(self.place)


class TimedMark:
    """A mark that notes when it is reached: what events record."""

    __slots__ = ("mark", "time")

    def __init__(self, stream: Stream) -> None:
        self.time: float | None = None  # of perf_counter(), in seconds, once it is reached
        self.mark = stream.mark()
        if self.mark.branch is None:
            stream.submit(self._reached)
            self.mark = stream.mark()

    def _reached(self) -> None:
        self.time = perf_counter()

    def reached(self) -> bool:
        """Whether its time is known."""
        return self.time is not None

    def until(self, other: TimedMark) -> float:
        """Milliseconds from here to another moment, both reached, of the simulator's own time."""
        if self.time is None or other.time is None:
            raise RuntimeError("both events must be completed before calculating elapsed time")
        return (other.time - self.time) * 1000

    @property
    def handle(self) -> int:
        """A number that stands for the driver's."""
        return id(self)


class OutsideMark(TimedMark):
    """What external events record: in a graph it is a node, which each replay comes to."""

    __slots__ = ()

    def __init__(self, stream: Stream) -> None:
        self.time = None
        self.mark = Mark(stream, stream.finished)
        self.mark.branch = None

    def record(self, stream: Stream) -> None:
        """Set it at the present end of a queue, or of what is captured of it."""
        capture = stream.device.captures.get(stream)
        if capture is None:
            self.follow(stream, self._reached)
        else:
            capture.node(stream, self._reached, "an event's record")
            capture.recorded.append(self)

    def follow(self, stream: Stream, work: Callable[[], None] | None = None) -> None:
        """The end of a queue is where it is now, behind `work`."""
        self.time = None
        if work is not None:
            stream.submit(work)
        self.mark = stream.mark()

    def hold(self, stream: Stream) -> None:
        """What is queued from now on, or replayed of what is captured now, waits until it is reached."""
        capture = stream.device.captures.get(stream)
        if capture is None:
            stream.wait_for(self.mark)
        else:
            capture.awaited.append(self)


numbers = itertools.count(1)
