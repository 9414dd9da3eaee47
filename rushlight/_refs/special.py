"""torch._refs.special: functions of torch.special."""

from rushlight import special
from rushlight._refs import functions_of

__getattr__ = functions_of(__name__, special)
