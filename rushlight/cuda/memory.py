"""torch.cuda.memory: the functions of torch.cuda that are about memory."""
from __future__ import annotations

from rushlight import cuda
from rushlight.base.absent import functions, refusal

globals().update({name: value for name, value in vars(cuda).items() if any(
    part in name for part in ("memory", "alloc", "mem_get", "empty_cache", "MemPool")) and callable(value)})
globals().update(functions("cuda.memory", [(refusal(AttributeError, "Torch not compiled with CUDA enabled"),
                                            "_record_memory_history _snapshot _dump_snapshot")]))
