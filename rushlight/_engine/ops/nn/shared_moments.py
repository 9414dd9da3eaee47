"""Batch norm over the batches of several processes, in the parts that SyncBatchNorm puts together.

Each process has moments of its own batch; those of all batches follow from them and from how large each was.
PyTorch has these ops for GPUs only.
"""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.dtype import float32
from rushlight._engine.ops.creation.filled import full
from rushlight._engine.ops.nn.normalization import _per_channel
from rushlight._engine.ops.table import composite


def _wide(x: Any) -> Any:
    """A tensor in the dtype that its moments have: two-byte floats' are float32."""
    return x.to(float32) if x.dtype.itemsize == 2 else x


def _dims(x: Any) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _channels(x: Any, like: Any) -> Any:
    """Values of the channels, beside a batch."""
    return x.reshape(1, -1, *[1] * (like.ndim - 2))


@composite(where=("torch",), out=True)
def batch_norm_stats(input, eps: float):
    """(the means of the channels of (N, C, *), 1 / sqrt(their variances + eps)); float32 of two-byte ones."""
    wide, dims = _wide(input), _dims(input)
    center = wide.mean(dims)
    spread = (wide - _channels(center, wide)).square().mean(dims)
    return center, (spread + eps).rsqrt()


@composite(where=("torch",), out=True)
def batch_norm_gather_stats_with_counts(
    input,
    mean,
    invstd,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts,
):
    """(means, 1 / sqrt(variances + eps)) of all batches, from those of each, (batches, C), and their sizes.

    running_mean, running_var: (C,), moved by `momentum`, the variance unbiased.
    """
    mean, invstd = _wide(mean), _wide(invstd)
    sizes = counts.to(mean.dtype).reshape(-1, 1)
    total = sizes.sum()
    center = (mean * sizes).sum(0) / total
    apart = invstd.reciprocal().square() - eps + (mean - center).square()
    spread = (apart * sizes).sum(0)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(center.to(running_mean.dtype), alpha=momentum)
    if running_var is not None:
        unbiased = spread / (total - 1)
        running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    return center, (spread / total + eps).rsqrt()


@composite(where=("torch",), out=True)
def batch_norm_gather_stats(
    input,
    mean,
    invstd,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
):
    """batch_norm_gather_stats_with_counts of batches that are all of the same size."""
    counts = full((mean.shape[0],), count, dtype=mean.dtype, device=mean.device)
    return batch_norm_gather_stats_with_counts(
        input, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


@composite(where=("torch",), out=True)
def batch_norm_elemt(input, weight: Tensor | None, bias: Tensor | None, mean, invstd, eps: float):
    """(input - mean) * invstd * weight + bias, of the channels of (N, C, *)."""
    wide = _wide(input)
    found = (wide - _channels(mean, wide)) * _channels(invstd, wide)
    return _per_channel(found, weight, bias).to(input.dtype)


@composite(where=("torch",))
def batch_norm_backward_reduce(
    grad_out, input, mean, invstd, weight: Tensor | None, input_g: bool, weight_g: bool, bias_g: bool
):
    """(sums of grad_out, sums of grad_out * (input - mean), the gradients of weight and bias) of this batch;
    None for what is not asked for: input_g the first two, weight_g, bias_g.
    """
    grad, wide, dims = _wide(grad_out), _wide(input), _dims(input)
    total = grad.sum(dims)
    along = (grad * (wide - _channels(mean, wide))).sum(dims)
    kind = grad.dtype if weight is None else weight.dtype
    return (
        total if input_g else None,
        along if input_g else None,
        (along * invstd).to(kind) if weight_g else None,
        total.to(kind) if bias_g else None,
    )


@composite(where=("torch",), out=True)
def batch_norm_backward_elemt(
    grad_out, input, mean, invstd, weight: Tensor | None, sum_dy, sum_dy_xmu, count
):
    """The gradient of a batch, from the sums of all batches and their sizes."""
    grad, wide = _wide(grad_out), _wide(input)
    total = count.sum().to(grad.dtype)
    scale = invstd if weight is None else invstd * weight
    slope = invstd.square() * sum_dy_xmu / total
    apart = (wide - _channels(mean, wide)) * _channels(slope, wide)
    found = (grad - _channels(sum_dy / total, wide) - apart) * _channels(scale, wide)
    return found.to(input.dtype)
