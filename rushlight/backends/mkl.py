"""torch.backends.mkl: MKL takes no part."""
from rushlight.base.absent import functions

globals().update(functions("backends.mkl"))
