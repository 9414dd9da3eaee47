# Written by `python tools/stubs.py`.
"""Batch normalisation over 1, 2 or 3 dims, and its lazy forms."""
from builtins import bool as _bool, float as _float, int as _int, type as _type
from rushlight import Tensor
from rushlight._engine.autograd.function import Function
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.nn.parameter import Parameter, UninitializedBuffer
from rushlight.types import Device
from typing import Any

class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C, L) or (N, C) over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d that finds `num_features` at its first call, and is a BatchNorm1d from then on."""

    cls_to_become: _type[Any]
class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d that finds `num_features` at its first call, and is a BatchNorm2d from then on."""

    cls_to_become: _type[Any]
class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d that finds `num_features` at its first call, and is a BatchNorm3d from then on."""

    cls_to_become: _type[Any]
class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of all processes of a group, on CUDA devices; ValueError for a batch of the
    CPU where there are process groups. Without them, and in evaluation, it is BatchNorm.
    """

    process_group: Any
    def __init__(self, num_features: _int, eps: _float = 1e-05, momentum: _float | None = 0.1, affine: _bool = True, track_running_stats: _bool = True, process_group: Any = None, device: Device = None, dtype: _dtype | None = None, *, bias: _bool = True) -> None: ...
    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every BatchNorm in it replaced by a SyncBatchNorm of the same state."""
    def forward(self, input: Any) -> Tensor:
        """(N, C, *) -> the same shape; ValueError for a batch of the CPU where process groups are in use."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _BatchNorm(_NormBase):
    """The base of batch normalisation over 1, 2 and 3 dims: its forward."""

    def forward(self, input: Any) -> Tensor:
        """Normalise each channel: (N, C, *) -> the same shape and dtype.

        In training by the batch's mean and biased variance, with which the running statistics are updated
        (the variance unbiased there); else by the running statistics, or the batch's where none are kept.
        ValueError for an input of other dims than the class takes.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _LazyNormBase(LazyLayer):
    """Finds `num_features` at the first call: the size of dim 1."""

    affine: _bool
    num_batches_tracked: Tensor | None
    num_features: _int
    running_mean: Tensor | None
    running_var: Tensor | None
    track_running_stats: _bool
    def __init__(self, eps: _float = 1e-05, momentum: _float | None = 0.1, affine: _bool = True, track_running_stats: _bool = True, device: Device = None, dtype: _dtype | None = None, *, bias: _bool = True) -> None: ...
class _NormBase(Module):
    """Weight, bias and running statistics of one value for each channel.

    A class says in _check_input_dim which inputs it takes.
    """

    affine: _bool
    bias: Parameter
    eps: _float
    momentum: _float | None
    num_batches_tracked: Tensor | None
    num_features: _int
    running_mean: Tensor | None
    running_var: Tensor | None
    track_running_stats: _bool
    weight: Parameter
    def __init__(self, num_features: _int, eps: _float = 1e-05, momentum: _float | None = 0.1, affine: _bool = True, track_running_stats: _bool = True, device: Device = None, dtype: _dtype | None = None, *, bias: _bool = True) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: num_features, eps, momentum, affine, bias, track_running_stats."""
    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and the running statistics as before the first batch."""
    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
class _SharedMoments(Function):
    """Batch norm by the moments of the batches of all processes of a group."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any: ...
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor | None, bias: Tensor | None, running: tuple[Tensor | None, Tensor | None], eps: _float, momentum: _float, group: Any) -> Tensor: ...
def _is_channels_last(x: Tensor) -> _bool:
    """Whether the channels of (N, C, *) lie side by side."""
def _options(layer: Any) -> tuple[Any, ...]:
    """What batch_norm takes beside a layer's input; a batch is counted."""
__all__ = ['BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'LazyBatchNorm1d', 'LazyBatchNorm2d',
    'LazyBatchNorm3d', 'SyncBatchNorm']
