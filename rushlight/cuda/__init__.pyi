# Written by `python tools/stubs.py`.
"""torch.cuda: devices, their memory, streams and events. Without a device it says so, as PyTorch's CPU
builds do.

There what only prepares for a device, or asks how much of it is used, does nothing; what needs one raises
PyTorch's exceptions (AttributeError where its own module says by accident that something inside it is
absent). Which devices there are is the setting RUSHLIGHT_CUDA's to say (docs/cuda.md).
"""
from typing import Any

from rushlight.cuda import _gpu_trace as _gpu_trace
from rushlight.cuda import _memory_viz as _memory_viz
from rushlight.cuda import _sanitizer as _sanitizer
from rushlight.cuda import _utils as _utils
from rushlight.cuda import amp as amp
from rushlight.cuda.graphed_callables import make_graphed_callables as make_graphed_callables
from rushlight.cuda import memory as memory
from rushlight.cuda import nccl as nccl
from rushlight.cuda import nvtx as nvtx
from rushlight.cuda import profiler as profiler
from rushlight._engine.devices.cuda.graphs import CUDAGraph as CUDAGraph
from rushlight._engine.devices.cuda.stream_api import Event as Event
from rushlight._engine.devices.cuda.graphs import MemPool as MemPool
from rushlight._engine.devices.cuda.stream_api import Stream as Stream
from rushlight._engine.devices.cuda.stream_api import StreamContext as StreamContext
from rushlight._engine.devices.cuda.api import _is_compiled as _is_compiled
from rushlight._engine.devices.cuda.api import _is_in_bad_fork as _is_in_bad_fork
from rushlight._engine.devices.cuda.memory_api import caching_allocator_alloc as caching_allocator_alloc
from rushlight._engine.devices.cuda.memory_api import caching_allocator_delete as caching_allocator_delete
from rushlight._engine.devices.cuda.memory_api import caching_allocator_enable as caching_allocator_enable
from rushlight._engine.devices.cuda.api import can_device_access_peer as can_device_access_peer
from rushlight._engine.devices.cuda.api import clock_rate as clock_rate
from rushlight._engine.devices.cuda.api import cudart as cudart
from rushlight._engine.devices.cuda.api import current_blas_handle as current_blas_handle
from rushlight._engine.devices.cuda.api import current_device as current_device
from rushlight._engine.devices.cuda.stream_api import current_stream as current_stream
from rushlight._engine.devices.cuda.random_api import default_generators as default_generators
from rushlight._engine.devices.cuda.stream_api import default_stream as default_stream
from rushlight._engine.devices.cuda.api import device as device
from rushlight._engine.devices.cuda.api import device_count as device_count
from rushlight._engine.devices.cuda.api import device_memory_used as device_memory_used
from rushlight._engine.devices.cuda.api import device_of as device_of
from rushlight._engine.devices.cuda.memory_api import empty_cache as empty_cache
from rushlight._engine.devices.cuda.memory_api import get_allocator_backend as get_allocator_backend
from rushlight._engine.devices.cuda.api import get_arch_list as get_arch_list
from rushlight._engine.devices.cuda.api import get_device_capability as get_device_capability
from rushlight._engine.devices.cuda.api import get_device_name as get_device_name
from rushlight._engine.devices.cuda.api import get_device_properties as get_device_properties
from rushlight._engine.devices.cuda.api import get_gencode_flags as get_gencode_flags
from rushlight._engine.devices.cuda.memory_api import get_per_process_memory_fraction as get_per_process_memory_fraction
from rushlight._engine.devices.cuda.random_api import get_rng_state as get_rng_state
from rushlight._engine.devices.cuda.random_api import get_rng_state_all as get_rng_state_all
from rushlight._engine.devices.cuda.api import get_sync_debug_mode as get_sync_debug_mode
from rushlight._engine.devices.cuda.graphs import graph as graph
from rushlight._engine.devices.cuda.graphs import graph_pool_handle as graph_pool_handle
from rushlight._engine.devices.cuda.memory_api import host_memory_stats as host_memory_stats
from rushlight._engine.devices.cuda.memory_api import host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict
from rushlight._engine.devices.cuda.api import init as init
from rushlight._engine.devices.cuda.random_api import initial_seed as initial_seed
from rushlight._engine.devices.cuda.api import ipc_collect as ipc_collect
from rushlight._engine.devices.cuda.api import is_available as is_available
from rushlight._engine.devices.cuda.api import is_bf16_supported as is_bf16_supported
from rushlight._engine.devices.cuda.stream_api import is_current_stream_capturing as is_current_stream_capturing
from rushlight._engine.devices.cuda.api import is_initialized as is_initialized
from rushlight._engine.devices.cuda.api import is_tf32_supported as is_tf32_supported
from rushlight._engine.devices.cuda.random_api import manual_seed as manual_seed
from rushlight._engine.devices.cuda.random_api import manual_seed_all as manual_seed_all
from rushlight._engine.devices.cuda.memory_api import max_memory_allocated as max_memory_allocated
from rushlight._engine.devices.cuda.memory_api import max_memory_cached as max_memory_cached
from rushlight._engine.devices.cuda.memory_api import max_memory_reserved as max_memory_reserved
from rushlight._engine.devices.cuda.memory_api import mem_get_info as mem_get_info
from rushlight._engine.devices.cuda.memory_api import memory_allocated as memory_allocated
from rushlight._engine.devices.cuda.memory_api import memory_cached as memory_cached
from rushlight._engine.devices.cuda.memory_api import memory_reserved as memory_reserved
from rushlight._engine.devices.cuda.memory_api import memory_snapshot as memory_snapshot
from rushlight._engine.devices.cuda.memory_api import memory_stats as memory_stats
from rushlight._engine.devices.cuda.memory_api import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from rushlight._engine.devices.cuda.memory_api import memory_summary as memory_summary
from rushlight._engine.devices.cuda.api import memory_usage as memory_usage
from rushlight._engine.devices.cuda.api import power_draw as power_draw
from rushlight._engine.devices.cuda.memory_api import reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_max_memory_allocated as reset_max_memory_allocated
from rushlight._engine.devices.cuda.memory_api import reset_max_memory_cached as reset_max_memory_cached
from rushlight._engine.devices.cuda.memory_api import reset_peak_host_memory_stats as reset_peak_host_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_peak_memory_stats as reset_peak_memory_stats
from rushlight._engine.devices.cuda.random_api import seed as seed
from rushlight._engine.devices.cuda.random_api import seed_all as seed_all
from rushlight._engine.devices.cuda.api import set_device as set_device
from rushlight._engine.devices.cuda.memory_api import set_per_process_memory_fraction as set_per_process_memory_fraction
from rushlight._engine.devices.cuda.random_api import set_rng_state as set_rng_state
from rushlight._engine.devices.cuda.random_api import set_rng_state_all as set_rng_state_all
from rushlight._engine.devices.cuda.stream_api import set_stream as set_stream
from rushlight._engine.devices.cuda.api import set_sync_debug_mode as set_sync_debug_mode
from rushlight._engine.devices.cuda.stream_api import stream as stream
from rushlight._engine.devices.cuda.api import synchronize as synchronize
from rushlight._engine.devices.cuda.api import temperature as temperature
from rushlight._engine.devices.cuda.graphs import use_mem_pool as use_mem_pool
from rushlight._engine.devices.cuda.api import utilization as utilization
from rushlight._engine.names.absent_devices import AcceleratorError as AcceleratorError
from rushlight._engine.names.absent_devices import OutOfMemoryError as OutOfMemoryError
class CudaError(RuntimeError):
    """A call of CUDA's runtime has failed; `code` is its answer. AttributeError where there is no device."""

    def __init__(self, code: int) -> None: ...
class DeferredCudaCallError(Exception):
    """What was put off until a device is used has failed."""

def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Call it when the device is ready: now; where there is none, never."""
def _lazy_init() -> None:
    """Make the device ready; AssertionError where there is none."""
def _need_runtime() -> None:
    """AttributeError, as PyTorch's builds for CPUs raise it, where there is no runtime that could fail."""
def check_error(res: int) -> None:
    """CudaError for an answer of the runtime's that is an error; AttributeError where there is no device."""
class cudaStatus:
    """The numbers of two of CUDA's answers."""

    ERROR_NOT_READY: int
    SUCCESS: int
has_half: bool
has_magma: bool
def __dir__() -> list[str]: ...
