"""torch.monitor: counters that are told now and then, and events that go to handlers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

__all__ = [
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]
data_value_t = Any
STAT_EVENT = "torch.monitor.Stat"


class Aggregation(Enum):
    """What a Stat tells of the values of a window."""

    NONE = 0
    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


VALUE, MEAN, COUNT, SUM, MAX, MIN = list(Aggregation)[1:]


@dataclass
class Event:
    """Something that happened: a name, when, and values by name."""

    name: str
    timestamp: datetime
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class EventHandlerHandle:
    """What register_event_handler gives, for unregister_event_handler."""

    handler: Callable[[Event], None]


_handlers: list[EventHandlerHandle] = []
_lock = threading.Lock()


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Have the function called with every event from now on."""
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call it no more."""
    with _lock:
        if handler in _handlers:
            _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Hand an event to all handlers."""
    for handle in list(_handlers):
        handle.handler(event)


class Stat:
    """Values of a window of time, or of so many; its aggregations are told as an event when the window ends.

    name: what the event's data are named by, "name.sum". aggregations: of Aggregation. window_size: how
    long a window is. max_samples: so many values are all of a window's: it is told then, and what is added
    before the next one begins does not count.
    """

    def __init__(
        self,
        name: str,
        aggregations: Sequence[Aggregation],
        window_size: timedelta,
        max_samples: int | None = None,
    ) -> None:
        self._name, self._aggregations = name, list(aggregations)
        self._length, self._most = window_size.total_seconds(), max_samples
        self._values: list[float] = []
        self._told: list[float] = []  # the values of the window that was told last
        self._window = self._now()
        self._told_window: int | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def count(self) -> int:
        """How many values the window has."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Count a value."""
        self._tell_if_over()
        if self._told_window != self._window:
            self._values.append(float(v))
            self._tell_if_over()

    def get(self) -> dict[Aggregation, float]:
        """The aggregations of the window that was told last."""
        return {kind: _aggregate(kind, self._told) for kind in self._aggregations}

    def __del__(self) -> None:
        if hasattr(self, "_told_window"):  # it was made
            self._tell()

    def _now(self) -> int:
        """The number of the window that time is in."""
        return int(time.monotonic() / self._length) if self._length > 0 else time.monotonic_ns()

    def _tell_if_over(self) -> None:
        now = self._now()
        full = self._most is not None and len(self._values) >= self._most
        if now != self._window or (full and self._told_window != self._window):
            self._tell()
            self._told_window, self._window = self._window, now

    def _tell(self) -> None:
        self._told, self._values = self._values, []
        if self._told:
            data = {f"{self._name}.{kind.name.lower()}": value for kind, value in self.get().items()}
            log_event(Event(STAT_EVENT, datetime.now(), data))


def _aggregate(kind: Aggregation, values: list[float]) -> float:
    if kind is Aggregation.COUNT:
        return float(len(values))
    if not values or kind is Aggregation.NONE:
        return 0.0
    return {
        Aggregation.VALUE: values[-1],
        Aggregation.MEAN: sum(values) / len(values),
        Aggregation.SUM: sum(values),
        Aggregation.MAX: max(values),
        Aggregation.MIN: min(values),
    }[kind]


class TensorboardEventHandler:
    """Writes the values of Stats' events with a SummaryWriter. AssertionError for values that are no
    numbers.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        """Write the values of one of Stats' events; others are passed over."""
        if event.name != STAT_EVENT:
            return
        for name, value in event.data.items():
            self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
