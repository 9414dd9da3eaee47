# Written by `python tools/stubs.py`.
"""torch.ao: quantization (`ao.quantization`), and the layers that it puts in place of others (`ao.nn`)."""

from rushlight.ao import nn as nn
from rushlight.ao import quantization as quantization
def __dir__() -> list[str]: ...
__all__ = ['nn', 'quantization']
