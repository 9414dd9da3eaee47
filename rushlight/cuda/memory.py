"""torch.cuda.memory: what torch.cuda says about memory, beside all the rest of it."""
from rushlight.base.absent import functions, refusal
from rushlight.cuda import *  # noqa: F403

globals().update(functions("cuda.memory", [(refusal(AttributeError, "Torch not compiled with CUDA enabled"),
                                            "_record_memory_history _snapshot _dump_snapshot")]))
