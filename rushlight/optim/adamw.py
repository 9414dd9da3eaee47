"""AdamW's own module, by PyTorch's name."""
from rushlight.optim.adam import AdamW

__all__ = ["AdamW"]
