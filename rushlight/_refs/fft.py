"""torch._refs.fft: functions of torch.fft."""

from rushlight import fft as _fft  # `fft` is a function here
from rushlight._refs import functions_of

__getattr__ = functions_of(__name__, _fft)
