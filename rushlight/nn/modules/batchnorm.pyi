# Written by `python tools/stubs.py`.
"""Batch normalisation over 1, 2 or 3 dims, and its lazy forms."""
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.normalization import _Affine
from rushlight.nn.parameter import UninitializedBuffer
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C, L), or in 1d of (N, C), over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W), or in 1d of (N, C), over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W), or in 1d of (N, C), over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d that finds `num_features` at its first call."""

    cls_to_become: type[Any]
class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d that finds `num_features` at its first call."""

    cls_to_become: type[Any]
class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d that finds `num_features` at its first call."""

    cls_to_become: type[Any]
class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of all processes of a group, which PyTorch has for GPUs only: where there
    are process groups it raises PyTorch's error, else it is BatchNorm.
    """

    process_group: Any
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, process_group: Any = None, device: str | int | _device | None = None, dtype: _dtype | None = None, *, bias: bool = True) -> None: ...
    __constants__: list[Any]
    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with every BatchNorm in it replaced by a SyncBatchNorm of the same state."""
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class _BatchNorm(_NormBase):
    """Normalise each channel of (N, C, {space}), or in 1d of (N, C), over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class _LazyNormBase(LazyLayer):
    """Finds `num_features` at the first call: the size of dim 1."""

    affine: bool
    num_batches_tracked: Any
    running_mean: UninitializedBuffer
    running_var: UninitializedBuffer
    track_running_stats: bool
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None, *, bias: bool = True) -> None: ...
class _NormBase(_Affine):
    """Weight, bias and running statistics of one value for each channel."""

    affine: bool
    eps: float
    momentum: float | None
    num_features: int
    track_running_stats: bool
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None, *, bias: bool = True) -> None: ...
    __constants__: list[Any]
    def reset_parameters(self) -> None: ...
    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
