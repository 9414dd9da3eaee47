"""torch.backends.openmp: OpenMP takes no part."""
from rushlight.base.absent import functions

globals().update(functions("backends.openmp"))
