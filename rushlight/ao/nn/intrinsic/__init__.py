"""nn.intrinsic: layers that belong together; fake-quantized in `qat`, quantized in `quantized`."""

from rushlight.ao.nn.intrinsic.modules import *  # noqa: F403
from rushlight.ao.nn.intrinsic.modules import __all__ as __all__, _FusedModule as _FusedModule
