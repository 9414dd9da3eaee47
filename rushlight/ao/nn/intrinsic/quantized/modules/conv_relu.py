"""Convolutions and relu of quantized tensors."""

from __future__ import annotations

from rushlight.ao.nn.quantized.modules import conv


class ConvReLU1d(conv.Conv1d):
    """Conv1d and relu."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedConvReLU1d"


class ConvReLU2d(conv.Conv2d):
    """Conv2d and relu."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedConvReLU2d"


class ConvReLU3d(conv.Conv3d):
    """Conv3d and relu."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedConvReLU3d"
