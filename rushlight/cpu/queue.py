"""Queues of work and marks in them, as devices have them; the CPU has none: ops are done when they return.

torch.Stream and torch.Event take any device; torch.cpu has simpler ones.
"""

from __future__ import annotations

from typing import Any, NoReturn

from rushlight._engine.core import accelerator
from rushlight._engine.core.device import device as device_of
from rushlight._engine.tensors.kind import unavailable

_NUMBERS = ("stream_id", "device_index", "device_type")


def nothing(*given: Any) -> None:
    """Nothing to wait for."""


def done(queue: Any) -> bool:
    """True: everything has happened."""
    return True


def _unsupported(*given: Any) -> NoReturn:
    """Refused with a RuntimeError."""
    raise RuntimeError("cpu backend doesn't support events.: ops on the CPU are done when they return")


def _of_cuda(name: str, device: Any, options: Any) -> Any:
    """A stream or an event of a CUDA device, which None and numbers mean where there is one; else None."""
    if accelerator.platform() is None:
        return None
    if not (device is None or isinstance(device, int) or device_of(device).type == "cuda"):
        return None
    from rushlight import cuda  # which is written with what lies here

    if name == "Event":
        return cuda.Event(**options)
    return cuda.Stream(device, **options)


class _Queued:
    def __new__(cls, device: Any = None, **options: Any) -> Any:
        """A CUDA device's own, where it is for one."""
        return _of_cuda(cls.__name__, device, options) or object.__new__(cls)

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        priority: int = 0,
    ) -> None:
        if isinstance(device, int):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        self.device = device_of(device_of("cpu" if device is None else device).type)
        if self.device.type != "cpu":
            raise unavailable(self.device, RuntimeError, "PyTorch is not linked with support for CUDA")

    query, synchronize = done, nothing


class Event(_Queued):
    """A mark in a device's queue. device: by default the accelerator, else "cpu", which records nothing;
    RuntimeError for others.

    enable_timing, blocking, interprocess: False by default, and without effect.
    """

    event_id, wait, record, elapsed_time = 0, nothing, _unsupported, _unsupported


class Stream(_Queued):
    """A device's queue. device: by default the accelerator, else "cpu"; RuntimeError for others. A context in
    which work goes to it. stream_id, device_index, device_type: a queue of these numbers, without a device.
    """

    stream_id, device_index, device_type = 0, -1, 0

    def __init__(self, device: Any = None, **options: Any) -> None:
        numbers = {name: options.pop(name) for name in _NUMBERS if name in options}
        if not numbers:
            super().__init__(device, **options)
            return
        if len(numbers) < len(_NUMBERS):
            raise TypeError(f"a stream has all of {', '.join(_NUMBERS)}, or a device")
        self.__dict__.update(numbers)
        names = {0: "cpu", 1: "cuda"}
        self.device = device_of(names.get(numbers["device_type"], "cpu"), numbers["device_index"])

    def __repr__(self) -> str:
        where = f"device_type={self.device.type}, device_index={self.device_index}"
        return f"torch.Stream {where}, stream_id={self.stream_id}"

    wait_event, record_event, wait_stream, __exit__ = nothing, _unsupported, _unsupported, nothing

    def __enter__(self) -> Stream:
        return self
