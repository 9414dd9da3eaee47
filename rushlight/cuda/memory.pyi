# Written by `python tools/stubs.py`.
"""torch.cuda.memory: what torch.cuda says about memory, and records of it."""

from rushlight._engine.devices.cuda.graphs import MemPool as MemPool
from rushlight._engine.devices.cuda.memory_api import _allocation_traceback as _allocation_traceback
from rushlight._engine.devices.cuda.memory_api import _dump_snapshot as _dump_snapshot
from rushlight._engine.devices.cuda.memory_api import _record_memory_history as _record_memory_history
from rushlight._engine.devices.cuda.memory_api import _snapshot as _snapshot
from rushlight._engine.devices.cuda.memory_api import caching_allocator_alloc as caching_allocator_alloc
from rushlight._engine.devices.cuda.memory_api import caching_allocator_delete as caching_allocator_delete
from rushlight._engine.devices.cuda.memory_api import caching_allocator_enable as caching_allocator_enable
from rushlight._engine.devices.cuda.memory_api import empty_cache as empty_cache
from rushlight._engine.devices.cuda.memory_api import get_allocator_backend as get_allocator_backend
from rushlight._engine.devices.cuda.memory_api import get_per_process_memory_fraction as get_per_process_memory_fraction
from rushlight._engine.devices.cuda.memory_api import host_memory_stats as host_memory_stats
from rushlight._engine.devices.cuda.memory_api import host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict
from rushlight._engine.devices.cuda.api import is_initialized as is_initialized
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
from rushlight._engine.devices.cuda.memory_api import reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_max_memory_allocated as reset_max_memory_allocated
from rushlight._engine.devices.cuda.memory_api import reset_max_memory_cached as reset_max_memory_cached
from rushlight._engine.devices.cuda.memory_api import reset_peak_host_memory_stats as reset_peak_host_memory_stats
from rushlight._engine.devices.cuda.memory_api import reset_peak_memory_stats as reset_peak_memory_stats
from rushlight._engine.devices.cuda.memory_api import set_per_process_memory_fraction as set_per_process_memory_fraction
from rushlight._engine.devices.cuda.graphs import use_mem_pool as use_mem_pool
