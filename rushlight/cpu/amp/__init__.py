"""torch.cpu.amp: older spellings of torch.amp for the CPU."""

from rushlight import amp
from rushlight._engine.core.dtype import bfloat16, dtype as _dtype
from rushlight.amp import grad_scaler
from rushlight.amp.autocast_mode import warn_of_older

__all__ = ["GradScaler", "autocast"]
GradScaler = grad_scaler.older("cpu", __name__)


class autocast(amp.autocast):
    """torch.amp.autocast('cpu', ...), with a FutureWarning."""

    def __init__(self, enabled: bool = True, dtype: _dtype = bfloat16, cache_enabled: bool = True) -> None:
        warn_of_older("cpu")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
