"""Activations of quantized tensors, whose results have levels of their own."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight.ao.nn.quantized import computing


class ReLU6(nn.ReLU):
    """Levels clamped to those of 0 and 6."""

    def forward(self, input: Any) -> Any:
        """relu6 of a quantized tensor, with its levels."""
        return nn.functional.relu6(input)

    def _get_name(self) -> str:
        return "QuantizedReLU6"


class _Scaled(nn.Module):
    """What has a scale and a zero point for its result."""

    scale: float
    zero_point: int

    def _again(self, input: Any, numbers: Any) -> Any:
        return computing.again(input, numbers, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


def _range(mod: Any) -> tuple[float, int]:
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


class Hardswish(_Scaled):
    """hardswish, at levels of scale and zero_point."""

    def __init__(self, scale: float, zero_point: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:
        """Of a quantized tensor."""
        return self._again(input, nn.functional.hardswish(input.dequantize()))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """Of an observed one."""
        return cls(*_range(mod))


class ELU(_Scaled):
    """elu, at levels of scale and zero_point."""

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__()
        self.scale, self.zero_point, self.alpha = scale, zero_point, alpha

    def forward(self, input: Any) -> Any:
        """Of a quantized tensor."""
        return self._again(input, nn.functional.elu(input.dequantize(), self.alpha))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """Of an observed one."""
        return cls(*_range(mod), mod.alpha)


class LeakyReLU(_Scaled):
    """leaky_relu, at levels of scale and zero_point."""

    def __init__(
        self,
        scale: float,
        zero_point: int,
        negative_slope: float = 1e-2,
        inplace: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.scale, self.zero_point, self.negative_slope = scale, zero_point, negative_slope

    def forward(self, input: Any) -> Any:
        """Of a quantized tensor."""
        return self._again(input, nn.functional.leaky_relu(input.dequantize(), self.negative_slope))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LeakyReLU:
        """Of an observed one."""
        return cls(*_range(mod), mod.negative_slope)


class Sigmoid(_Scaled):
    """sigmoid, at levels of output_scale and output_zero_point."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.scale, self.zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        """Of a quantized tensor."""
        return self._again(input, input.dequantize().sigmoid())

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Sigmoid:
        """Of an observed one."""
        return cls(*_range(mod))


class Softmax(_Scaled):
    """softmax along dim, at levels of scale and zero_point."""

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: Any) -> Any:
        """Of a quantized tensor."""
        return self._again(input, nn.functional.softmax(input.dequantize(), self.dim))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """Of an observed one."""
        return cls(mod.dim, *_range(mod))
