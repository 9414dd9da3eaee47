"""torch.xpu: says that there is no GPU of Intel's."""
from rushlight.base.absent import anew, functions, refusal

globals().update(functions("xpu", [
    (anew(bool), "is_available is_initialized is_bf16_supported"), (anew(list), "get_rng_state_all"),
    (anew(type(None)), "empty_cache seed seed_all manual_seed manual_seed_all"),
    (anew(int), "device_count memory_allocated max_memory_allocated memory_reserved max_memory_reserved"),
    (refusal(AssertionError, "Torch not compiled with XPU enabled"),
     "synchronize current_device get_device_name get_device_properties get_device_capability "
     "set_device init current_stream set_stream initial_seed get_rng_state mem_get_info")]))
