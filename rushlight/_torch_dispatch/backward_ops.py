"""How PyTorch's backward ops are run: by the gradients of the functions that they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as torch
from rushlight._engine.core.layout import suggests
from rushlight._engine.ops.nn.convolution import convolution_gradients

F: Any = torch.nn.functional
_REDUCTIONS = ("none", "mean", "sum")


class _Inside(threading.local):
    """How many of the functions here are running in this thread: then gradients are those of the rows."""

    depth = 0


INSIDE = _Inside()


def _vjp(forward: Callable[..., Any], tensors: list[Any], grad: Any, mask: Any = None) -> tuple[Any, ...]:
    """The gradients of forward(*tensors), None where the mask says so; recorded where gradients are."""
    mask = [True] * len(tensors) if mask is None else list(mask)
    recorded = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (*tensors, grad))
    INSIDE.depth += 1
    try:
        with torch.enable_grad():
            own = [_leaf(t, need, recorded) for t, need in zip(tensors, mask, strict=True)]
            result = forward(*own)
            wanted = [t for t, need in zip(own, mask, strict=True) if need and t is not None]
            found = iter(torch.autograd.grad(result, wanted, grad, create_graph=recorded) if wanted else ())
    finally:
        INSIDE.depth -= 1
    return tuple(next(found) if need and t is not None else None for t, need in zip(own, mask, strict=True))


def _leaf(t: Any, need: bool, recorded: bool) -> Any:
    if t is None:
        return None
    if recorded and t.requires_grad:
        return t.view_as(t)
    return t.detach().requires_grad_(need)


def _convolution(
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> Any:
    dims = weight.dim() - 2
    *places, extra = (
        tuple(v) * dims if len(v) == 1 else tuple(v) for v in (stride, padding, dilation, output_padding)
    )
    how = *places, groups
    INSIDE.depth += 1
    try:
        found = convolution_gradients(
            grad_output, input, weight, how, extra if transposed else None, output_mask[:2]
        )
    finally:
        INSIDE.depth -= 1
    others = [d for d in range(grad_output.dim()) if d != 1]
    return *found, grad_output.sum(others) if output_mask[2] else None


def _centred(x: Any, dims: list[int], mean: Any, rstd: Any) -> tuple[Any, Any]:
    """x less its mean, by its deviation, and one over that; of x where gradients are recorded."""
    if torch.is_grad_enabled() and x.requires_grad:
        variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
        added = (rstd**-2 - variance).detach()
        rstd = torch.rsqrt(variance + added)
    return (x - mean) * rstd, rstd


def _through(g: Any, x: Any, dims: list[int], rstd: Any) -> Any:
    """The gradient of what was normalized, from that of x, the result."""
    return rstd * (g - g.mean(dims, keepdim=True) - x * (g * x).mean(dims, keepdim=True))


def _layer_norm(
    grad_out: Any,
    input: Any,
    normalized_shape: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Any,
) -> Any:
    first = input.dim() - len(normalized_shape)
    inner, outer = list(range(first, input.dim())), list(range(first))
    x, rstd = _centred(input, inner, mean, rstd)
    g = grad_out if weight is None else grad_out * weight
    own = (grad_out * x, grad_out)
    return (
        _through(g, x, inner, rstd).to(input.dtype) if output_mask[0] else None,
        *[
            (t.sum(outer) if outer else t) if need else None
            for t, need in zip(own, output_mask[1:], strict=True)
        ],
    )


def _group_norm(
    grad_out: Any,
    input: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Any,
) -> Any:
    by_group, by_channel = (N, group, C // group * HxW), (N, C, HxW)
    x, rstd = _centred(input.reshape(by_group), [2], mean.reshape(N, group, 1), rstd.reshape(N, group, 1))
    grad = grad_out.reshape(by_channel)
    g = (grad if weight is None else grad * weight.reshape(1, C, 1)).reshape(by_group)
    own = (grad * x.reshape(by_channel), grad)
    return (
        _through(g, x, [2], rstd).reshape(input.shape).to(input.dtype) if output_mask[0] else None,
        *[t.sum([0, 2]) if need else None for t, need in zip(own, output_mask[1:], strict=True)],
    )


def _batch_norm(
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Any,
) -> Any:
    moments = (None, None) if train else (running_mean, running_var)
    zeros = None if weight is None else torch.zeros_like(weight)
    found = _vjp(
        lambda x, w, b: F.batch_norm(x, *moments, w, b, train, 0.0, eps),
        [input, weight, zeros],
        grad_out,
        output_mask,
    )
    if weight is not None or not any(output_mask[1:]):
        return found
    others = [d for d in range(input.dim()) if d != 1]
    return found[0], None, grad_out.sum(others) if output_mask[2] else None


def _attention(
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: Any = None,
) -> Any:
    return _vjp(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask, 0.0, is_causal, scale=scale),
        [query, key, value],
        grad_out,
    )


def _avg_pool(
    grad_output: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Any:
    rest = (tuple(kernel_size), tuple(stride) or None, tuple(padding), ceil_mode)
    return _pooled(lambda x: F.avg_pool2d(x, *rest, count_include_pad, divisor_override), self, grad_output)


def _pooled(forward: Callable[..., Any], x: Any, grad: Any) -> Any:
    """The gradient of a pool, which lies in the memory format of the input."""
    order = torch.channels_last if suggests(x, torch.channels_last) else torch.contiguous_format
    return _of(forward, x, grad).contiguous(memory_format=order)


def _of(forward: Callable[..., Any], x: Any, grad: Any) -> Any:
    return _vjp(forward, [x], grad)[0]


def _loss(call: Callable[..., Any], option: str | None = None) -> Callable[..., Any]:
    def run(grad_output: Any, self: Any, target: Any, reduction: int, **given: Any) -> Any:
        named = {} if option is None else {option: given[option]}
        return _of(lambda x: call(x, target, reduction=_REDUCTIONS[reduction], **named), self, grad_output)

    return run


def _nll_loss(
    grad_output: Any,
    self: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    given: dict[str, Any] = {"ignore_index": ignore_index, "reduction": _REDUCTIONS[reduction]}
    return _of(lambda x: F.nll_loss(x, target, weight, **given), self, grad_output)


def upsampled(mode: str) -> Callable[..., Any]:
    """upsample_nearest2d and its relatives, by interpolate."""

    def run(self: Any, output_size: Any, align_corners: Any = None, **scales: Any) -> Any:
        given = [scale for scale in scales.values() if scale is not None]
        where: dict[str, Any] = {"scale_factor": given} if given else {"size": tuple(output_size)}
        return F.interpolate(self, mode=mode, align_corners=align_corners, **where)

    return run


def _upsample(mode: str) -> Callable[..., Any]:
    forward = upsampled(mode)

    def run(grad_output: Any, output_size: Any, input_size: Any, **given: Any) -> Any:
        like = grad_output.detach().new_zeros(tuple(input_size))
        return _of(lambda x: forward(x, output_size, **given), like, grad_output)

    return run


def _elu(
    grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any
) -> Any:
    x = self_or_result
    below = (
        grad_output
        * input_scale
        * (x + alpha * scale if is_result else alpha * scale * (x * input_scale).exp())
    )
    return torch.where(x <= 0, below, grad_output * scale)


def _pointwise(call: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function of `self` and options."""

    def run(grad_output: Any, self: Any, *args: Any, **options: Any) -> Any:
        return _of(lambda x: call(x, *args, **options), self, grad_output)

    return run


