"""torch.cuda where there is a device: streams and events."""

from __future__ import annotations

import ctypes
import itertools
import threading
from bisect import bisect_right
from typing import Any

from rushlight._engine.autograd.node import AccumulateGrad, Node, next_seq
from rushlight._engine.core import accelerator
from rushlight._engine.core.device import device as _torch_device
from rushlight._engine.devices.cuda import words
from rushlight._engine.devices.cuda.accounts import alerts, tracing
from rushlight._engine.devices.cuda.api import backend, platform
from rushlight._engine.devices.cuda.platform import Platform
from rushlight._engine.devices.cuda.streams import Stream as Queue
from rushlight._engine.names.absent_devices import AcceleratorError

# Of events that stand for what streams have at a time.
_numbers = itertools.count(1)


class Stream:
    """A queue of a device's work, beside the others. Stream(device=None, priority=0).

    Work on different streams has no order but what events, wait_stream and the host's waiting give it.
    """

    _queue: Queue

    def __init__(self, device: Any = None, priority: int = 0, **of: Any) -> None:
        if "stream_id" in of:
            where = platform().device(of["device_index"])
            self._queue = next(q for q in where.streams if q.number == of["stream_id"])
            return
        where = backend(device)
        known = len(where.streams)
        self._queue = where.new_stream(priority)
        if len(where.streams) > known:
            tracing.tell(tracing.STREAM_CREATION, self._queue.number)

    @classmethod
    def _of(cls, queue: Queue) -> Stream:
        made: Stream = object.__new__(cls)
        made._queue = queue
        return made

    @property
    def device(self) -> _torch_device:
        """The device."""
        where: _torch_device = self._queue.device.where
        return where

    @property
    def device_index(self) -> int:
        """The device's number."""
        return int(self._queue.device.index)

    device_type = 1

    @property
    def cuda_stream(self) -> int:
        """A number that stands for the driver's handle; 0 for the default stream."""
        return self._queue.number

    stream_id = cuda_stream

    @property
    def priority(self) -> int:
        """Lower is more urgent; without effect on a simulated device."""
        return self._queue.priority

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """(least, greatest) priority."""
        return 0, -5

    def wait_event(self, event: Event) -> None:
        """What is queued from now on runs after what the event has marked."""
        if event._external:
            event._outside_mark(self._queue).hold(self._queue)
        elif event._moment is not None:
            self._queue.wait_for(event._moment.mark)
        if event._moment is not None:
            tracing.tell(tracing.EVENT_WAIT, event.cuda_event, self._queue.number)

    def wait_stream(self, stream: Stream) -> None:
        """What is queued from now on runs after all that is queued in another stream now."""
        _follow(self._queue, stream._queue)

    def record_event(self, event: Event | None = None) -> Event:
        """Mark what is queued now, by an event, a new one if None."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done. Asking again and again gets there."""
        _uncaptured(self._queue, "Stream.query()")
        return bool(self._queue.mark().advance())

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self._queue.device.alive()
        _uncaptured(self._queue, "Stream.synchronize()")
        self._queue.device.waited(self._queue)
        self._queue.run()
        self._queue.device.alive()

    def __enter__(self) -> Stream:
        self._entered = stream(self)
        self._entered.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._entered.__exit__(*raised)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other._queue is self._queue

    def __hash__(self) -> int:
        return hash(self._queue)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream of another library's, by the driver's handle; it stays that library's to destroy.

    RuntimeError on a simulated device, which has no such streams.
    """

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        self._queue = backend(device).foreign_stream(stream_ptr)


class Event:
    """A mark in a stream's queue. enable_timing: whether elapsed_time() may be asked; False by default.

    external: in a capture, it is recorded and waited for by the graph, at each replay, and may be asked about
    outside; otherwise it orders the graph's own work.
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self.enable_timing, self._external = enable_timing, external

    _moment: Any = None
    _external = False

    def _outside_mark(self, queue: Queue) -> Any:
        """The mark of an external event, which is one for all times that it is recorded."""
        if self._moment is None:
            self._moment = queue.outside(self.enable_timing)
        return self._moment

    def record(self, stream: Stream | None = None) -> None:
        """Mark what is queued now in a stream, the current one if None."""
        queue = current_stream()._queue if stream is None else stream._queue
        before = self.cuda_event
        if self._external:
            self._outside_mark(queue).record(queue)
        else:
            self._moment = queue.moment(self.enable_timing)
        if tracing.CallbackRegistry.active:
            if before and before != self.cuda_event:
                tracing.tell(tracing.EVENT_DELETION, before)
            if before != self.cuda_event:
                tracing.tell(tracing.EVENT_CREATION, self.cuda_event)
            tracing.tell(tracing.EVENT_RECORD, self.cuda_event, queue.number)

    def __del__(self) -> None:
        if self._moment is not None:
            tracing.tell(tracing.EVENT_DELETION, self.cuda_event)

    def wait(self, stream: Stream | None = None) -> None:
        """What is queued from now on in a stream runs after what is marked."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether what is marked is done. Asking again and again gets there."""
        if self._moment is None:
            return True
        _outside(self._moment.mark)
        _unasked("Event.query()")
        return bool(self._moment.mark.advance())

    def synchronize(self) -> None:
        """Wait until what is marked is done."""
        if self._moment is not None:
            device = self._moment.mark.stream.device
            device.alive()
            _outside(self._moment.mark)
            self._moment.mark.finish()
            device.alive()
            tracing.tell(tracing.EVENT_SYNCHRONIZATION, self.cuda_event)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another, of the device's time, or the simulator's own; both must
        have been reached.
        """
        for event in (self, end_event):
            if not event.enable_timing:
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if event._moment is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            _outside(event._moment.mark)
            if not event._moment.reached():
                raise ValueError("Both events must be completed before calculating elapsed time.")
        if end_event.device != self.device:
            raise AcceleratorError(words.other_device())
        return float(self._moment.until(end_event._moment))

    @property
    def device(self) -> _torch_device | None:
        """The device that it was recorded on; None before."""
        return None if self._moment is None else self._moment.mark.stream.device.where

    @property
    def cuda_event(self) -> int:
        """A number that stands for the driver's handle."""
        return 0 if self._moment is None else int(self._moment.handle)

    event_id = cuda_event

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """What ctypes passes of it to functions."""
        return ctypes.c_void_p(self.cuda_event)

    def __repr__(self) -> str:
        place = "uninitialized" if self._moment is None else f"{id(self):#x}"
        return f"<torch.cuda.Event {place}>"


