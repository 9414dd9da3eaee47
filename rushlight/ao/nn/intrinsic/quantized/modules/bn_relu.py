"""Batch norms and relu of quantized tensors."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.ao.nn.quantized.modules import batchnorm


class _WithReLU:
    _relu = True

    def forward(self, input: Any) -> Any:
        """The norm and relu."""
        return torch.relu(super().forward(input))  # type: ignore[misc]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an observed fused one."""
        mod[0].activation_post_process = mod.activation_post_process
        return super().from_float(mod[0])  # type: ignore[misc]


class BNReLU2d(_WithReLU, batchnorm.BatchNorm2d):  # type: ignore[misc]
    """BatchNorm2d and relu."""


class BNReLU3d(_WithReLU, batchnorm.BatchNorm3d):  # type: ignore[misc]
    """BatchNorm3d and relu."""
