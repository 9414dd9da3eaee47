"""torch._refs.nn.functional: functions of torch.nn.functional."""

from rushlight._refs import functions_of
from rushlight.nn import functional

__getattr__ = functions_of(__name__, functional)
