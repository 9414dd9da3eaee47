"""torch.cpu: the device-agnostic part of a device's module, for the CPU, which computes as it is called."""
from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rushlight.cpu import amp, memory
from rushlight.cpu.memory import max_memory_allocated, memory_allocated, memory_stats
from rushlight.cpu.queue import CpuEvent as Event
from rushlight.cpu.queue import CpuStream as Stream

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count",
           "is_available", "is_initialized", "max_memory_allocated", "memory", "memory_allocated",
           "memory_stats", "set_device", "stream", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True: there is nothing to prepare."""
    return True


def device_count() -> int:
    """1, however many cores it has."""
    return 1


def current_device() -> str:
    """"cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Nothing: ops are done when they return."""


class StreamContext(nullcontext[Any]):
    """A context that changes nothing."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _stream


def stream(stream: Stream) -> AbstractContextManager[Any]:
    """A context that changes nothing."""
    return StreamContext()
