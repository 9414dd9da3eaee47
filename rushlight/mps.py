"""torch.mps: says that there is no GPU of Apple's."""
from rushlight.base.absent import functions

globals().update(functions("mps"))
