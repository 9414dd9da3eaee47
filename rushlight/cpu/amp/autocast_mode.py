"""The older spelling of autocast for the CPU."""
from __future__ import annotations

import warnings

from rushlight import amp
from rushlight.base import dtype as dt


class autocast(amp.autocast):
    """torch.amp.autocast("cpu", ...), with a FutureWarning."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.bfloat16,
                 cache_enabled: bool = True) -> None:
        warnings.warn("`torch.cpu.amp.autocast(args...)` is deprecated. Please use "
                      "`torch.amp.autocast('cpu', args...)` instead.", FutureWarning, stacklevel=2)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
