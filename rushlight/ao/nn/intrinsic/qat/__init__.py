"""nn.intrinsic.qat: layers that belong together, fake-quantized while they are trained."""

from rushlight.ao.nn.intrinsic.qat.modules import *  # noqa: F403
from rushlight.ao.nn.intrinsic.qat.modules import __all__ as __all__
