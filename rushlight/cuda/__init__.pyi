# Written by `python tools/stubs.py`.
"""torch.cuda: devices, their memory, streams and events. Without a device it says so, as PyTorch's CPU
builds do.

There what only prepares for a device, or asks how much of it is used, does nothing; what needs one raises
PyTorch's exceptions (AttributeError where its own module says by accident that something inside it is
absent). Which devices there are is the setting RUSHLIGHT_CUDA's to say (docs/cuda.md).
"""
from contextlib import nullcontext
from typing import Any

from rushlight.cuda import amp as amp
from rushlight.cuda import memory as memory
from rushlight.cuda import nvtx as nvtx
class StreamContext(nullcontext[None]):
    """Of no stream."""

def caching_allocator_alloc(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def caching_allocator_delete(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def caching_allocator_enable(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def can_device_access_peer(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def clock_rate(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def cudart(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_blas_handle(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_device(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
default_generators: tuple[Any, ...]
def default_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_count(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_memory_used(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_of(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def empty_cache(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_allocator_backend(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_arch_list(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_capability(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_name(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_properties(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_gencode_flags(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_per_process_memory_fraction(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_rng_state(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_rng_state_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_sync_debug_mode(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def graph(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def graph_pool_handle(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def host_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def host_memory_stats_as_nested_dict(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def init(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def initial_seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def ipc_collect(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_bf16_supported(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_current_stream_capturing(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_initialized(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_tf32_supported(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def manual_seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def manual_seed_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_cached(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_reserved(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def mem_get_info(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_cached(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_reserved(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_snapshot(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_stats_as_nested_dict(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_summary(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_usage(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def power_draw(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_accumulated_host_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_accumulated_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_max_memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_max_memory_cached(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_peak_host_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_peak_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def seed_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_device(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_per_process_memory_fraction(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_rng_state(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_rng_state_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_sync_debug_mode(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
class stream(nullcontext[None]):
    """Of no stream."""

def synchronize(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def temperature(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def utilization(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def __dir__() -> list[str]: ...