class StreamContext:
    """The current stream, and its device, within a `with` block; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: tuple[int, Queue] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        queue, owner = self.stream._queue, platform()
        self._before = owner.current, queue.device.stream
        owner.current = queue.device.index
        queue.device.use(queue)
        _changed()

    def __exit__(self, *raised: object) -> None:
        if self._before is not None and self.stream is not None:
            index, queue = self._before
            self.stream._queue.device.use(queue)
            platform().current = index
            _changed()


def _follow(queue: Queue, other: Queue) -> None:
    """Let a stream wait for all that another one has now."""
    queue.wait_for(other.mark())
    if tracing.CallbackRegistry.active:
        number = next(_numbers)
        for kind, *stream in (
            (tracing.EVENT_CREATION,),
            (tracing.EVENT_RECORD, other.number),
            (tracing.EVENT_WAIT, queue.number),
            (tracing.EVENT_DELETION,),
        ):
            tracing.tell(kind, number, *stream)


def _uncaptured(queue: Queue, what: str) -> None:
    """AcceleratorError where a stream that somebody asks or waits for is captured."""
    capture = queue.device.captures.get(queue)
    if capture is not None:
        raise capture.refused(what)


def _outside(mark: Any) -> None:
    """AcceleratorError for an event that a graph has: it marks no work."""
    if mark.branch is not None:
        raise mark.branch[0].failed("CapturedEvent")


def _unasked(what: str) -> None:
    """AcceleratorError where a capture allows no such question, whatever it is about."""
    for device in platform().devices():
        for capture in list(device.captures.values()):
            if capture.forbids():
                raise capture.refused(what)


def stream(stream: Stream | None) -> StreamContext:
    """A `with` block whose work goes to a stream."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Let this thread's work go to a stream."""
    if stream is not None:
        platform().current = stream._queue.device.index
        stream._queue.device.use(stream._queue)
        _changed()


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work on a device goes to."""
    return Stream._of(backend(device).stream)


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to at first."""
    return Stream._of(backend(device).default)


