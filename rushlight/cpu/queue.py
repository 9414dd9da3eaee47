"""torch.Stream and torch.Event: queues of work and marks in them, of devices that have some; the CPU has none."""
from __future__ import annotations

from typing import Any, NoReturn

from rushlight.base.device import device as device_of
from rushlight.tensor.kind import unavailable


def _cpu(device: Any) -> Any:
    """The CPU; RuntimeError for a device that is not there."""
    if isinstance(device, int):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    found = device_of("cpu" if device is None else device)
    if found.type != "cpu":
        raise unavailable(found)
    return device_of("cpu")


def _unsupported(*given: Any) -> NoReturn:
    raise RuntimeError("cpu backend doesn't support events.: ops on the CPU are done when they return")


class Event:
    """A mark in a device's queue. device: "cpu" by default, where nothing can be recorded; RuntimeError for others.

    enable_timing: whether it may be measured; blocking and interprocess change nothing.
    """

    event_id = 0

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False) -> None:
        self.device, self._flag = _cpu(device), int(enable_timing)

    def query(self) -> bool:
        """True: everything has happened."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def elapsed_time(self, end_event: Any) -> float:
        """Refused: ValueError without enable_timing, RuntimeError with it."""
        if not (self._flag and end_event._flag):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        _unsupported()

    record = _unsupported

    def __repr__(self) -> str:
        return f"torch.Event device_type=cpu, device_index=-1, event_flag={self._flag}, event_id=0"


class Stream:
    """A device's queue. device: "cpu" by default; RuntimeError for others. A context manager that changes nothing."""

    stream_id, device_index, device_type = 0, -1, 0

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _cpu(device)

    def query(self) -> bool:
        """True: no work waits."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    record_event = wait_stream = _unsupported

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(Stream)

    def __repr__(self) -> str:
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
