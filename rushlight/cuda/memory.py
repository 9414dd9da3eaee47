"""torch.cuda.memory: what torch.cuda says about memory, and records of it."""

from rushlight._engine.core import accelerator as _accelerator
from rushlight._engine.devices.cuda.accounts.options import set_settings as _set_allocator_settings  # noqa: F401
from rushlight._engine.names.absent_devices import functions as _functions
from rushlight.cuda import (
    MemPool as MemPool,
    caching_allocator_alloc as caching_allocator_alloc,
    caching_allocator_delete as caching_allocator_delete,
    caching_allocator_enable as caching_allocator_enable,
    empty_cache as empty_cache,
    get_allocator_backend as get_allocator_backend,
    get_per_process_memory_fraction as get_per_process_memory_fraction,
    host_memory_stats as host_memory_stats,
    host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict,
    is_initialized as is_initialized,
    max_memory_allocated as max_memory_allocated,
    max_memory_cached as max_memory_cached,
    max_memory_reserved as max_memory_reserved,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated,
    memory_cached as memory_cached,
    memory_reserved as memory_reserved,
    memory_snapshot as memory_snapshot,
    memory_stats as memory_stats,
    memory_stats_as_nested_dict as memory_stats_as_nested_dict,
    memory_summary as memory_summary,
    reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_cached as reset_max_memory_cached,
    reset_peak_host_memory_stats as reset_peak_host_memory_stats,
    reset_peak_memory_stats as reset_peak_memory_stats,
    set_per_process_memory_fraction as set_per_process_memory_fraction,
    use_mem_pool as use_mem_pool,
)

_names = _functions("cuda.memory")
globals().update(_names)
if _accelerator.platform() is not None:
    from rushlight._engine.devices.cuda import memory_api as _there

    globals().update({name: getattr(_there, name) for name in _names})
