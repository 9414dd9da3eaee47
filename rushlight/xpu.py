"""torch.xpu: says that there is no GPU of Intel's."""
from rushlight.base.absent import functions

globals().update(functions("xpu"))
