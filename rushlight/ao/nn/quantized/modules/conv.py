"""nn.quantized.Conv1d, Conv2d, Conv3d."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.quantized import computing
from rushlight.ao.nn.quantized.modules.base import WeightedQuantizedModule, observed_weight
from rushlight.ao.quantized_tensors import make
from rushlight.nn.modules.utils import _ntuple
from rushlight.nn.utils.fusion import fuse_conv_bn_weights

Tensor = torch.Tensor


class _ConvNd(WeightedQuantizedModule):
    """What they share. scale, zero_point: of the result."""

    _dims = 2
    _relu = False

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        spread = _ntuple(self._dims)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = spread(kernel_size), spread(stride)
        self.padding = padding if isinstance(padding, str) else spread(padding)
        self.dilation, self.padding_mode = spread(dilation), padding_mode
        self.transposed, self.output_padding = False, spread(0)
        self.scale, self.zero_point = 1.0, 0
        shape = [out_channels, in_channels // groups, *self.kernel_size]
        self.set_weight_bias(
            torch._empty_affine_quantized(shape, scale=1, zero_point=0, dtype=torch.qint8),
            torch.zeros(out_channels) if bias else None,
        )

    def set_weight_bias(self, w: Any, b: Tensor | None) -> None:
        """Take others."""
        self._held = w, b

    def _weight_bias(self) -> tuple[Any, Tensor | None]:
        return self._held

    def weight(self) -> Any:
        """The quantized weight."""
        return self._held[0]

    def bias(self) -> Tensor | None:
        """The bias, float32, or None."""
        return self._held[1]

    def _get_name(self) -> str:
        return f"QuantizedConv{self._dims}d"

    def extra_repr(self) -> str:
        """The options, and how the result is quantized."""
        said = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        if any(n for n in self.padding if not isinstance(n, str)):
            said += f", padding={self.padding}"
        if any(n != 1 for n in self.dilation):
            said += f", dilation={self.dilation}"
        said += f", groups={self.groups}" if self.groups != 1 else ""
        return said + (", bias=False" if self.bias() is None else "")

    def forward(self, input: Any) -> Any:
        """The convolution of a quantized input."""
        if input.ndim != self._dims + 2:
            axes = "".join(", " + axis for axis in ("L", "H, W", "D, H, W")[self._dims - 1 : self._dims])
            raise ValueError(f"Input shape must be `(N, C{axes})`!")
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            sides: list[Any] = [n for n in reversed(self.padding) for _ in range(2)]
            levels = nn.functional.pad(input.levels.float(), sides, mode=self.padding_mode).to(
                input.levels.dtype
            )
            input, padding = make(levels, input.dtype, input.quantizer), 0
        return computing.convolution(
            input,
            *self._held,
            self.scale,
            self.zero_point,
            self._relu,
            stride=self.stride,
            padding=padding,
            dilation=self.dilation,
            groups=self.groups,
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._held

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, strict: Any, *rest: Any
    ) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        super()._load_from_state_dict(state_dict, prefix, metadata, False, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of an observed or fake-quantized one, alone, with a norm, with relu."""
        observer, inner = mod.activation_post_process, mod
        if isinstance(mod, nn.Sequential) and not hasattr(mod, "weight_fake_quant"):
            inner = mod[0]
            if not hasattr(inner, "qconfig"):
                inner.qconfig = mod.qconfig
        weight, bias = inner.weight, inner.bias
        norm = getattr(inner, "bn", None)
        if norm is not None:
            weight, bias = fuse_conv_bn_weights(
                weight, bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
            )
        made = cls(
            inner.in_channels,
            inner.out_channels,
            inner.kernel_size,
            inner.stride,
            inner.padding,
            inner.dilation,
            inner.groups,
            bias is not None,
            inner.padding_mode,
        )
        if hasattr(inner, "weight_fake_quant"):
            inner.weight_fake_quant(weight)
        made.set_weight_bias(observed_weight(inner, weight), None if bias is None else bias.detach())
        made._take_range(observer)
        return made


class Conv1d(_ConvNd):
    """A convolution of 1 spatial dim, of quantized tensors."""

    _dims = 1
    _float_module: Any = nn.Conv1d


class Conv2d(_ConvNd):
    """A convolution of 2 spatial dims, of quantized tensors."""

    _float_module: Any = nn.Conv2d


class Conv3d(_ConvNd):
    """A convolution of 3 spatial dims, of quantized tensors."""

    _dims = 3
    _float_module: Any = nn.Conv3d
