"""nn.quantized: layers of quantized tensors, and in `dynamic` layers of numbers with quantized weights."""

from rushlight.ao.nn.quantized.modules import *  # noqa: F403
from rushlight.ao.nn.quantized.modules import __all__ as __all__
