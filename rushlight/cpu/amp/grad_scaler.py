"""The older spelling of GradScaler for CPU."""
from rushlight.amp.grad_scaler import older

GradScaler = older("cpu", __name__)
