"""nn.intrinsic.quantized.LinearReLU."""

from __future__ import annotations

from typing import Any

from rushlight.ao.nn.intrinsic.modules import fused
from rushlight.ao.nn.quantized.modules.linear import Linear


class LinearReLU(Linear):
    """A linear layer and relu of quantized tensors."""

    _float_module: Any = fused.LinearReLU
    _relu = True

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"
