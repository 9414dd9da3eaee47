"""torch.accelerator where there is a CUDA device: the same answers by its names."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import ALL
from rushlight._engine.devices.cuda import api, memory_api, stream_api
from rushlight._engine.devices.cuda.api import device_count, is_available  # noqa: F401
from rushlight._engine.devices.cuda.memory_api import (  # noqa: F401
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)


def current_accelerator(check_available: bool = False) -> device:
    """torch.device("cuda")."""
    return device("cuda")


def current_device_index() -> int:
    """The number of this thread's current device."""
    return api.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any, /) -> None:
    """Make a device this thread's current one."""
    api.set_device(device)


set_device_idx = set_device_index


def current_stream(device: Any = None, /) -> stream_api.Stream:
    """The stream that this thread's work on a device goes to."""
    return stream_api.current_stream(device)


def set_stream(stream: stream_api.Stream) -> None:
    """Let this thread's work go to a stream."""
    stream_api.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait until all work of a device is done."""
    api.synchronize(device)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """The dtypes that a device computes in."""
    return {"supported_dtypes": set(ALL)}


def empty_cache() -> None:
    """Give the driver all memory back that no tensor holds."""
    memory_api.empty_cache()


def empty_host_cache() -> None:
    """Give the driver all page-locked memory back that no tensor holds."""
    api.platform().empty_host_cache()


def get_memory_info(device: Any = None, /) -> tuple[int, int]:
    """(free, total) bytes of a device."""
    return memory_api.mem_get_info(device)
