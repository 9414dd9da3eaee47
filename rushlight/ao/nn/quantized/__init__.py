"""nn.quantized: layers of quantized tensors, and in `dynamic` layers of numbers with quantized weights."""

from rushlight.ao.nn.quantized.modules import *  # noqa: F403

# A star import takes PyTorch's list of that module, which leaves MaxPool2d out.
from rushlight.ao.nn.quantized.modules import MaxPool2d as MaxPool2d, __all__ as __all__
