"""Normalisation of groups of channels, and of each channel of each sample."""

from __future__ import annotations

import math
from typing import Any

from rushlight._engine.core.layout import has_channels_last
from rushlight._engine.ops.creation.copying import in_format
from rushlight._engine.ops.nn.norm_parameters import check_channels, check_dtypes, refuse_running_gradients
from rushlight._engine.ops.nn.normalization import (
    _batch_norm,
    _batch_norm_input_gradient,
    _by_channel,
    _centered_affine,
    _column_sums,
    _mixed,
    _row_sums,
    _squares_around,
    _update_running,
)
from rushlight._engine.ops.reductions.statistics import distances
from rushlight._engine.ops.table import composite


@composite(where=("torch.group_norm",), planned=True)
def torch_group_norm(
    input,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
):
    """nn.functional.group_norm."""
    return group_norm(input, num_groups, weight, bias, eps)


@composite(where=("nn.functional",), planned=True)
def group_norm(
    input,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
):
    """layer_norm over groups of channels: (N, C, *) in num_groups groups (arXiv:1803.08494); weight, bias:
    (C,) or None.

    RuntimeError where the groups do not divide the channels.
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got "
            f"input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    if input.shape[0] * (channels // num_groups) * math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(input.shape)}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and (p.ndim != 1 or p.shape[0] != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                f"{name} of shape {list(p.shape)} and input of shape {list(input.shape)}"
            )
    check_dtypes(input, weight, bias)
    sizes = input.shape[0], channels, math.prod(input.shape[2:])
    return native_group_norm(input, weight, bias, *sizes, num_groups, eps)[0]


@composite(where=("torch",))
def native_group_norm(
    input,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
):
    """group_norm of (N, C, *), HxW elements a channel; the groups' means, and 1 / sqrt(variances + eps)."""
    if input.dtype.itemsize == 2:  # computed in float32, and rounded once
        like = input if weight is None else weight
        found, *moments = native_group_norm(input.float(), weight, bias, N, C, HxW, group, eps)
        return found.to(input.dtype), *[t.to(like.dtype) for t in moments]
    found, center, rstd = _by_groups(input, weight, bias, group, eps)
    return in_format(found, input), center, rstd


@composite(name="_by_groups", where=("aten",), node="native_group_norm", unread=(0,), planned=True)
def _by_groups(input, weight: Tensor | None, bias: Tensor | None, group: int, eps: float):
    """(group_norm of (N, C, *), the groups' means, 1 / sqrt(variances + eps)): these are (N, groups)."""
    last = input.numel() and has_channels_last(input.shape, input.stride())
    input = input if last else input.contiguous()
    n, x = input.shape[0], _grouped(input, group)
    each, size = x.shape[2:]
    if last:
        center, total = _group_distances(input, group)
    else:
        center, total = distances(x.reshape(n, group, each * size), (2,))
    rstd = (total / (each * size) + eps).rsqrt()
    scale, shape = rstd.unsqueeze(-1), (1, group, each, 1)
    scale = scale if weight is None else scale * weight.reshape(shape)
    shift = scale.new_zeros(1) if bias is None else bias.reshape(shape)
    center = center.unsqueeze(-1)
    if last:
        flat, times = _by_channel(input, n)
        own = [_along_rows(t, n, group, each, times) for t in (center, scale, shift)]
        found = _centered_affine(flat, *own)
        found = found.reshape(n, *input.shape[2:], group * each).movedim(-1, 1)
    else:
        found = _centered_affine(x, center, scale, shift).reshape(input.shape)
    return found, center.reshape(n, group), rstd.reshape(n, group)


def _along_rows(x: Any, n: int, group: int, each: int, times: int) -> Any:
    """What repeats along the rows of `_by_channel`, of what is (*, groups, channels or 1, 1)."""
    return x.expand(n, group, each, 1).reshape(n, 1, group * each).repeat(1, 1, times)


