"""Queues of work and marks in them, as devices have them; the CPU has neither, for ops are done when they return.

torch.Stream and torch.Event stand for any device; torch.cpu has simpler ones, which take no device.
"""
from __future__ import annotations

from typing import Any, NoReturn

from rushlight.base.device import device as device_of
from rushlight.tensor.kind import unavailable


def _nothing(*given: Any) -> None:
    """Nothing to wait for."""


def _done(queue: Any) -> bool:
    """True: everything has happened."""
    return True


def _unsupported(*given: Any) -> NoReturn:
    """Refused with a RuntimeError."""
    raise RuntimeError("cpu backend doesn't support events.: ops on the CPU are done when they return")


def _cpu(device: Any) -> Any:
    found = device_of("cpu" if device is None else device)
    if isinstance(device, int) or found.type != "cpu":
        raise RuntimeError("Cannot access accelerator device when none is available.") if isinstance(
            device, int) else unavailable(found)
    return device_of("cpu")


class Event:
    """A mark in a device's queue. device: "cpu" by default, where nothing can be recorded; RuntimeError for others.

    enable_timing: whether it may be measured; blocking and interprocess change nothing. elapsed_time() raises
    ValueError without it.
    """

    event_id, query, wait, synchronize, record = 0, _done, _nothing, _nothing, _unsupported

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False) -> None:
        self.device, self._flag = _cpu(device), int(enable_timing)

    def elapsed_time(self, end_event: Any) -> float:
        """Refused: there is nothing to measure."""
        if not (self._flag and end_event._flag):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        _unsupported()

    def __repr__(self) -> str:
        return f"torch.Event device_type=cpu, device_index=-1, event_flag={self._flag}, event_id=0"


class Stream:
    """A device's queue. device: "cpu" by default; RuntimeError for others. A context manager that changes nothing."""

    stream_id, device_index, device_type = 0, -1, 0
    query, synchronize, wait_event, record_event, wait_stream = _done, _nothing, _nothing, _unsupported, _unsupported

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _cpu(device)

    def __enter__(self) -> Stream:
        return self

    __exit__ = _nothing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(Stream)

    def __repr__(self) -> str:
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"


class CpuStream:
    """torch.cpu.Stream: for programs that are written for any device; work on the CPU has no queue."""

    wait_stream = record_event = wait_event = _nothing

    def __init__(self, priority: int = -1) -> None:
        pass


class CpuEvent:
    """torch.cpu.Event: everything has already happened."""

    query, record, synchronize, wait = _done, _nothing, _nothing, _nothing
