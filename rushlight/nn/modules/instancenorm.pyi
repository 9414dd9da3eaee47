# Written by `python tools/stubs.py`.
"""Instance normalisation: each channel of each sample by its own statistics."""
from builtins import bool as _bool, float as _float, int as _int, type as _type
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.batchnorm import _LazyNormBase, _NormBase
from rushlight.nn.modules.module import _Forward, _P, _R
from rushlight.types import Device
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
    """InstanceNorm1d that finds `num_features` at its first call, and is an InstanceNorm1d from then on."""

    cls_to_become: _type[Any]
class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """InstanceNorm2d that finds `num_features` at its first call, and is an InstanceNorm2d from then on."""

    cls_to_become: _type[Any]
class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """InstanceNorm3d that finds `num_features` at its first call, and is an InstanceNorm3d from then on."""

    cls_to_become: _type[Any]
class _InstanceNorm(_NormBase):
    """The base of instance normalisation over 1, 2 and 3 dims: its defaults and its forward."""

    def __init__(self, num_features: _int, eps: _float = 1e-05, momentum: _float = 0.1, affine: _bool = False, track_running_stats: _bool = False, device: Device = None, dtype: _dtype | None = None, *, bias: _bool = True) -> None: ...
    def forward(self, input: Any) -> Tensor: ...
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
def _unexpected_stats(names: list[str], klass: str) -> str: ...
__all__ = ['InstanceNorm1d', 'InstanceNorm2d', 'InstanceNorm3d', 'LazyInstanceNorm1d', 'LazyInstanceNorm2d',
    'LazyInstanceNorm3d']
