"""torch.backends.mps: Apple's Metal takes no part."""

from rushlight._engine.names.absent_devices import functions

globals().update(functions("backends.mps"))