def _group_distances(input: Any, group: int) -> tuple[Any, Any]:
    """(the groups' means, the sums of squared distances from them), (N, groups, 1), in channels last."""
    flat, times = _by_channel(input, input.shape[0])
    center = _grouped_sums(flat.sum(1), times, group) / (input.numel() // (input.shape[0] * group))
    around = _at_channels(center, input.shape[1], times)
    return center, _grouped_sums(_squares_around(flat, around), times, group)


def _grouped_sums(sums: Any, times: int, group: int) -> Any:
    """(N, groups, 1) of (N, times * channels)."""
    each = sums.reshape(sums.shape[0], times, -1).sum(1)
    return each.reshape(sums.shape[0], group, -1).sum(2, True)


def _at_channels(center: Any, channels: int, times: int) -> Any:
    """(N, times * channels) of (N, groups, 1): what belongs to each channel."""
    n, group = center.shape[:2]
    return center.expand(n, group, channels // group).reshape(n, channels).repeat(1, times)


def _grouped(x: Any, group: int) -> Any:
    """(N, C, *) as (N, groups, channels, places)."""
    return x.reshape(x.shape[0], group, x.shape[1] // group, math.prod(x.shape[2:]))


@_by_groups.gradient
def _by_groups_gradient(s: Any, grad: Any, grad_center: Any, grad_rstd: Any) -> Any:
    _, center, rstd = s.result
    to_input = to_weight = to_bias = None
    if grad is not None:
        wanted = s.needs("input"), s.needs("weight"), s.needs("bias")
        found = iter(_by_groups_backward(grad, s.input, center, rstd, s.weight, *wanted))
        to_input, to_weight, to_bias = (next(found) if each else None for each in wanted)
    if grad_center is not None or grad_rstd is not None:  # of gradients of gradients, and in forward mode
        x = _grouped(s.input, s.group)
        of_center, of_rstd = (0 if g is None else g[..., None, None] for g in (grad_center, grad_rstd))
        center, rstd = (t.reshape(*t.shape, 1, 1) for t in (center, rstd))
        more = (of_center + of_rstd * rstd**3 * (center - x)) / (x.shape[2] * x.shape[3])
        more = more.reshape(s.shape("input"))
        to_input = more if to_input is None else to_input + more
    return to_input, to_weight, to_bias


@composite(name="_by_groups_backward", where=("aten",), planned=True)
def _by_groups_backward(
    grad, input, center, rstd, weight: Tensor | None, of_input: bool, of_weight: bool, of_bias: bool
):
    """The gradients of `_by_groups` that are wanted, one after the other."""
    shape, (n, groups) = input.shape, center.shape
    center, rstd = (t.reshape(n, groups, 1, 1) for t in (center, rstd))
    last = input.numel() and all([has_channels_last(shape, t.stride()) for t in (grad, input)])
    x, given = _grouped(input, groups), _grouped(grad, groups)
    each, size = x.shape[2:]
    if last:
        sums = _sample_sums(grad, input, center.squeeze(-1))
    else:
        given, x = given.contiguous(), x.contiguous()
        sums = _row_sums(given, x, center.expand(n, groups, each, 1))
    total, along = (t.reshape(n, groups, each, 1) for t in sums)
    along, found = along * rstd, []
    if of_input:
        slopes = weight if weight is None else weight.reshape(1, groups, each, 1)
        sums = [t if slopes is None else t * slopes for t in (along, total)]
        slope, shift = (t.sum(2, True) * rstd / -(each * size) for t in sums)
        factors = center, rstd if slopes is None else rstd * slopes, slope * rstd, shift
        if last:
            (given, times), (x, _) = _by_channel(grad, n), _by_channel(input, n)
            own = [_along_rows(t, n, groups, each, times) for t in factors]
            slopes = _batch_norm_input_gradient(given, x, *own)
            found.append(slopes.reshape(n, *shape[2:], -1).movedim(-1, 1))
        else:
            found.append(_batch_norm_input_gradient(given, x, *factors).reshape(shape))
    if of_weight:
        found.append(along.sum(0).reshape(-1))
    if of_bias:
        found.append(total.sum(0).reshape(-1))
    return tuple(found)


def _sample_sums(grad: Any, x: Any, center: Any) -> list[Any]:
    """`_channel_sums` of each sample by itself, in channels last, around (N, groups, 1): (N, channels)."""
    n, channels = x.shape[:2]
    (given, times), (x, _) = _by_channel(grad, n), _by_channel(x, n)
    sums = _column_sums(given, x, _at_channels(center, channels, times))
    return [t.reshape(n, times, channels).sum(1) for t in sums]


@composite(where=("nn.functional",), planned=True)
def instance_norm(
    input,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
):
    """Normalise each channel of each sample of (N, C, *) or (C, *) over space (arXiv:1607.08022); weight,
    bias: (C,) or None.

    use_input_stats=False: by the running moments (C,), which are else updated by `momentum`, where there are
    any.
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    n, c = input.shape[:2]
    params = running_mean, running_var, weight, bias
    check_channels(n, c, use_input_stats, *params)
    check_dtypes(input, weight, bias)
    refuse_running_gradients(running_mean, running_var)
    wide = input.float() if _mixed(input, *params) else input
    return _instance_norm(wide, *params, use_input_stats, momentum, eps).to(input.dtype)


def _instance_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> Any:
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    n, c = input.shape[:2]
    size = math.prod(input.shape[2:])
    rows = input.reshape(n * c, size)
    found, center, _ = _by_groups(input.reshape(n, c, size), weight, bias, c, eps)
    if running_mean is not None or running_var is not None:
        center = center.reshape(n * c, 1)
        spread = (rows - center).detach().square().mean(-1)
        _update_running(
            rows.shape[1],
            center.reshape(n, c).mean(0),
            spread.reshape(n, c).mean(0),
            running_mean,
            running_var,
            momentum,
        )
    return found.reshape(input.shape)
