# Written by `python tools/stubs.py`.
"""Normalisation within a sample: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm."""
from collections.abc import Sequence
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class CrossMapLRN2d(FunctionModule):
    """x / (k + alpha / size * sum of x^2 over neighbouring channels) ** beta, for (N, C, H, W).

    As in PyTorch the first channel, once it should leave the sum, stays in it: see
    LocalResponseNorm for the same without that.
    """

    alpha: float
    beta: float
    k: float
    size: int
    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class GroupNorm(_Affine):
    """Normalise groups of channels: (N, C, *) -> the same shape.

    weight, bias: (num_channels,), 1 and 0. ValueError where the groups do not divide the channels.
    """

    affine: bool
    eps: float
    num_channels: int
    num_groups: int
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None, *, bias: bool = True) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LayerNorm(_Affine):
    """Normalise over the last dims: (*, *normalized_shape) -> the same shape.

    weight, bias: normalized_shape, 1 and 0.
    """

    elementwise_affine: bool
    eps: float
    normalized_shape: int | Sequence[int]
    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LocalResponseNorm(FunctionModule):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta."""

    alpha: float
    beta: float
    k: float
    size: int
    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class RMSNorm(_Affine):
    """x / sqrt(mean(x^2) + eps) over the last dims: (*, *normalized_shape) -> the same shape.

    weight: normalized_shape, 1. `eps=None`: the machine precision of the input's dtype.
    """

    elementwise_affine: bool
    eps: float | None
    normalized_shape: int | Sequence[int]
    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, x: Tensor) -> Tensor: ...
    def __call__(self, x: Tensor) -> Tensor: ...
class _Affine(FunctionModule):
    """A weight, which starts at 1, and a bias, which starts at 0; None where it is not wanted."""

    def reset_parameters(self) -> None: ...
def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]: ...
