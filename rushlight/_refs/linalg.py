"""torch._refs.linalg: functions of torch.linalg."""

from rushlight import linalg
from rushlight._refs import functions_of

__getattr__ = functions_of(__name__, linalg)
