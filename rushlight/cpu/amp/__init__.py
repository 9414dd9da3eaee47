"""torch.cpu.amp: older spellings of torch.amp for the CPU."""
from rushlight.cpu.amp.autocast_mode import autocast
from rushlight.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
