"""torch.cuda.amp: older spellings of torch.amp for CUDA: there is none, so all is disabled."""

from rushlight._engine.core import accelerator
from rushlight.amp import grad_scaler
from rushlight.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
GradScaler = grad_scaler.older("cuda", __name__)


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA device."""
    return accelerator.platform() is None