def _leaky_relu(grad_output: Any, self: Any, negative_slope: Any, self_is_result: bool) -> Any:
    return torch.where(self > 0, grad_output, grad_output * negative_slope)


def _log_sigmoid(grad_output: Any, self: Any, buffer: Any) -> Any:
    return grad_output * torch.sigmoid(-self)


def _unfold(grad_in: Any, input_sizes: Any, dim: int, size: int, step: int) -> Any:
    """Each place of a tensor gets the sum of all windows' gradients that saw it."""
    found = grad_in.new_zeros(input_sizes)
    if not found.dim():
        return grad_in.reshape(())
    windows = grad_in.shape[dim]
    for place in range(size):
        seen = found.narrow(dim, place, (windows - 1) * step + 1).movedim(dim, 0)[::step].movedim(0, dim)
        seen += grad_in.select(-1, place)
    return found


RUN: dict[str, Callable[..., Any]] = {
    "unfold_backward": _unfold,
    "convolution_backward": _convolution,
    "native_layer_norm_backward": _layer_norm,
    "native_group_norm_backward": _group_norm,
    "native_batch_norm_backward": _batch_norm,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention,
    "avg_pool2d_backward": _avg_pool,
    "_adaptive_avg_pool2d_backward": lambda grad_output, self: _pooled(
        partial(F.adaptive_avg_pool2d, output_size=tuple(grad_output.shape[-2:])), self, grad_output
    ),
    "nll_loss_backward": _nll_loss,
    "mse_loss_backward": _loss(F.mse_loss),
    "huber_loss_backward": _loss(F.huber_loss, "delta"),
    "smooth_l1_loss_backward": _loss(F.smooth_l1_loss, "beta"),
    "upsample_nearest2d_backward": _upsample("nearest"),
    "upsample_bilinear2d_backward": _upsample("bilinear"),
    "elu_backward": _elu,
    "leaky_relu_backward": _leaky_relu,
    "log_sigmoid_backward": _log_sigmoid,
    "gelu_backward": _pointwise(F.gelu),
    "silu_backward": _pointwise(F.silu),
    "mish_backward": _pointwise(F.mish),
    "hardswish_backward": _pointwise(F.hardswish),
    "hardsigmoid_backward": _pointwise(F.hardsigmoid),
    "hardtanh_backward": _pointwise(F.hardtanh),
    "softplus_backward": _pointwise(F.softplus),
    "glu_backward": _pointwise(F.glu),
}
