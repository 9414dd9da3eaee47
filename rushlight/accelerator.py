"""torch.accelerator: programs that are written for any device ask here; there is none beside the CPU."""
from rushlight.base.absent import functions

globals().update(functions("accelerator"))
