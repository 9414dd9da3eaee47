"""torch.ops.quantized_decomposed: quantizing as ops on plain tensors of integers, which graphs of quantized
programs consist of. Importing this module registers them.

An integer q stands for (q - zero_point) * scale. quant_min and quant_max are its limits; dtype is what it is
stored in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.ao.quantization.utils import validate_qmin_qmax
from rushlight.library import Library

_LIMITS: dict[Any, tuple[int, int]] = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.uint16: (0, 2**16 - 1),
    torch.int16: (-(2**15), 2**15 - 1),
    torch.int32: (-(2**31), 2**31 - 1),
    torch.float8_e5m2: (-57344, 57344),
    torch.float8_e4m3fn: (-448, 448),
}
_NARROW = (torch.float16, torch.bfloat16)

quantized_decomposed_lib = Library("quantized_decomposed", "DEF")


def _op(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function as the op of a signature, on every device."""
    name = quantized_decomposed_lib._declared(schema)

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        quantized_decomposed_lib.impl(name, function, "CompositeExplicitAutograd")
        return function

    return declare


def _check_limits(quant_min: Any, quant_max: Any, dtype: Any) -> None:
    if dtype not in _LIMITS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    low, high = _LIMITS[dtype]
    if quant_min < low:
        raise AssertionError(
            f"quant_min out of bounds for dtype, quant_min_lower_bound: {low} quant_min: {quant_min}"
        )
    if quant_max > high:
        raise AssertionError(
            f"quant_max out of bounds for dtype, quant_max_upper_bound: {high} quant_max: {quant_max}"
        )


def _real(t: Any) -> Any:
    """A tensor of float32; AssertionError for one that is neither that nor narrower."""
    wide = t.to(torch.float32) if t.dtype in _NARROW else t
    if wide.dtype is not torch.float32:
        raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {wide.dtype}")
    return wide


