"""nn.qat.dynamic.Linear."""

from __future__ import annotations

from typing import Any

from rushlight.ao.nn.qat.modules.linear import Linear as _Linear
from rushlight.ao.quantization.utils import activation_is_dynamically_quantized


class Linear(_Linear):
    """A linear layer whose weight is fake-quantized, and whose input will be quantized call by call."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, **options: Any
    ) -> None:
        super().__init__(in_features, out_features, bias, qconfig, **options)
        if not activation_is_dynamically_quantized(qconfig):
            raise ValueError(
                "Dynamic QAT requires a memoryless observer: averaging_constant 1, is_dynamic True"
            )
