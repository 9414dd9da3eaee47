"""torch.backends.mkldnn: oneDNN takes no part."""
from rushlight.base.absent import functions

globals().update(functions("backends.mkldnn"))
enabled = True
