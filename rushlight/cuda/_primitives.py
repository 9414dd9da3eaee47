"""What torch.cuda's functions are made of under names of torch._C, which tests and trainers call as well."""

from __future__ import annotations

from typing import Any

from rushlight import cuda
from rushlight._engine.core import accelerator

_DEVICE_TYPE = 1  # PyTorch's number of CUDA

_cuda_getDevice = cuda.current_device
_cuda_setDevice = cuda.set_device
_cuda_getDeviceCount = cuda.device_count
_cuda_synchronize = cuda.synchronize
_cuda_init = cuda.init
_cuda_ipc_collect = cuda.ipc_collect
_cuda_isCurrentStreamCapturing = cuda.is_current_stream_capturing
_cuda_emptyCache = cuda.empty_cache
_cuda_memorySnapshot = cuda.memory_snapshot
_cuda_memoryStats = cuda.memory_stats_as_nested_dict
_cuda_resetPeakMemoryStats = cuda.reset_peak_memory_stats
_cuda_resetAccumulatedMemoryStats = cuda.reset_accumulated_memory_stats
_cuda_setMemoryFraction = cuda.set_per_process_memory_fraction


def _cuda_exchangeDevice(device: int) -> int:
    """Make a device the current one; the one that was, -1 and no change for a negative number."""
    if device < 0:
        return -1
    before = int(cuda.current_device())
    cuda.set_device(device)
    return before


_cuda_maybeExchangeDevice = _cuda_exchangeDevice


def _told(stream: Any) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, _DEVICE_TYPE


def _cuda_getCurrentStream(device: int) -> tuple[int, int, int]:
    """A device's current stream: its number, the device's, and that of the kind of devices."""
    return _told(cuda.current_stream(device))


def _cuda_getDefaultStream(device: int) -> tuple[int, int, int]:
    """The same of its default stream."""
    return _told(cuda.default_stream(device))


def _cuda_getCurrentRawStream(device: int) -> int:
    """What stands for the driver's handle of a device's current stream."""
    return int(cuda.current_stream(device).cuda_stream)


def _cuda_setStream(stream_id: int, device_index: int, device_type: int = _DEVICE_TYPE) -> None:
    """Make a stream, and its device, the current ones."""
    cuda.set_stream(cuda.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))


def _cuda_clearCublasWorkspaces() -> None:
    """Nothing: what products work in is given back with their streams."""


def _cuda_cudaCachingAllocator_is_enabled() -> bool:
    """True: there is no other allocator."""
    return True


if accelerator.platform() is not None:
    from rushlight._engine.devices.cuda.accounts.checkpoints import (  # noqa: F401
        _cuda_getCheckpointState,
        _cuda_setCheckpointPoolState,
    )
    from rushlight._engine.devices.cuda.graphs import (  # noqa: F401
        _cuda_beginAllocateCurrentThreadToPool,
        _cuda_checkPoolLiveAllocations,
        _cuda_endAllocateToPool,
        _cuda_releasePool,
    )
    from rushlight._engine.devices.cuda.memory_api import (
        _cuda_attach_out_of_memory_observer,  # noqa: F401
        caching_allocator_delete as _cuda_cudaCachingAllocator_raw_delete,  # noqa: F401
    )


def _cuda_sleep(cycles: int) -> None:
    """Let the current stream do nothing for so many cycles of the device's clock."""
    cuda.__dict__["_sleep"](cycles)


def _cuda_hasPrimaryContext(device: int) -> bool:
    """Whether a device is in use."""
    there: Any = accelerator.platform()
    return any([made.index == device for made in there.devices()])


FUNCTIONS = {name: found for name, found in globals().items() if name.startswith("_cuda_")}
