"""torch.accelerator: programs that are written for any device ask here; there is none beside the CPU."""
from rushlight.base.absent import anew, functions, refusal

_WORDS = "Cannot access accelerator device when none is available."
globals().update(functions("accelerator", [
    (anew(type(None)), "current_accelerator"), (anew(bool), "is_available"), (anew(int), "device_count"),
    (refusal(RuntimeError, _WORDS),
     "current_device_index current_device_idx current_stream set_device_index set_device_idx "
     "set_stream Graph synchronize get_device_capability device_index empty_cache empty_host_cache "
     "get_memory_info memory_stats memory_allocated max_memory_allocated memory_reserved "
     "max_memory_reserved reset_peak_memory_stats reset_accumulated_memory_stats")]))
