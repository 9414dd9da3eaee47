"""Batch normalisation over 1, 2 or 3 dims, and its lazy forms."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.nn import functional as F
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import fill_affine, register_empty
from rushlight.nn.parameter import UninitializedBuffer
from rushlight.types import Device

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Weight, bias and running statistics of one value for each channel.

    A class says in _check_input_dim which inputs it takes.
    """

    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _version = 2

    num_features: int
    affine: bool
    track_running_stats: bool
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        shape = num_features if affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        mean = variance = batches = None
        if track_running_stats:
            mean = torch.empty(num_features, device=device, dtype=dtype)
            variance = torch.empty(num_features, device=device, dtype=dtype)
            batches = torch.tensor(0, dtype=torch.long, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", batches)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
        if self.track_running_stats:
            statistics: Any = self  # which has the three buffers, if it tracks
            statistics.running_mean.zero_()
            statistics.running_var.fill_(1)
            statistics.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and the running statistics as before the first batch."""
        self.reset_running_stats()
        if self.affine:
            fill_affine(self)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")

    def extra_repr(self) -> str:
        """What repr() shows: num_features, eps, momentum, affine, bias, track_running_stats."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _modernise(self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]) -> None:
        if (version is None or version < 2) and self.track_running_stats:
            # Version 1 did not count batches.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                counted = self.num_batches_tracked
                known = counted is not None and not counted.is_meta
                state_dict[key] = counted if known else torch.tensor(0, dtype=torch.long)


def _options(layer: Any) -> tuple[Any, ...]:
    """What batch_norm takes beside a layer's input; a batch is counted."""
    training, momentum = layer.training, layer.momentum
    factor, tracked = 0.0 if momentum is None else momentum, layer.track_running_stats
    if training and tracked:
        batches = layer.num_batches_tracked
        if batches is not None:
            batches.add_(1)
            if momentum is None:  # a plain average over all batches
                factor = 1.0 / float(batches)
    mean, variance = layer.running_mean, layer.running_var
    by_batch = training or (mean is None and variance is None)
    if training and not tracked:
        mean = variance = None
    return mean, variance, layer.weight, layer.bias, by_batch, factor, layer.eps


class _BatchNorm(_NormBase):
    """The base of batch normalisation over 1, 2 and 3 dims: its forward."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel: (N, C, *) -> the same shape and dtype.

        In training by the batch's mean and biased variance, with which the running statistics are updated
        (the variance unbiased there); else by the running statistics, or the batch's where none are kept.
        ValueError for an input of other dims than the class takes.
        """
        self._check_input_dim(input)
        options = _options(self)  # a line of its own, as in PyTorch: exported programs tell lines
        return F.batch_norm(input, *options)


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C, L) or (N, C) over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class _SharedMoments(torch.autograd.Function):
    """Batch norm by the moments of the batches of all processes of a group."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running: tuple[Tensor | None, Tensor | None],
        eps: float,
        momentum: float,
        group: Any,
    ) -> Tensor:
        if not _is_channels_last(input):
            input = input.contiguous()
        channels, ranks = input.shape[1], torch.distributed.get_world_size(group)
        if input.numel():
            mean, invstd = torch.batch_norm_stats(input, eps)
            count = mean.new_full((1,), input.numel() // channels)
            own = torch.cat([mean, invstd, count])
        else:  # the others wait for this one
            wide = torch.float32 if input.dtype.itemsize == 2 else input.dtype
            own = torch.zeros(2 * channels + 1, dtype=wide, device=input.device)
        every = own.new_empty(ranks * own.numel())
        torch.distributed.all_gather_into_tensor(every, own, group)
        means, invstds, counts = every.view(ranks, -1).split([channels, channels, 1], 1)
        if not torch.cuda.is_current_stream_capturing():  # which may not ask what is on the device
            full = counts.squeeze(1) >= 1
            means, invstds, counts = means[full], invstds[full], counts[full]
        mean, invstd = torch.batch_norm_gather_stats_with_counts(
            input, means, invstds, *running, momentum, eps, counts.reshape(-1)
        )
        ctx.save_for_backward(input, weight, mean, invstd, counts.to(torch.int32))
        ctx.group = group
        if not input.numel():
            return torch.empty_like(input)
        return torch.batch_norm_elemt(input, weight, bias, mean, invstd, eps)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        input, weight, mean, invstd, counts = ctx.saved_tensors
        to_input, to_weight, to_bias = wanted = ctx.needs_input_grad[:3]
        if not _is_channels_last(grad):
            grad = grad.contiguous()
        found, shift, scale = None, None, None
        if input.numel():
            total, along, scale, shift = torch.batch_norm_backward_reduce(
                grad, input, mean, invstd, weight, *wanted
            )
            sums = torch.cat([total, along]) if to_input else None
        else:
            sums = mean.new_zeros(2 * input.shape[1]) if to_input else None
        if sums is not None:
            torch.distributed.all_reduce(sums, group=ctx.group)
        if sums is not None and input.numel():
            total, along = sums.chunk(2)
            scaling = None if weight is None else weight.to(mean.dtype)
            found = torch.batch_norm_backward_elemt(grad, input, mean, invstd, scaling, total, along, counts)
        scale, shift = (None if weight is None else g for g in (scale, shift))
        return found, scale if to_weight else None, shift if to_bias else None, None, None, None, None


def _is_channels_last(x: Tensor) -> bool:
    """Whether the channels of (N, C, *) lie side by side."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return x.ndim in formats and x.is_contiguous(memory_format=formats[x.ndim])


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of all processes of a group, on CUDA devices; ValueError for a batch of the
    CPU where there are process groups. Without them, and in evaluation, it is BatchNorm.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, *) -> the same shape; ValueError for a batch of the CPU where process groups are in use."""
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        mean, variance, *parameters, _, factor, eps = options = _options(self)
        distributed = torch.distributed
        if self.training and distributed.is_available() and distributed.is_initialized():
            if not input.is_cuda:
                raise ValueError("SyncBatchNorm expected input tensor to be on GPU or XPU or privateuseone")
            group = self.process_group or distributed.group.WORLD
            if distributed.get_world_size(group) > 1:
                shared: Tensor = _SharedMoments.apply(
                    input, *parameters, (mean, variance), eps, factor, group
                )
                return shared
        return F.batch_norm(input, *options)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every BatchNorm in it replaced by a SyncBatchNorm of the same state."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                if getattr(module, name) is not None:
                    setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyLayer):
    """Finds `num_features` at the first call: the size of dim 1."""

    _finds = "num_features"

    num_features: int
    affine: bool
    track_running_stats: bool
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # Nothing is allocated until the first input: num_features is 0.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self._unsized(bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def _find(self, input: Tensor) -> int:
        return int(input.shape[1])

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.num_features,))


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d that finds `num_features` at its first call, and is a BatchNorm1d from then on."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d that finds `num_features` at its first call, and is a BatchNorm2d from then on."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d that finds `num_features` at its first call, and is a BatchNorm3d from then on."""

    cls_to_become = BatchNorm3d
