"""nn.qat.Conv1d, Conv2d, Conv3d."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight.ao.nn.qat.modules.linear import float_parts


def options_of(conv: Any) -> dict[str, Any]:
    """What a convolution was made with."""
    names = "in_channels out_channels kernel_size stride padding dilation groups padding_mode".split()
    return {**{name: getattr(conv, name) for name in names}, "bias": conv.bias is not None}


class _ConvNd(nn.modules.conv._ConvNd):
    """A convolution whose weight is fake-quantized by qconfig.weight()."""

    _FLOAT_MODULE: Any = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._FLOAT_MODULE.__init__(
            self,
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
        )
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The convolution with its weight rounded."""
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one, or of such a one with relu; the parameters are the same."""
        inner = float_parts(mod)
        made = cls(**options_of(inner), qconfig=mod.qconfig)
        made.weight, made.bias = inner.weight, inner.bias
        return made

    def to_float(self) -> Any:
        """The float layer, with copies of the parameters."""
        made = self._FLOAT_MODULE(**options_of(self))
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made


class Conv1d(_ConvNd, nn.Conv1d):
    """A convolution of 1 spatial dim whose weight is fake-quantized."""

    _FLOAT_MODULE: Any = nn.Conv1d


class Conv2d(_ConvNd, nn.Conv2d):
    """A convolution of 2 spatial dims whose weight is fake-quantized."""

    _FLOAT_MODULE: Any = nn.Conv2d


class Conv3d(_ConvNd, nn.Conv3d):
    """A convolution of 3 spatial dims whose weight is fake-quantized."""

    _FLOAT_MODULE: Any = nn.Conv3d
