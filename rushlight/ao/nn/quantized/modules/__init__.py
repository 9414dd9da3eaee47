"""Layers of quantized tensors; here Quantize, DeQuantize and those of nothing but levels."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized.modules.activation import (
    ELU,
    Hardswish,
    LeakyReLU,
    ReLU6,
    Sigmoid,
    Softmax,
)
from rushlight.ao.nn.quantized.modules.batchnorm import BatchNorm2d, BatchNorm3d
from rushlight.ao.nn.quantized.modules.conv import Conv1d, Conv2d, Conv3d
from rushlight.ao.nn.quantized.modules.functional_modules import (
    FloatFunctional,
    FXFloatFunctional,
    QFunctional,
)
from rushlight.ao.nn.quantized.modules.linear import Linear
from rushlight.ao.nn.quantized.modules.normalization import (
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
)

__all__ = [
    "ELU",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "DeQuantize",
    "Dropout",
    "FXFloatFunctional",
    "FloatFunctional",
    "GroupNorm",
    "Hardswish",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "MaxPool2d",
    "QFunctional",
    "Quantize",
    "ReLU6",
    "Sigmoid",
    "Softmax",
]


class Quantize(nn.Module):
    """Numbers as levels of scale and zero_point, of the dtype `dtype`."""

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self, scale: float, zero_point: int, dtype: Any, factory_kwargs: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        options = factory_kwargs or {}
        self.register_buffer("scale", torch.tensor([scale], **options))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.long, **options))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        """The levels."""
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """Of an observed QuantStub."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError("expected activation_post_process attribute")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), zero_point.long().item(), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        """How it quantizes."""
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """The numbers that levels stand for."""

    def forward(self, Xq: Any) -> Any:
        """The numbers."""
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """Of a DeQuantStub."""
        return DeQuantize()


class Dropout(nn.Dropout):
    """The identity: quantized models are not trained."""

    def forward(self, input: Any) -> Any:
        """The input."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """Of a Dropout."""
        return cls(mod.p, mod.inplace)


MaxPool2d = nn.MaxPool2d
