"""The older spelling of GradScaler for CUDA."""
from rushlight.amp.grad_scaler import older

GradScaler = older("cuda", __name__)
