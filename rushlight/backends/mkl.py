"""torch.backends.mkl: MKL takes no part."""

from rushlight._engine.names.absent_devices import functions

globals().update(functions("backends.mkl"))
