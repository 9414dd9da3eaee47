"""torch.cuda: says that there is no GPU, as PyTorch's builds for CPUs do.

What only prepares for one, or asks how much of it is used, does nothing; what needs one raises PyTorch's
exceptions.
"""
from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from rushlight.base.absent import AcceleratorError, OutOfMemoryError, anew, functions, refusal  # noqa: F401

# Of these PyTorch's own module says by accident that something inside it is absent.
_FIGURES = ("memory_snapshot get_allocator_backend caching_allocator_delete set_device set_stream "
            "reset_peak_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated "
            "reset_max_memory_cached reset_peak_host_memory_stats reset_accumulated_host_memory_stats")

stream = StreamContext = type("StreamContext", (nullcontext,), {"__doc__": "Of no stream."})
device_of = nullcontext  # a tensor is on the CPU
globals().update(functions("cuda", [
    (anew(bool), "is_available is_initialized is_bf16_supported is_tf32_supported"),
    (anew(int), "device_count memory_allocated max_memory_allocated memory_reserved max_memory_reserved "
                "memory_cached max_memory_cached"),
    (anew(OrderedDict), "memory_stats host_memory_stats"),
    (anew(dict), "memory_stats_as_nested_dict host_memory_stats_as_nested_dict"),
    (anew(list), "get_rng_state_all get_arch_list"), (anew(str), "get_gencode_flags"),
    (anew(type(None)),
     "manual_seed manual_seed_all seed seed_all empty_cache set_rng_state set_rng_state_all "
     "caching_allocator_enable"),
    (refusal(AttributeError, "Torch not compiled with CUDA enabled"), _FIGURES),
    (refusal(KeyError, "Torch not compiled with CUDA enabled"), "memory_summary"),
    (refusal(ModuleNotFoundError, "nvidia-ml-py does not seem to be installed or it can't be imported"),
     "utilization memory_usage temperature power_draw clock_rate device_memory_used"),
    (refusal(RuntimeError, "requires CUDA support"),
     "Stream Event CUDAGraph MemPool is_current_stream_capturing device graph graph_pool_handle"),
    (refusal(AssertionError, "Torch not compiled with CUDA enabled"),
     "synchronize current_device get_device_name get_device_properties get_device_capability "
     "current_stream init default_stream initial_seed get_rng_state ipc_collect mem_get_info "
     "get_per_process_memory_fraction set_per_process_memory_fraction get_sync_debug_mode "
     "set_sync_debug_mode caching_allocator_alloc cudart current_blas_handle can_device_access_peer")]))


def __getattr__(name: str) -> Any:
    # With autocast comes the engine; what asks for a GPU need not load that.
    if name in ("amp", "memory"):
        return import_module(f"rushlight.cuda.{name}")
    raise AttributeError(f"module 'torch.cuda' has no attribute {name!r}")
