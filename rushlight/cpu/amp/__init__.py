"""torch.cpu.amp: older spellings of torch.amp for the CPU."""

from rushlight._engine.core.dtype import bfloat16
from rushlight.amp import autocast_mode, grad_scaler

__all__ = ["GradScaler", "autocast"]
autocast, GradScaler = autocast_mode.older("cpu", bfloat16, __name__), grad_scaler.older("cpu", __name__)
