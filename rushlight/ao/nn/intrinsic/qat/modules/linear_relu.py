"""nn.intrinsic.qat.LinearReLU."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight.ao.nn.intrinsic.modules.fused import _FusedModule
from rushlight.ao.nn.qat.modules.linear import Linear


class LinearReLU(Linear, _FusedModule):
    """A linear layer and relu; the weight is fake-quantized."""

    def forward(self, input: Any) -> Any:
        """Both."""
        return nn.functional.relu(super().forward(input))
