# Written by `python tools/stubs.py`.
"""Normalisation within a sample: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm."""
from builtins import bool as _bool, float as _float, int as _int
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.nn.parameter import Parameter
from rushlight.types import Device
from typing import Any

class CrossMapLRN2d(Module):
    """x / (k + alpha / size * sum of x^2 over neighbouring channels) ** beta, for (N, C, H, W).

    As in PyTorch the first channel, once it should leave the sum, stays in it: see
    LocalResponseNorm for the same without that.
    """

    alpha: _float
    beta: _float
    k: _float
    size: _int
    def __init__(self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: size, alpha, beta, k."""
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) -> the same shape and dtype; ValueError for other dims."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class GroupNorm(Module):
    """Normalise groups of channels: (N, C, *) -> the same shape.

    weight, bias: (num_channels,), 1 and 0; None without `affine`, and the bias without `bias`. ValueError
    where the groups do not divide the channels.
    """

    affine: _bool
    bias: Parameter
    eps: _float
    num_channels: _int
    num_groups: _int
    weight: Parameter
    def __init__(self, num_groups: _int, num_channels: _int, eps: _float = 1e-05, affine: _bool = True, device: Device = None, dtype: _dtype | None = None, *, bias: _bool = True) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: num_groups, num_channels, eps, affine, bias."""
    def forward(self, input: Any) -> Tensor:
        """(N, C, *) -> the same shape and dtype; RuntimeError for other channels than `num_channels`."""
    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LayerNorm(Module):
    """Normalise over the last dims: (*, *normalized_shape) -> the same shape.

    weight, bias: normalized_shape, 1 and 0; None without `elementwise_affine`, and the bias without `bias`.
    """

    bias: Parameter
    elementwise_affine: _bool
    eps: _float
    normalized_shape: tuple[_int, ...]
    weight: Parameter
    def __init__(self, normalized_shape: _int | Sequence[_int], eps: _float = 1e-05, elementwise_affine: _bool = True, bias: _bool = True, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: normalized_shape, eps, elementwise_affine, bias."""
    def forward(self, input: Any) -> Tensor:
        """(*, *normalized_shape) -> the same shape; RuntimeError where the last sizes differ."""
    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LocalResponseNorm(Module):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta, for (N, C, *)."""

    alpha: _float
    beta: _float
    k: _float
    size: _int
    def __init__(self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: size, alpha, beta, k."""
    def forward(self, input: Any) -> Tensor:
        """(N, C, *) -> the same shape and dtype; ValueError for fewer than 3 dims."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) over the last dims: (*, *normalized_shape) -> the same shape.

    weight: normalized_shape, 1; None without `elementwise_affine`. `eps=None`: the machine precision of the
    input's dtype.
    """

    elementwise_affine: _bool
    eps: _float | None
    normalized_shape: tuple[_int, ...]
    weight: Parameter
    def __init__(self, normalized_shape: _int | Sequence[_int], eps: _float | None = None, elementwise_affine: _bool = True, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: normalized_shape, eps, elementwise_affine."""
    def forward(self, x: Any) -> Tensor:
        """(*, *normalized_shape) -> the same shape; RuntimeError where the last sizes differ."""
    def reset_parameters(self) -> None:
        """Weight 1."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
def _shape(normalized_shape: _int | Sequence[_int]) -> tuple[_int, ...]: ...
__all__ = ['CrossMapLRN2d', 'GroupNorm', 'LayerNorm', 'LocalResponseNorm', 'RMSNorm']
