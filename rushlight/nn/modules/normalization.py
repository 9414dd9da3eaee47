"""Normalisation within a sample: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm."""
from __future__ import annotations

import numbers
from typing import Any

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import register_empty


class _ChannelNorm(FunctionModule, function=None):
    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ChannelNorm, function="local_response_norm", size=int, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta."""


class CrossMapLRN2d(_ChannelNorm, function=None, size=int, alpha=1e-4, beta=0.75, k=1):
    """x / (k + alpha / size * sum of x^2 over neighbouring channels) ** beta, for (N, C, H, W).

    As in PyTorch the first channel, once it should leave the sum, stays in it: see
    LocalResponseNorm for the same without that.
    """

    k: float

    def forward(self, input: Any) -> Any:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        channel = torch.arange(input.size(1), device=input.device)
        apart = (channel.unsqueeze(1) - channel).abs()
        summed = (apart <= reach) | ((channel == 0) & (channel.unsqueeze(1) > reach))
        total = torch.einsum("cj,njhw->nchw", summed.to(input.dtype), input * input)
        return input * (self.k + self.alpha / self.size * total) ** -self.beta


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)


class _Affine(Module):
    """A weight, which starts at 1, and a bias, which starts at 0; None where it is not wanted."""

    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            value = getattr(self, name, None)
            if value is not None:
                fill(value)


class LayerNorm(_Affine):
    """Normalise over the last dims: (*, *normalized_shape) -> the same shape.

    weight, bias: normalized_shape, 1 and 0.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}")


class GroupNorm(_Affine):
    """Normalise groups of channels: (N, C, *) -> the same shape.

    weight, bias: (num_channels,), 1 and 0. ValueError where the groups do not divide the channels.
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups "
                             f"({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        shape = num_channels if affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(_Affine):
    """x / sqrt(mean(x^2) + eps) over the last dims: (*, *normalized_shape) -> the same shape.

    weight: normalized_shape, 1. `eps=None`: the machine precision of the input's dtype.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: Any, eps: float | None = None,
                 elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        register_empty(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}")
