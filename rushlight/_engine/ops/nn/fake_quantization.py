"""Fake quantization: numbers rounded to the levels of a quantized dtype, with the gradient of the unrounded.

A number x lies at level round(x / scale) + zero_point, clamped to [quant_min, quant_max]; nan at the lowest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.ops.constant_operands import refuse_gradient
from rushlight._engine.ops.expressions import Expr, m, stored
from rushlight._engine.ops.table import composite, pointwise

_LARGEST = 2.0**63


@pointwise(where=("aten",), inplace=False, out=False)
def _quantization_level(input: Expr, inverse: Tensor | Number, zero_point: Tensor | Number) -> Expr:
    """The level of each number, not clamped; nan lies below all."""
    level = stored(m.round(stored(input * inverse)) + zero_point)
    return m.where(m.isnan(level), -_LARGEST, level)


@pointwise(where=("aten",), inplace=False, out=False)
def _quantization_level_between(input: Expr, inverse: Tensor | Number, zero_point: Tensor | Number) -> Expr:
    """The same with zero points that are no levels."""
    level = m.round(stored(input * inverse) + zero_point)
    return m.where(m.isnan(level), -_LARGEST, level)


@pointwise(where=("aten",), inplace=False, out=False)
def _at_level(
    level: Expr, scale: Tensor | Number, zero_point: Tensor | Number, quant_min: Number, quant_max: Number
) -> Expr:
    """The number that a level, clamped, stands for."""
    return (m.clamp_max(m.clamp_min(level, quant_min), quant_max) - zero_point) * scale


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def _single(value: Any) -> Any:
    """A scale or zero point in single precision, as kernels take it."""
    return float(np.float32(value)) if isinstance(value, (int, float)) else value.float()


def _levels(input: Any, scale: Any, zero_point: Any, whole: bool = True) -> Any:
    """The levels, in the dtype that kernels compute in; `whole`: zero points are levels."""
    of = dt.float64 if input.dtype is dt.float64 else dt.float32
    scale, zero_point = _single(scale), _single(zero_point)
    if isinstance(scale, float):
        with np.errstate(divide="ignore"):
            inverse: Any = float(np.float32(1) / np.float32(scale))
    else:
        inverse, zero_point = scale.reciprocal().to(of), zero_point.to(of)
    return (_quantization_level if whole else _quantization_level_between)(input.to(of), inverse, zero_point)


def _rounded(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    levels = _levels(input, scale, zero_point).float()
    return _at_level(levels, _single(scale), _single(zero_point), quant_min, quant_max).to(input.dtype)


def _within(levels: Any, s: Any) -> Any:
    """Where the level is one of the range: there the gradient goes through."""
    return (levels >= s.quant_min) & (levels <= s.quant_max)


@composite(where=("torch",))
def fake_quantize_per_tensor_affine(
    input, scale: Tensor | Number, zero_point: Tensor | Number, quant_min: int, quant_max: int
):
    """input at the nearest of the levels quant_min to quant_max of one scale and zero point.

    The gradient is that of input, and 0 where it lies beyond the outermost levels.
    """
    _check_range(quant_min, quant_max)
    if isinstance(scale, (int, float)):
        if not quant_min <= zero_point <= quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
        return _by_numbers(input, scale, zero_point, quant_min, quant_max)
    op = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
    refuse_gradient(op, "scale", scale)
    refuse_gradient(op, "zero_point", zero_point)
    return _by_tensors(input, scale, zero_point, quant_min, quant_max)


@composite(
    where=("aten",), node="fake_quantize_per_tensor_affine_cachemask", name="_fake_quantize_by_numbers"
)
def _by_numbers(input, scale: Number, zero_point: Number, quant_min: int, quant_max: int):
    """With numbers for scale and zero point."""
    return _rounded(input, scale, zero_point, quant_min, quant_max)


@_by_numbers.gradient
def _by_numbers_gradient(s: Any, grad: Any) -> Any:
    return grad * _within(_levels(s.input, s.scale, s.zero_point), s)


@composite(
    where=("aten",),
    node="fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    name="_fake_quantize_by_tensors",
)
def _by_tensors(input, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int):
    """With tensors of one element."""
    return _rounded(input, scale, zero_point, quant_min, quant_max)


@_by_tensors.gradient
def _by_tensors_gradient(s: Any, grad: Any) -> Any:
    return grad * _within(_levels(s.input, s.scale, s.zero_point), s), None, None


def _along(values: Any, axis: int, ndim: int) -> Any:
    """Values of an axis, as they broadcast to a tensor of `ndim` dims."""
    return values.reshape([-1 if dim == axis else 1 for dim in range(ndim)])


def _check_channels(
    input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> None:
    named = {dt.float32: "Float", dt.int32: "Int"}
    if scale.dtype not in (dt.float32, dt.bfloat16):
        raise RuntimeError(
            f"Scale must be Float or BFloat16, found {named.get(scale.dtype, scale.dtype.legacy)}"
        )
    if zero_point.dtype not in (dt.int32, dt.float32, dt.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.legacy}")
    if scale.ndim != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.ndim != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if not 0 <= axis < max(input.ndim, 1):
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.numel() != input.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check_range(quant_min, quant_max)
    if zero_point.dtype is dt.int32 and bool(((zero_point < quant_min) | (zero_point > quant_max)).any()):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


@composite(where=("torch",))
def fake_quantize_per_channel_affine(
    input, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
):
    """input at the nearest of the levels quant_min to quant_max, of scales and zero points along an axis.

    scale, zero_point: (input.shape[axis],).
    """
    op = "fake_quantize_per_channel_affine_cachemask"
    refuse_gradient(op, "scale", scale)
    refuse_gradient(op, "zero_point", zero_point)
    _check_channels(input, scale, zero_point, axis, quant_min, quant_max)
    return _by_channels(input, scale, zero_point, axis, quant_min, quant_max)


@composite(
    where=("aten",), node="fake_quantize_per_channel_affine_cachemask", name="_fake_quantize_by_channels"
)
def _by_channels(input, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int):
    """With a scale and a zero point for each place along an axis."""
    whole = not zero_point.is_floating_point()
    scale, zero_point = (_along(v, axis, input.ndim) for v in (scale, zero_point))
    levels = _levels(input, scale, zero_point, whole).double()
    found = _at_level(levels, scale.double(), zero_point.double(), quant_min, quant_max)
    return found.to(input.dtype)


@_by_channels.gradient
def _by_channels_gradient(s: Any, grad: Any) -> Any:
    whole, ndim = not s.zero_point.is_floating_point(), len(s.shape("input"))
    scale, zero_point = (_along(v, s.axis, ndim) for v in (s.scale, s.zero_point))
    return grad * _within(_levels(s.input, scale, zero_point, whole), s), None, None


def _learned(s: Any, grad: Any, input: Any, scale: Any, zero_point: Any) -> Any:
    """Gradients of input, scale and zero_point; the last two broadcast to input."""
    zero_point = zero_point.clamp(s.quant_min, s.quant_max)
    levels = _levels(input, scale, zero_point, False)
    inside = _within(levels, s)
    outer = levels.clamp(s.quant_min, s.quant_max) - zero_point
    rounded = (outer * scale - input) / scale
    by_scale = grad * rounded.where(inside, outer) * s.grad_factor
    by_zero_point = (grad * -scale).masked_fill(inside, 0.0) * s.grad_factor
    return grad * inside, by_scale.sum_to_size(scale.shape), by_zero_point.sum_to_size(scale.shape)


@composite(where=("torch",), node="fake_quantize_learnable_per_tensor_affine")
def _fake_quantize_learnable_per_tensor_affine(
    input, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
):
    """fake_quantize_per_tensor_affine with gradients of scale and zero_point, times grad_factor
    (arXiv:1902.08153).
    """
    return _rounded(input, scale, zero_point.round().clamp(quant_min, quant_max), quant_min, quant_max)


@_fake_quantize_learnable_per_tensor_affine.gradient
def _learned_tensor(s: Any, grad: Any) -> Any:
    # PyTorch's backward rounds a zero point by adding a half.
    return _learned(s, grad, s.input, s.scale, (s.zero_point + 0.5).trunc())


@composite(
    where=("aten",), node="fake_quantize_learnable_per_channel_affine", name="_fake_quantize_learned_rows"
)
def _learned_rows(
    input, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float
):
    """With scales and zero points as they broadcast to input."""
    return _rounded(input, scale, zero_point.round().clamp(quant_min, quant_max), quant_min, quant_max)


@_learned_rows.gradient
def _learned_rows_gradient(s: Any, grad: Any) -> Any:
    return _learned(s, grad, s.input, s.scale, s.zero_point.round())


@composite(where=("torch",))
def _fake_quantize_learnable_per_channel_affine(
    input,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
):
    """fake_quantize_per_channel_affine with gradients of scale and zero_point, times grad_factor."""
    scale, zero_point = (_along(v, axis, input.ndim) for v in (scale, zero_point))
    return _learned_rows(input, scale, zero_point, quant_min, quant_max, grad_factor)
