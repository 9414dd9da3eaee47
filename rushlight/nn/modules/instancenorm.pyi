# Written by `python tools/stubs.py`.
"""Instance normalisation: each channel of each sample by its own statistics."""
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.batchnorm import _LazyNormBase, _NormBase
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of (N, C, L) or (C, L) by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of (N, C, H, W) or (C, H, W) by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of (N, C, D, H, W) or (C, D, H, W) by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """InstanceNorm1d that finds `num_features` at its first call."""

    cls_to_become: type[Any]
class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """InstanceNorm2d that finds `num_features` at its first call."""

    cls_to_become: type[Any]
class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """InstanceNorm3d that finds `num_features` at its first call."""

    cls_to_become: type[Any]
class _InstanceNorm(_NormBase):
    """Normalise each channel of {images} by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

    momentum: float
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: str | int | _device | None = None, dtype: _dtype | None = None, *, bias: bool = True) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
def _unexpected_stats(names: list[str], klass: str) -> str: ...
