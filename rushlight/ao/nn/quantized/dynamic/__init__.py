"""nn.quantized.dynamic: layers of numbers with quantized weights."""

from rushlight.ao.nn.quantized.dynamic.modules import *  # noqa: F403
from rushlight.ao.nn.quantized.dynamic.modules import __all__ as __all__
