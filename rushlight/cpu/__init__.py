"""torch.cpu: the device-agnostic part of a device's module, for the CPU, which computes as it is called."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rushlight.cpu import amp, memory
from rushlight.cpu.capabilities import get_capabilities
from rushlight.cpu.memory import max_memory_allocated, memory_allocated, memory_stats
from rushlight.cpu.queue import done, nothing

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "memory",
    "memory_allocated",
    "memory_stats",
    "set_device",
    "stream",
    "synchronize",
]


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
    """ "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Nothing: ops are done when they return."""


class Stream:
    """For programs that are written for any device; work on the CPU has no queue."""

    wait_stream = record_event = wait_event = nothing

    def __init__(self, priority: int = -1) -> None:
        pass


class Event:
    """For programs that are written for any device: everything has already happened."""

    query, record, synchronize, wait = done, nothing, nothing, nothing


class StreamContext(nullcontext[Any]):
    """A context that changes nothing."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _stream


def stream(stream: Stream) -> AbstractContextManager[Any]:
    """A context that changes nothing."""
    return StreamContext()


def _is_amx_tile_supported() -> bool:
    return bool(get_capabilities().get("amx_tile"))


def _is_vnni_supported() -> bool:
    return bool(get_capabilities().get("avx512_vnni"))


def _is_avx2_supported() -> bool:
    return bool(get_capabilities().get("avx2"))


def _is_avx512_supported() -> bool:
    known = get_capabilities()
    return all(known.get(f"avx512_{part}") for part in ("f", "vl", "bw", "dq"))


def _is_avx512_bf16_supported() -> bool:
    return bool(get_capabilities().get("avx512_bf16"))


def _is_amx_fp16_supported() -> bool:
    return _is_amx_tile_supported() and bool(get_capabilities().get("amx_fp16"))
