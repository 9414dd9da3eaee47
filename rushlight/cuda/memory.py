"""torch.cuda.memory: what torch.cuda says about memory, beside all the rest of it."""

from rushlight._engine.names.absent_devices import functions
from rushlight.cuda import *  # noqa: F403

globals().update(functions("cuda.memory"))