def _levels(t: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any) -> Any:
    return torch.clamp(torch.round(t * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def _one(t: Any, what: str) -> Any:
    if t.numel() != 1:
        raise AssertionError(f"Expecting {what} tensor to be one element, but received : {t.numel()}")
    return t


# --- one scale for a tensor -------------------------------------------------------------------------


@_op(
    "quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
    "ScalarType dtype) -> Tensor"
)
def quantize_per_tensor(
    input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    """The integers of a tensor."""
    wide = _real(input)
    _check_limits(quant_min, quant_max, dtype)
    return _levels(wide, scale, zero_point, quant_min, quant_max, dtype)


@_op(
    "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
    "ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Any:
    """The same; the scale and the zero are tensors of one element."""
    _one(zero_point, "zero_point")
    _one(scale, "scale")
    if input.is_meta:
        return torch.empty_like(_real(input), dtype=dtype)
    return quantize_per_tensor(input, scale.item(), zero_point.item(), quant_min, quant_max, dtype)


@_op(
    "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, "
    "Tensor quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor2(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Any:
    """The same; the limits are tensors, too."""
    if not input.is_meta:
        quant_min, quant_max = quant_min.item(), quant_max.item()
    return quantize_per_tensor_tensor(input, scale, zero_point, quant_min, quant_max, dtype)


def _check_stored(input: Any, dtype: Any) -> None:
    if input.dtype is not dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")


@_op(
    "dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
    "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor(
    input: Any,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    """What the integers stand for."""
    _check_stored(input, dtype)
    if dtype not in _LIMITS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(torch.float32 if out_dtype is None else out_dtype) - zero_point) * scale


@_op(
    "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, "
    "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor(
    input: Any,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    """The same; the scale and the zero are tensors of one element."""
    _one(zero_point, "zero_point")
    _one(scale, "scale")
    if input.is_meta:
        _check_stored(input, dtype)
        return torch.empty_like(input, dtype=torch.float32 if out_dtype is None else out_dtype)
    return dequantize_per_tensor(
        input, scale.item(), zero_point.item(), quant_min, quant_max, dtype, out_dtype=out_dtype
    )


@_op(
    "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, "
    "Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor2(
    input: Any,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    """The same; the limits, which nothing depends on, are tensors, too."""
    return dequantize_per_tensor_tensor(
        input, scale, zero_point, quant_min, quant_max, dtype, out_dtype=out_dtype
    )


# --- scales that fit a tensor -----------------------------------------------------------------------


def _span(input: Any, quant_min: int, quant_max: int, dtype: Any) -> tuple[Any, Any]:
    """The least and the greatest number, 0 among them."""
    if input.dtype not in (torch.float32, *_NARROW):
        raise AssertionError(
            f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}"
        )
    if dtype not in _LIMITS:
        raise AssertionError(f"Expecting target dtype to be one of {_LIMITS.keys()}, but got: {dtype}")
    validate_qmin_qmax(quant_min, quant_max)
    low, high = torch.aminmax(input)
    return low.clamp(max=0), high.clamp(min=0)


@_op(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> "
    "(Tensor, Tensor)"
)
def choose_qparams_tensor(
    input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any
) -> tuple[Any, Any]:
    """(scale, zero_point) by which the limits stand for the least and the greatest number."""
    low, high = _span(input, quant_min, quant_max, dtype)
    least = torch.full((1,), eps, device=input.device)
    scale = torch.max((high - low) / float(quant_max - quant_min), least)
    zero_point = (quant_min - torch.round(low / scale).to(torch.int)).clamp(quant_min, quant_max)
    return scale.to(torch.float64), zero_point.to(torch.int64)


@_op(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
    "ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_symmetric_tensor(
    input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any
) -> tuple[Any, Any]:
    """The same with 0 in the middle."""
    low, high = _span(input, quant_min, quant_max, dtype)
    least = torch.full((1,), eps, device=input.device)
    scale = torch.max(torch.max(-low, high) / (float(quant_max - quant_min) / 2), least)
    zero_point = torch.full((1,), 128 if dtype is torch.uint8 else 0, device=input.device)
    return scale.to(torch.float64), zero_point.to(torch.int64)


@_op("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Any, dtype: Any) -> tuple[Any, Any]:
    """(scales, zeros) of all rows, each with 0 in the middle."""
    if dtype is not torch.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    largest = input.abs().amax(dim=-1, keepdim=True)
    largest = largest.float() if largest.dtype is torch.float16 else largest
    scales = largest.clamp(min=1e-5).div(127)
    return scales, torch.zeros_like(scales)


@_op("_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def _choose_qparams_per_token_asymmetric_impl(input: Any, dtype: Any) -> tuple[Any, Any]:
    """(scales, zeros) of all rows by their least and greatest numbers, for int8."""
    first, last = -128, 127
    low = input.amin(dim=-1, keepdim=True).clamp(max=0)
    high = input.amax(dim=-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / float(last - first)).clamp(min=torch.finfo(torch.float32).eps)
    below, above = low / scale, high / scale
    zero_point = torch.where((first + below) + (last + above) > 0, first - below, last - above)
    return scale.to(torch.float64), zero_point.clamp(first, last).round().to(torch.int64)


@_op("choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token_asymmetric(input: Any, dtype: Any) -> tuple[Any, Any]:
    """The same."""
    found: tuple[Any, Any] = _choose_qparams_per_token_asymmetric_impl(input, dtype)
    return found


# --- a scale for each channel, row or group ------------------------------------------------------------


def _along(t: Any, input: Any, axis: int) -> Any:
    """Numbers of channels, laid out to meet the tensor's `axis`."""
    return t.view([-1 if d == axis else 1 for d in range(input.dim())])


def _check_axis(input: Any, axis: int) -> None:
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")


@_op(
    "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
    "int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    """The integers of a tensor with a scale and a zero for each place along `axis`."""
    wide = _real(input)
    _check_axis(wide, axis)
    _check_limits(quant_min, quant_max, dtype)
    by_channel = _along(scales, wide, axis), _along(zero_points, wide, axis)
    return _levels(wide, *by_channel, quant_min, quant_max, dtype)


@_op(
    "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, "
    "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_channel(
    input: Any,
    scales: Any,
    zero_points: Any,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    """What such integers stand for."""
    if input.dtype is not dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got dtype: {input.dtype}")
    _check_axis(input, axis)
    _check_limits(quant_min, quant_max, dtype)
    moved = input if zero_points is None else input - _along(zero_points, input, axis)
    return (moved * _along(scales, input, axis)).to(torch.float32 if out_dtype is None else out_dtype)


def _per_token_quant_qparam_dim_check(input: Any, scales: Any, zero_points: Any) -> None:
    """AssertionError where there is not a scale and a zero for each row."""
    rows = math.prod(input.shape[:-1])
    for what, t in (("scales", scales), ("zero_points", zero_points)):
        if t.numel() != rows:
            raise AssertionError(f"num_tokens: {rows} {what}: {t.size()}")


@_op(
    "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
    "ScalarType dtype) -> Tensor"
)
def quantize_per_token(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    """The integers of a tensor with a scale and a zero for each row."""
    _check_limits(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


@_op(
    "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
    "ScalarType dtype, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    output_dtype: Any = torch.float32,
) -> Any:
    """What such integers stand for."""
    return ((input - zero_points) * scales).to(output_dtype)


def _groups(input: Any, scales: Any, group_size: int) -> Any:
    """A matrix as rows of one group each."""
    if group_size <= 1:
        raise AssertionError("group_size must be > 1")
    if group_size > input.shape[-1] and scales.shape[-1] == 1:
        group_size = input.shape[-1]
    if input.shape[-1] % group_size != 0:
        raise AssertionError("input.shape[-1] must be divisible by group_size")
    if input.dim() != 2:
        raise AssertionError("input must be 2-dimensional")
    return input.reshape(-1, group_size)


@_op(
    "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, "
    "int quant_max, ScalarType dtype, int group_size) -> Tensor"
)
def quantize_per_channel_group(
    input: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
) -> Any:
    """The integers of a matrix with a scale and a zero for each `group_size` numbers of a row."""
    rows = _groups(input, scales, group_size)
    if not input.is_meta and torch.isnan(rows).any():
        raise AssertionError("to_quant must not contain NaNs")
    found = rows.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return found.clamp(quant_min, quant_max).to(dtype).reshape(input.shape)


@_op(
    "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, "
    "int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_channel_group(
    input: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
    output_dtype: Any = torch.float32,
) -> Any:
    """What such integers stand for."""
    rows = _groups(input, scales, group_size)
    moved = rows if zero_points is None else rows.sub(zero_points.reshape(-1, 1))
    return moved.mul(scales.reshape(-1, 1)).reshape(input.shape).to(output_dtype)


# --- rounding that gradients pass ------------------------------------------------------------------------


class FakeQuantPerChannel(torch.autograd.Function):
    """What quantizing by channels and back gives; gradients pass where a number is within the limits."""

    @staticmethod
    def forward(
        ctx: Any, input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int
    ) -> Any:
        """The numbers that the integers stand for."""
        if input.dtype is not torch.float32:
            raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
        _check_axis(input, axis)
        scale = _along(scales.to(torch.float32), input, axis)
        zero_point = _along(zero_points.to(torch.int32), input, axis)
        found = torch.round(input * (1.0 / scale)) + zero_point
        ctx.save_for_backward(torch.logical_and(found >= quant_min, found <= quant_max))
        return (torch.clamp(found, quant_min, quant_max) - zero_point) * scale

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradient where nothing was cut off."""
        (inside,) = ctx.saved_tensors
        return grads[0] * inside, None, None, None, None, None


quantized_decomposed_lib.define(
    "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
    "int quant_max) -> Tensor"
)


def fake_quant_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    """Quantize by channels and back, with gradients."""
    return FakeQuantPerChannel.apply(input, scales, zero_points, axis, quant_min, quant_max)


quantized_decomposed_lib.impl("fake_quant_per_channel", fake_quant_per_channel, "Autograd")
quantized_decomposed_lib.impl("fake_quant_per_channel", fake_quant_per_channel, "CompositeExplicitAutograd")


@_op("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Any, dtype: Any) -> Any:
    """input in another dtype, which compilers leave where it stands."""
    return input.to(dtype)
