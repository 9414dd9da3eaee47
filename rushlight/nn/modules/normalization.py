"""Normalisation within a sample: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm."""

from __future__ import annotations

import numbers
from typing import Any

import rushlight as torch
from rushlight.nn import init
from rushlight.nn.modules.function_module import FunctionModule, declared
from rushlight.nn.modules.utils import register_empty


class CrossMapLRN2d(FunctionModule, function=None, size=int, alpha=1e-4, beta=0.75, k=1):
    """x / (k + alpha / size * sum of x^2 over neighbouring channels) ** beta, for (N, C, H, W).

    As in PyTorch the first channel, once it should leave the sum, stays in it: see
    LocalResponseNorm for the same without that.
    """

    k: float
    _shown = "size, alpha=, beta=, k="

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


class _Affine(FunctionModule, function=None):
    """A weight, which starts at 1, and a bias, which starts at 0; None where it is not wanted."""

    _handed = ("device", "dtype", "bias")

    def _make(self, shape: Any, device: Any, dtype: Any, bias: bool) -> None:
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            value = getattr(self, name, None)
            if value is not None:
                fill(value)


class LayerNorm(
    _Affine,
    function="layer_norm",
    normalized_shape=Any,
    eps=1e-5,
    elementwise_affine=True,
    bias=True,
    device=None,
    dtype=None,
):
    """Normalise over the last dims: (*, *normalized_shape) -> the same shape.

    weight, bias: normalized_shape, 1 and 0.
    """

    _passed = ("normalized_shape", "weight", "bias", "eps")
    _shown = "normalized_shape, eps=, elementwise_affine=, bias="

    def _post_init(self, bias: bool, device: Any, dtype: Any) -> None:
        self.normalized_shape = _shape(self.normalized_shape)
        self._make(self.normalized_shape if self.elementwise_affine else None, device, dtype, bias)


class GroupNorm(
    _Affine,
    function="group_norm",
    num_groups=int,
    num_channels=int,
    eps=1e-5,
    affine=True,
    device=None,
    dtype=None,
    bias=True,
):
    """Normalise groups of channels: (N, C, *) -> the same shape.

    weight, bias: (num_channels,), 1 and 0. ValueError where the groups do not divide the channels.
    """

    _passed = ("num_groups", "weight", "bias", "eps")
    _keyword_only = ("bias",)
    _shown = "num_groups, num_channels, eps=, affine=, bias="

    def _post_init(self, device: Any, dtype: Any, bias: bool) -> None:
        if self.num_channels % self.num_groups != 0:
            raise ValueError(
                f"num_channels ({self.num_channels}) must be divisible by num_groups ({self.num_groups})"
            )
        self._make(self.num_channels if self.affine else None, device, dtype, bias)


class RMSNorm(
    _Affine,
    function="rms_norm",
    inputs="x",
    normalized_shape=Any,
    eps=None,
    elementwise_affine=True,
    device=None,
    dtype=None,
):
    """x / sqrt(mean(x^2) + eps) over the last dims: (*, *normalized_shape) -> the same shape.

    weight: normalized_shape, 1. `eps=None`: the machine precision of the input's dtype.
    """

    eps: float | None
    _passed = ("normalized_shape", "weight", "eps")
    _shown = "normalized_shape, eps=, elementwise_affine="

    def _post_init(self, device: Any, dtype: Any) -> None:
        self.normalized_shape = _shape(self.normalized_shape)
        register_empty(self, device, dtype, weight=self.normalized_shape if self.elementwise_affine else None)
        self.reset_parameters()


globals().update(declared(__name__))