def _sleep(cycles: int) -> None:
    """Let the current stream do nothing for so many cycles of the device's clock."""
    backend().sleep(int(cycles))


def is_current_stream_capturing() -> bool:
    """Whether this thread's current stream is being captured into a graph."""
    return backend().capture is not None


# --- backward passes --------------------------------------------------------------------------------

# What devices' current streams are, of those where they are not the default ones.
Beside = dict[Any, Any]
# Nodes that were made beside the default streams: (the number before the first one's, the streams), and at
# the end of each stretch (the number behind the last one's, no streams).
_stretches: list[tuple[int, Beside]] = []
_MOST = 1 << 12


class _Open(threading.local):
    """The stretch that this thread is in: the number before its first node, and the streams."""

    begin = 0
    beside: Beside | None = None


_open = _Open()


def _changed() -> None:
    """This thread's current streams are others now: from here on its nodes belong to these."""
    devices = platform().devices()
    if _open.beside and not any([d.capture is not None for d in devices]):
        end = next_seq()
        if end - _open.begin > 1:
            _stretches.append((_open.begin, _open.beside))
            _stretches.append((end, {}))
            del _stretches[:-_MOST]
            _stretches.sort(key=_number)
            alerts.PASSES.streams = _Pass.begun
            alerts.PASSES.choose()
    _open.beside = {d: d.current.stream for d in devices if d.current.stream is not None}
    if _open.beside:
        _open.begin = next_seq()


def _number(stretch: tuple[int, Beside]) -> int:
    return stretch[0]


class _Pass:
    """A backward pass: nodes run on the streams that their ops ran on, one after the other. When it has ended
    all of these, and the streams of who asked for it, come after what was queued.
    """

    def __init__(self, devices: list[Any]) -> None:
        self.before = {d: d.stream for d in devices}
        self.now = {d: queue for d, queue in self.before.items() if queue is not d.default}
        self.used: set[Any] = set()

    @staticmethod
    def begun() -> _Pass | None:
        """A pass that begins; None where a graph is captured, whose work is ordered by its own streams."""
        there = accelerator.platform()
        devices: list[Any] = there.devices() if isinstance(there, Platform) else []
        if not devices or any([d.capture is not None for d in devices]):
            return None
        _changed()  # for the nodes of the stretch that goes on
        return _Pass(devices)

    def go(self, node: Node, grad: Any) -> None:
        """Make the streams current that a node's op ran on. A leaf's are those of its first use, whose node
        is the last one before it.
        """
        if node.__class__ is AccumulateGrad:
            return
        at = bisect_right(_stretches, node.seq, key=_number)
        wanted = _stretches[at - 1][1] if at else {}
        if wanted == self.now:
            return
        for device in {*wanted, *self.now}:
            self._turn(device, wanted.get(device, device.default))
        self.now = wanted

    def _turn(self, device: Any, queue: Any) -> None:
        last = device.stream
        if queue is not last:
            self.used.add(last)
            self.used.add(queue)
            device.use(queue)
            _follow(queue, last)

    def end(self) -> None:
        """Make the streams current that were so before."""
        for device, queue in self.before.items():
            self._turn(device, queue)
        for queue in self.used:
            _follow(queue, queue.device.stream)
