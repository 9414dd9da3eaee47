"""Normalisation: layer, rms, batch; fused where they go row by row."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.dtype import opmath
from rushlight._engine.core.layout import has_channels_last
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.nn.norm_parameters import (
    check_channels,
    check_dtypes,
    check_shape,
    refuse_running_gradients,
)
from rushlight._engine.ops.reductions.statistics import column_squares, distances, in_columns
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.row_expressions import extent, reduce_
from rushlight._engine.ops.row_kernels import BIG, SUMMED, RowKernel, launch
from rushlight._engine.ops.table import ROWS, composite, pointwise


@pointwise(where=(), inplace=False, not_promoting=("center", "scale", "slope", "shift"))
def _batch_norm_input_gradient(
    given: Expr, input: Expr, center: Expr, scale: Expr, slope: Expr, shift: Expr
) -> Expr:
    """given * scale + (input - center) * slope + shift: the gradient of batch_norm by its own moments, of the
    dtype of given and input.
    """
    return given * scale + ((input - center) * slope + shift)


@pointwise(where=(), inplace=False, not_promoting=("center", "scale", "shift"))
def _centered_affine(input: Expr, center: Expr, scale: Expr, shift: Expr) -> Expr:
    """(input - center) * scale + shift: batch_norm by given moments, of the input's dtype."""
    return (input - center) * scale + shift


