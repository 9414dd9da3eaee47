"""torch.cuda.memory: what torch.cuda says about memory, beside all the rest of it."""
from rushlight.base.absent import functions
from rushlight.cuda import *  # noqa: F403

globals().update(functions("cuda.memory"))
