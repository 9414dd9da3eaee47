"""nn.qat: layers whose weights are fake-quantized while they are trained."""

from rushlight.ao.nn.qat.modules import *  # noqa: F403
from rushlight.ao.nn.qat.modules import __all__ as __all__