@composite(where=("torch.layer_norm",), planned=True)
def torch_layer_norm(
    input,
    normalized_shape: Ints,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
):
    """nn.functional.layer_norm."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


# Channels that fill a vector; elements up to which short rows of a sample are put together.
_FULL, _LONG = 16, 1 << 9
_X, _G, _EPS = symbol("x"), symbol("g"), symbol("eps")
_MEAN, _RSTD, _WEIGHT, _BIAS = symbol("mean"), symbol("rstd"), symbol("weight"), symbol("bias")


def _normalised(*given: str) -> tuple[Any, ...]:
    center = reduce_("add", _X) / extent()
    apart = _X - center
    rstd = m.rsqrt(reduce_("add", apart * apart) / extent() + _EPS)
    found = apart * rstd * _WEIGHT if "weight" in given else apart * rstd
    return found + _BIAS if "bias" in given else found, center, rstd


def _input_gradient(*given: str) -> tuple[Any, ...]:
    g, hat = _G * _WEIGHT if given else _G, (_X - _MEAN) * _RSTD
    return (_RSTD * (g - reduce_("add", g) / extent() - hat * reduce_("add", g * hat) / extent()),)


_forward: dict[tuple[str, ...], RowKernel] = {
    given: RowKernel(partial(_normalised, *given), ("x", "eps", *given), ("eps",))
    for given in ((), ("weight",), ("bias",), ("weight", "bias"))
}
_backward: dict[tuple[str, ...], RowKernel] = {
    given: RowKernel(partial(_input_gradient, *given), ("g", "x", "mean", "rstd", *given), ("mean", "rstd"))
    for given in ((), ("weight",))
}

_SUMS = RowKernel(
    lambda: (reduce_("add", _G), reduce_("add", _G * (_X - _MEAN))), ("g", "x", "mean"), ("mean",), wide=True
)


@composite(
    name="_normalize_rows", where=("aten",), node="native_layer_norm", unread=(0,), planned_gradient=True
)
def _normalize_rows(input, eps: float, weight: Tensor | None = None, bias: Tensor | None = None):
    """(x - mean) / sqrt(var + eps) * weight + bias along the last dim, with mean and 1 / sqrt(var + eps)."""
    center = input.mean(-1, True)
    apart = input - center
    rstd = (apart * apart).mean(-1, True).add(eps).rsqrt()
    found = apart * rstd if weight is None else apart * rstd * weight
    return found if bias is None else found + bias, center, rstd


@_normalize_rows.kernel
@resolved
def _normalize_rows_kernel(a: Any, eps: float, weight: Any, bias: Any) -> Any:
    more = {name: p for name, p in (("weight", weight), ("bias", bias)) if p is not None}
    eps_array = np.array([eps], np.float32 if a.itemsize <= 2 else a.dtype)
    eps_of_row = eps_array.reshape(())
    forward = _forward[*more,]
    kernel = forward.compiled(a, eps_array, *more.values())
    if kernel is NotImplemented or not a.ndim or not a.size:
        return NotImplemented
    rows_lie_as_given = a.flags.c_contiguous

    def run(a: Any, *more: Any) -> Any:
        if rows_lie_as_given:
            hat, center, rstd = launch(kernel, (a, eps_of_row, *more))
        else:
            hat, center, rstd = forward(-1, a, eps_array, *more)
        return hat, np.asarray(center)[..., None], np.asarray(rstd)[..., None]

    return run


@_normalize_rows.gradient
def _normalize_rows_gradient(s: Any, grad: Any, grad_mean: Any, grad_rstd: Any) -> Any:
    x, (_, center, rstd) = s.input, s.result
    to_input = to_weight = to_bias = None
    if grad is not None:
        to_input = _rows_backward(grad, x, center, rstd, s.weight) if s.needs("input") else None
        shape = next((s.shape(name) for name in ("weight", "bias") if s.needs(name)), None)
        if shape is not None:
            to_weight, to_bias = _affine_gradients(grad, x, center, rstd, shape)
    if grad_mean is not None or grad_rstd is not None:  # of gradients of gradients, and in forward mode
        of_mean, of_rstd = (0 if g is None else g for g in (grad_mean, grad_rstd))
        more = (of_mean + of_rstd * rstd**3 * (center - x)) / x.shape[-1]
        to_input = more if to_input is None else to_input + more
    return to_input, to_weight, to_bias


@composite(name="_rows_backward", where=("aten",))
def _rows_backward(grad, input, center, rstd, weight: Tensor | None = None):
    """rstd * (g - mean(g) - xhat * mean(g * xhat)) along the last dim, g = grad * weight."""
    hat = (input - center) * rstd
    g = grad if weight is None else grad * weight
    return rstd * (g - g.mean(-1, True) - hat * (g * hat).mean(-1, True))


@_rows_backward.kernel
def _rows_backward_kernel(g: Any, x: Any, center: Any, rstd: Any, weight: Any) -> Any:
    return _backward[() if weight is None else ("weight",)](
        -1, g, x, center, rstd, *(() if weight is None else (weight,))
    )


@composite(name="_affine_gradients", where=("aten",))
def _affine_gradients(grad, input, center, rstd, shape: Ints):
    """The sums to a shape of grad * xhat and of grad: the gradients of weight and bias.

    They are added up row by row, wherever these lie, as the kernel does it.
    """
    grad, input = grad.contiguous(), input.contiguous()
    return (grad * ((input - center) * rstd)).sum_to_size(shape), grad.sum_to_size(shape)


@_affine_gradients.kernel
def _affine_gradients_kernel(g: Any, x: Any, center: Any, rstd: Any, shape: tuple[int, ...]) -> Any:
    d = x.dtype.name
    # A program that is being recorded fuses the rows instead.
    if fusing() or len(shape) > 1 or x.size < SUMMED or x.dtype.char not in "fd" or g.dtype != x.dtype:
        return NotImplemented
    return _affine_sums(d).large(
        *[a.reshape(-1, *shape) for a in (g, x)], center.reshape(-1), rstd.reshape(-1)
    )


@cache
def _affine_sums(d: str) -> Any:
    """The kernel of both sums."""
    return service("column kernel")(
        (_G * ((_X - _MEAN) * _RSTD), _G),
        (("g", d, "matrix"), ("x", d, "matrix"), ("mean", d, "perrow"), ("rstd", d, "perrow")),
        (d, d),
    )


@composite(where=("nn.functional",), planned=True)
def layer_norm(
    input,
    normalized_shape: Ints,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dims (arXiv:1607.06450), of the input's
    shape and dtype.

    weight, bias: of normalized_shape, or None. The variance is biased. RuntimeError where the last sizes
    differ.
    """
    shape = check_shape(input, normalized_shape, weight, bias)
    check_dtypes(input, weight, bias)
    return _layer_norm(input, shape, weight, bias, eps)[0]


