"""torch.mps: says that there is no GPU of Apple's."""
from rushlight.base.absent import anew, functions, refusal

globals().update(functions("mps", [
    (anew(bool), "is_available"), (anew(int), "device_count"), (anew(type(None)), "manual_seed"),
    (refusal(RuntimeError, "Cannot execute without MPS backend"),
     "synchronize empty_cache current_allocated_memory driver_allocated_memory recommended_max_memory "
     "get_rng_state seed Event")]))
