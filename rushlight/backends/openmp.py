"""torch.backends.openmp: OpenMP takes no part."""

from rushlight._engine.names.absent_devices import functions

globals().update(functions("backends.openmp"))
