"""Normalisation within a sample: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight.nn import functional as F, init
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import fill_affine, register_empty
from rushlight.types import Device

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta, for (N, C, *)."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, *) -> the same shape and dtype; ValueError for fewer than 3 dims."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """What repr() shows: size, alpha, beta, k."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """x / (k + alpha / size * sum of x^2 over neighbouring channels) ** beta, for (N, C, H, W).

    As in PyTorch the first channel, once it should leave the sum, stays in it: see
    LocalResponseNorm for the same without that.
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W) -> the same shape and dtype; ValueError for other dims."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        channel = torch.arange(input.size(1), device=input.device)
        apart = (channel.unsqueeze(1) - channel).abs()
        summed = (apart <= reach) | ((channel == 0) & (channel.unsqueeze(1) > reach))
        total = torch.einsum("cj,njhw->nchw", summed.to(input.dtype), input * input)
        return input * (self.k + self.alpha / self.size * total) ** -self.beta

    def extra_repr(self) -> str:
        """What repr() shows: size, alpha, beta, k."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """Normalise over the last dims: (*, *normalized_shape) -> the same shape.

    weight, bias: normalized_shape, 1 and 0; None without `elementwise_affine`, and the bias without `bias`.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    normalized_shape: tuple[int, ...]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        fill_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """(*, *normalized_shape) -> the same shape; RuntimeError where the last sizes differ."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """What repr() shows: normalized_shape, eps, elementwise_affine, bias."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalise groups of channels: (N, C, *) -> the same shape.

    weight, bias: (num_channels,), 1 and 0; None without `affine`, and the bias without `bias`. ValueError
    where the groups do not divide the channels.
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        shape = num_channels if affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        fill_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, *) -> the same shape and dtype; RuntimeError for other channels than `num_channels`."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """What repr() shows: num_groups, num_channels, eps, affine, bias."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) over the last dims: (*, *normalized_shape) -> the same shape.

    weight: normalized_shape, 1; None without `elementwise_affine`. `eps=None`: the machine precision of the
    input's dtype.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    normalized_shape: tuple[int, ...]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        register_empty(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(*, *normalized_shape) -> the same shape; RuntimeError where the last sizes differ."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """What repr() shows: normalized_shape, eps, elementwise_affine."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(normalized_shape, (int, numbers.Integral)):
        return (int(normalized_shape),)
    return tuple(normalized_shape)
