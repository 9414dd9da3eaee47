"""torch.backends.mps: Apple's Metal takes no part."""
from rushlight.base.absent import functions

globals().update(functions("backends.mps"))
