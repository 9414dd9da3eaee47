# Written by `python tools/stubs.py`.
"""torch.ao.nn: layers for quantization."""

from rushlight.ao.nn import intrinsic as intrinsic
from rushlight.ao.nn import qat as qat
from rushlight.ao.nn import quantized as quantized
def __dir__() -> list[str]: ...
__all__ = ['intrinsic', 'qat', 'quantized']