@composite(where=("torch",))
def native_layer_norm(input, normalized_shape: Ints, weight: Tensor | None, bias: Tensor | None, eps: float):
    """layer_norm, the means of the rows, and 1 / sqrt(their variances + eps); these without gradients."""
    shape = check_shape(input, normalized_shape, weight, bias)
    check_dtypes(input, weight, bias)
    found, center, rstd = _layer_norm(input, shape, weight, bias, eps)
    like = input if weight is None else weight
    return found, *[
        t.detach().to(like.dtype).reshape(*t.shape[:-1], *[1] * len(shape)) for t in (center, rstd)
    ]


def _layer_norm(
    input: Any, shape: tuple[int, ...], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    if _mixed(input, weight, bias):
        found, *moments = _layer_norm(input.float(), shape, weight, bias, eps)
        return found.to(input.dtype), *moments
    flat = input if len(shape) == 1 else input.flatten(input.ndim - len(shape))
    found, center, rstd = _normalize_rows(
        flat, eps, *[p if p is None or len(shape) == 1 else p.flatten() for p in (weight, bias)]
    )
    if len(shape) > 1:
        found = found.reshape(input.shape)
    return found.to(input.dtype) if found.dtype is not input.dtype else found, center, rstd


@composite(where=("torch", "nn.functional"), planned=True)
def rms_norm(input, normalized_shape: Ints, weight: Tensor | None = None, eps: float | None = None):
    """x / sqrt(mean(x ** 2) + eps) * weight over the last dims (arXiv:1910.07467)."""
    shape = check_shape(input, normalized_shape, weight, None)
    if eps is None:
        wide = np.float64 if input.dtype.name == "float64" else np.float32
        eps = float(np.finfo(wide).eps)
    dims = tuple(range(-len(shape), 0))
    x = (input.float() if input.dtype.itemsize == 2 else input).contiguous()
    found = x * ((x * x).mean(dims, True) + eps).rsqrt()
    if weight is not None:
        found = found * weight
    return found.to(input.dtype)


def _mixed(input: Any, *params: Any) -> bool:
    """Whether a two-byte input meets parameters: PyTorch then computes in float32 and rounds once."""
    return input.dtype.itemsize == 2 and any(p is not None for p in params)


def _per_channel(x: Any, weight: Any, bias: Any) -> Any:
    shape = (1, -1, *[1] * (x.ndim - 2))
    if weight is not None:
        x = x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


@composite(
    where=("nn.functional",),
    planned="not (training and (running_mean is not None or running_var is not None))",
)
def batch_norm(
    input,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
):
    """Normalise each channel of (N, C, *) over batch and space, by its own or the running moments
    (arXiv:1502.03167).

    training: its own, with which the running ones (C,) are updated in place, the variance unbiased, by
    `momentum`. weight, bias: (C,) or None. ValueError for one value per channel in training.
    """
    params = running_mean, running_var, weight, bias
    of = input._geometry
    key = input._kind, of.shape, of.strides, training, eps > 0 or eps
    key = *key, *[p if p is None else (p._kind, p._geometry.shape) for p in params]
    form = _forms.get(key)
    if form is None:
        _check_batch_norm(input, training, eps)
        if input.ndim < 2:
            return batch_norm(input.unsqueeze(0), *params, training, momentum, eps).squeeze(0)
        if not input.numel():
            if not of.shape[1]:
                weight, bias = (None if p is None else p[:1].expand(0) for p in (weight, bias))
            return _per_channel(input.clone(), weight, bias).to(input.dtype)
        form = _form(input, training, params)
        if len(_forms) > 1 << 10:
            _forms.clear()
        _forms[key] = form
    refuse_running_gradients(running_mean, running_var)
    return _batch_norm(input, *params, training, momentum, eps, form)


class _Form(NamedTuple):
    """What batch_norm does with operands of some kinds and shapes, which it has checked.

    dense: whether the input is used as it lies. values: of a channel.
    """

    dense: bool
    values: int


_forms: dict[Any, _Form] = {}
_UNKNOWN = _Form(False, 0)


def _check_batch_norm(input: Any, training: bool, eps: float) -> None:
    if training and input.ndim > 1 and input.numel() // max(input.shape[1], 1) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    if input.ndim > 1 and (eps < 0 or (training and eps == 0)):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")


def _form(input: Any, training: bool, params: Any) -> _Form:
    of = input._geometry
    for name, p in () if training else zip(("running_mean", "running_var"), params):
        if p is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    check_channels(1, of.shape[1], training, *params)
    check_dtypes(input, *[params[i] for i in (2, 3, 0, 1)])
    dense = has_channels_last(of.shape, of.strides) or input.is_contiguous()
    return _Form(dense, of.size // max(of.shape[1], 1))


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
    form: _Form = _UNKNOWN,
) -> Any:
    if not form.dense and not has_channels_last(input.shape, input.stride()):
        input = input.contiguous()
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        return _by_running(input, running_mean, running_var, weight, bias, eps)
    found, center, spread = _by_own_moments(input, weight, bias, eps)
    _update_running(form.values, center, spread, running_mean, running_var, momentum)
    return found


@composite(name="_by_running", where=("aten",), node="native_batch_norm", planned=True)
def _by_running(input, center, variance, weight: Tensor | None, bias: Tensor | None, eps: float):
    """batch_norm by moments (C,) that are given."""
    shape = (1, -1, *[1] * (input.ndim - 2))
    center, variance = (t.to(opmath(t.dtype)) for t in (center, variance))
    return _scaled(input, center.reshape(shape), variance.reshape(shape) + eps, weight, bias)


@_by_running.gradient
def _by_running_gradient(s: Any, grad: Any) -> Any:
    shape = (1, -1, *[1] * (grad.ndim - 2))
    center, variance = (t.to(opmath(t.dtype)) for t in (s.center, s.variance))
    rstd = (variance + s.eps).rsqrt()
    scale = rstd if s.weight is None else rstd * s.weight
    to_input = None
    if s.needs("input"):
        to_input = (_as_it_lies(grad, s.input) * scale.reshape(shape)).to(grad.dtype)
    if not any([s.needs(name) for name in ("center", "variance", "weight", "bias")]):
        return to_input, None, None, None, None
    total, along = (t.reshape(-1) for t in _channel_sums(grad, s.input, center.reshape(shape)))
    return (
        to_input,
        -total * scale if s.needs("center") else None,
        along * scale * rstd * rstd * -0.5 if s.needs("variance") else None,
        along * rstd if s.needs("weight") else None,
        total if s.needs("bias") else None,
    )


@composite(
    name="_by_own_moments",
    where=("aten",),
    node="native_batch_norm",
    unread=(0,),
    planned=True,
    planned_gradient=True,
)
def _by_own_moments(input, weight: Tensor | None, bias: Tensor | None, eps: float):
    """(batch_norm by the channels' own moments, their means, their variances): these are (1, C, 1, ...), of
    halves in float32: squares of halves may be beyond what a half can hold.
    """
    shape, flat = (1, -1, *[1] * (input.ndim - 2)), input
    if input.ndim > 3 and input.is_contiguous():
        flat = input.flatten(2)
    count = input.numel() // max(input.shape[1], 1)
    if has_channels_last(input.shape, input.stride()):
        flat, times = _by_channel(input)
        center = _folded(flat.sum(0, dtype=opmath(input.dtype)), times) / count
        total = _folded(ROWS["_squares_apart"](flat, _repeated(center, times), (0,), False), times)
        center, total = center.reshape(shape), total.reshape(shape)
    else:
        center, total = (t.reshape(shape) for t in distances(flat, (0, *range(2, flat.ndim))))
    spread = total / count
    return _scaled(input, center, spread + eps, weight, bias), center, spread


@_by_own_moments.gradient
def _by_own_moments_gradient(s: Any, grad: Any, grad_center: Any, grad_spread: Any) -> Any:
    x, results = s.input, s.result
    center, spread = results[1], results[2]
    to_input = to_weight = to_bias = None
    if grad is not None:
        wanted = s.needs("input"), s.needs("weight"), s.needs("bias")
        found = _by_own_moments_backward(grad, x, center, spread, s.weight, s.eps, *wanted)
        if all(wanted):
            to_input, to_weight, to_bias = found
        else:
            parts = iter(found)
            to_input, to_weight, to_bias = (next(parts) if each else None for each in wanted)
    if grad_center is not None or grad_spread is not None:  # of gradients of gradients, and in forward mode
        count = x.numel() // max(x.shape[1], 1)
        of_center, of_spread = (0 if g is None else g for g in (grad_center, grad_spread))
        more = ((of_center + of_spread * 2 * (x - center)) / count).to(x.dtype)
        to_input = more if to_input is None else to_input + more
    return to_input, to_weight, to_bias


@composite(name="_by_own_moments_backward", where=("aten",), planned=True)
def _by_own_moments_backward(
    grad,
    input,
    center,
    spread,
    weight: Tensor | None,
    eps: float,
    of_input: bool,
    of_weight: bool,
    of_bias: bool,
):
    """The gradients of batch_norm by its own moments that are wanted, one after the other."""
    grad = _as_it_lies(grad, input)  # results lie as the input does, and sums are added up in its order
    count = input.numel() // max(input.shape[1], 1)
    rstd = (spread + eps).rsqrt()
    total, along = _channel_sums(grad, input, center)
    found = []
    if of_input:
        scale = rstd if weight is None else rstd * weight.reshape(rstd.shape)
        slope, shift = along * rstd * rstd * scale / -count, total * scale / -count
        found.append(_batch_norm_input_gradient(grad, input, center, scale, slope, shift))
    if of_weight:
        found.append((along * rstd).reshape(-1))
    if of_bias:
        found.append(total.reshape(-1))
    return tuple(found)


def _as_it_lies(grad: Any, x: Any) -> Any:
    """The gradient for an operand that is in C order or has channels last, in the order of that."""
    if not has_channels_last(x.shape, x.stride()):
        return grad.contiguous()
    if has_channels_last(grad.shape, grad.stride()):
        return grad
    last = x.ndim - 1
    return grad.permute(0, *range(2, x.ndim), 1).contiguous().permute(0, last, *range(1, last))


def _channel_sums(grad: Any, x: Any, center: Any) -> tuple[Any, Any]:
    """The channels' sums of grad, and of grad * (x - center), in center's dtype."""
    if x.ndim > 2 and x.is_contiguous() and grad.is_contiguous():
        rows = _row_sums(grad.flatten(2), x.flatten(2), center.flatten(2))
        total, along = (t.sum(0).reshape(center.shape) for t in rows)
        return total, along
    if all([has_channels_last(t.shape, t.stride()) for t in (x, grad)]):
        (given, times), (x, _) = _by_channel(grad), _by_channel(x)
        sums = _column_sums(given, x, _repeated(center.reshape(-1), times))
        total, along = (_folded(t, times).reshape(center.shape) for t in sums)
        return total, along
    dims = (0, *range(2, x.ndim))
    return grad.sum(dims, True, dtype=center.dtype), (grad * (x - center)).sum(dims, True)


def _by_channel(x: Any, samples: int = 0) -> tuple[Any, int]:
    """(N, C, *) in channels last as the matrix that it lies as, or one a sample, and how many places are one
    row of it: a row fills vectors.
    """
    channels = x.shape[1]
    places = x.numel() // (channels * max(samples, 1))
    long = _LONG if samples else _FULL * 2 - 1
    times = math.gcd(places, 1 << max(0, (long // channels).bit_length() - 1))
    shape = [samples] * (samples > 0) + [places // times, times * channels]
    return x.permute(0, *range(2, x.ndim), 1).reshape(shape), times


def _folded(sums: Any, times: int) -> Any:
    """The channels' sums of such a matrix's."""
    return sums if times == 1 else sums.reshape(times, -1).sum(0)


def _repeated(values: Any, times: int) -> Any:
    """Values of the channels along such a matrix's rows."""
    return values if times == 1 else values.repeat(times)


@composite(name="_row_sums", where=("aten",))
def _row_sums(grad, input, center):
    """The sums of grad and of grad * (input - center) along the last dim, in center's dtype."""
    return grad.sum(-1, dtype=center.dtype), (grad * (input - center)).sum(-1)


_row_sums.kernel(lambda g, x, center: _SUMS(-1, g, x, center))


@composite(name="_column_sums", where=("aten",))
def _column_sums(grad, input, center):
    """The sums of matrices grad and of grad * (input - center) along their columns, in center's dtype."""
    grad, input = grad.contiguous(), input.contiguous()
    return grad.sum(-2, dtype=center.dtype), (grad * (input - center.unsqueeze(-2))).sum(-2)


@_column_sums.kernel
def _column_sums_kernel(g: Array, x: Array, center: Array) -> Any:
    # A program that is being recorded fuses the rows instead.
    least = SUMMED if x.ndim == 2 else BIG
    if fusing() or x.size < least or g.dtype != x.dtype or not in_columns(x.dtype, center.dtype):
        return NotImplemented
    return _column_summing(x.dtype, center.dtype).large(g, x, center)


@composite(name="_squares_around", where=("aten",))
def _squares_around(input, center):
    """The sums of squared distances from a center along the columns of matrices."""
    apart = input.contiguous() - center.unsqueeze(-2)
    return (apart * apart).sum(-2)


@_squares_around.kernel
def _squares_around_kernel(x: Array, center: Array) -> Any:
    least = SUMMED if x.ndim == 2 else BIG
    if fusing() or x.size < least or not in_columns(x.dtype, center.dtype):
        return NotImplemented
    return column_squares(x.dtype, center.dtype).large(x, center)


@cache
def _column_summing(of: Any, sums: Any) -> Any:
    """The kernel of `_column_sums`."""
    inputs = ("g", of.name, "matrix"), ("x", of.name, "matrix"), ("mean", sums.name, "percol")
    return service("column kernel")((_G, _G * (_X - _MEAN)), inputs, (sums.name,) * 2)


def _scaled(x: Any, center: Any, variance: Any, weight: Any, bias: Any) -> Any:
    """(x - center) / sqrt(variance) * weight + bias, in one pass over x."""
    scale = variance.rsqrt()
    scale = scale if weight is None else scale * weight.reshape(scale.shape)
    shift = scale.new_zeros(1) if bias is None else bias.reshape(scale.shape)
    return _centered_affine(x, center, scale, shift)


def _update_running(
    count: int, center: Any, spread: Any, running_mean: Any, running_var: Any, momentum: float
) -> None:
    """Move the running moments towards those of `count` values a channel, the variance unbiased."""
    moved = []
    if running_mean is not None:
        moved.append((running_mean, center, 1.0))
    if running_var is not None:
        moved.append((running_var, spread, count / max(count - 1, 1)))
    service("running values moved")(momentum, moved)


@composite(name="_update_moment", where=("aten",), planned=True)
def _update_moment(running, moments, scale: float, momentum: float):
    """The running moments (C), moved towards others (1, C, 1, ...) times a scale."""
    return (1 - momentum) * running + momentum * (moments.reshape(-1) * scale)


@composite(where=("nn.functional",), planned=True)
def local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
    """x / (k + alpha * mean of x ** 2 over `size` neighbouring channels) ** beta."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got "
            f"{input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    around = *[0] * (2 * input.ndim - 4), size // 2, (size - 1) // 2
    square = ROWS["pad"](input * input, around)
    if input.is_floating_point():
        lines = square.flatten(2).unsqueeze(1)
        window = ROWS["avg_pool2d"](lines, (size, 1), 1).reshape(input.shape)
    else:
        window = square.unfold(1, size, 1).sum(-1) // size
    return input / (window * alpha + k) ** beta
