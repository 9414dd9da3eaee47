"""nn.intrinsic.quantized: layers that belong together, of quantized tensors."""

from rushlight.ao.nn.intrinsic.quantized.modules import *  # noqa: F403
from rushlight.ao.nn.intrinsic.quantized.modules import __all__ as __all__
