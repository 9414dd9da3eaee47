"""What quantized layers compute: products of levels, exact as in integers, and levels again.

The levels of activations and weights are multiplied in float64, whose sums are exact; what then comes is in
single precision, as in PyTorch's kernels: times the product of the scales, plus the bias.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.ao.quantized_tensors import QuantizedTensor, Quantizer, choose_qparams, limits, make

Tensor = torch.Tensor
F = torch.nn.functional


def _centred(q: QuantizedTensor) -> Tensor:
    """Levels less their zero points, float64."""
    _, zero_point = q.quantizer.along(q.ndim)
    found: Tensor = q.levels.double() - zero_point
    return found


def _weight_scale(weight: Any, ndim: int, dim: int) -> Any:
    """The weight's scale or scales, as they broadcast along a dim of the result."""
    scale = weight.quantizer.scale
    if weight.quantizer.axis is None:
        return float(scale)
    return scale.float().reshape([-1 if d == dim else 1 for d in range(ndim)])


def _requantized(
    sums: Tensor,
    x: Any,
    weight: Any,
    bias: Tensor | None,
    dim: int,
    scale: float,
    zero_point: int,
    relu: bool,
) -> Any:
    """Levels of scale and zero_point for sums of products of levels."""
    times = _weight_scale(weight, sums.ndim, dim) * float(x.quantizer.scale)
    times = torch.as_tensor(times, dtype=torch.float32)
    raw = sums.float()
    if bias is not None:
        raw = raw + bias.reshape([-1 if d == dim else 1 for d in range(sums.ndim)]) / times
    low, high = limits(x.dtype)
    levels = (raw * (times / scale)).round() + zero_point
    levels = levels.clamp(max(low, zero_point) if relu else low, high)
    return make(levels.to(x.levels.dtype), x.dtype, Quantizer(float(scale), int(zero_point)))


def check_quantized(x: Any, name: str) -> None:
    """NotImplementedError, as PyTorch's, for a tensor of numbers."""
    if not isinstance(x, QuantizedTensor):
        raise NotImplementedError(
            f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend: quantize the input "
            "first (QuantStub, torch.quantize_per_tensor)"
        )


def linear(
    x: Any, weight: Any, bias: Tensor | None, scale: float, zero_point: int, relu: bool = False
) -> Any:
    """A linear layer of quantized input and weight; levels of scale and zero_point."""
    check_quantized(x, "linear")
    sums = F.linear(_centred(x), _centred(weight))
    return _requantized(sums, x, weight, bias, sums.ndim - 1, scale, zero_point, relu)


def convolution(
    x: Any,
    weight: Any,
    bias: Tensor | None,
    scale: float,
    zero_point: int,
    relu: bool = False,
    **options: Any,
) -> Any:
    """A convolution of quantized input and weight, 1 to 3 spatial dims; padding is the zero point."""
    check_quantized(x, f"conv{weight.ndim - 2}d")
    convolve = (F.conv1d, F.conv2d, F.conv3d)[weight.ndim - 3]
    sums = convolve(_centred(x), _centred(weight), **options).round()
    return _requantized(sums, x, weight, bias, sums.ndim - weight.ndim + 1, scale, zero_point, relu)


def linear_dynamic(x: Tensor, weight: Any, bias: Tensor | None, reduce_range: bool = True) -> Tensor:
    """A linear layer of numbers, float32: they are quantized at their own range for the product alone."""
    scale, zero_point = choose_qparams(x, 0, 255, reduce_range)
    held = Quantizer(scale, zero_point).quantize(x.detach().float(), torch.quint8)
    sums = F.linear(_centred(held), _centred(weight)).float()
    times = _weight_scale(weight, sums.ndim, sums.ndim - 1) * float(torch.tensor(scale, dtype=torch.float32))
    found = sums * torch.as_tensor(times, dtype=torch.float32)
    return found if bias is None else found + bias


def quantized_weight(observer: Any, weight: Tensor) -> Any:
    """A weight at the levels that an observer, which has seen it, chooses."""
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        return torch.quantize_per_tensor(weight.float(), float(scale), int(zero_point), torch.qint8)
    if observer.qscheme in (torch.per_channel_symmetric, torch.per_channel_affine):
        return torch.quantize_per_channel(
            weight.float(), scale.double(), zero_point.long(), observer.ch_axis, torch.qint8
        )
    if observer.qscheme is torch.per_channel_affine_float_qparams:
        return torch.quantize_per_channel(
            weight.float(), scale, zero_point.float(), observer.ch_axis, observer.dtype
        )
    raise ValueError("Unexpected qscheme " + str(observer.qscheme))


def add(x: Any, y: Any, scale: float, zero_point: int, relu: bool = False) -> Any:
    """The sum of two quantized tensors, at levels of scale and zero_point."""
    found = x.dequantize() + y.dequantize()
    return Quantizer(float(scale), int(zero_point)).quantize(found.relu() if relu else found, x.dtype)


def mul(x: Any, y: Any, scale: float, zero_point: int) -> Any:
    """The product of two quantized tensors."""
    return Quantizer(float(scale), int(zero_point)).quantize(x.dequantize() * y.dequantize(), x.dtype)


def again(x: Any, numbers: Tensor, scale: float, zero_point: int) -> Any:
    """Numbers at levels of scale and zero_point, in the dtype of x."""
    return Quantizer(float(scale), int(zero_point)).quantize(numbers, x.dtype)
