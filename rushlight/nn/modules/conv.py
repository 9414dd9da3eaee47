"""Convolutions and transposed convolutions of 1, 2 and 3 dims, and their lazy forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.nn import functional as F, init
from rushlight.nn.common_types import _size_1_t, _size_2_t, _size_3_t
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.linear import _init_bias
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import (
    _pair,
    _reverse_repeat_tuple,
    _single,
    _triple,
    changed,
    register_empty,
    size_beyond,
)
from rushlight.nn.parameter import Parameter
from rushlight.types import Device

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
__all__ += [f"Lazy{name}" for name in __all__]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: sizes as tuples, weight, bias, their initialisation."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    _lacking = {"padding_mode": "zeros"}
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        _check(in_channels, out_channels, groups, stride, padding, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _pad_widths(padding, kernel_size, dilation)
        register_empty(self, device, dtype, weight=self._weight_shape(), bias=out_channels if bias else None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        channels = (
            (self.in_channels, self.out_channels // self.groups)
            if self.transposed
            else (self.out_channels, self.in_channels // self.groups)
        )
        return (*channels, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew from U(-b, b), b = 1 / sqrt(fan_in): Kaiming's rule with a = sqrt(5)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.weight.numel():
            _init_bias(self.bias, self.weight)

    def extra_repr(self) -> str:
        """What repr() shows: channels, kernel_size, stride, and other options where not the default."""
        dims = len(self.kernel_size)
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        text += changed(self, padding=(0,) * dims, dilation=(1,) * dims, output_padding=(0,) * dims, groups=1)
        text += ", bias=False" if self.bias is None else ""
        return text + changed(self, padding_mode="zeros")


def _check(
    in_channels: int, out_channels: int, groups: int, stride: tuple[int, ...], padding: Any, padding_mode: str
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
        )


def _pad_widths(
    padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]
) -> Any:
    """The padding as F.pad takes it: last dim first, before and after."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    widths = []
    for d, k in zip(reversed(dilation), reversed(kernel_size)):
        total = d * (k - 1) if padding == "same" else 0
        widths += [total // 2, total - total // 2]
    return widths


class Conv1d(_ConvNd):
    """(N, in, L) -> (N, out, L), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: str | _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _single(kernel_size),
            _single(stride),
            padding if isinstance(padding, str) else _single(padding),
            _single(dilation),
            False,
            _single(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = _single(0)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """(N, in, L) or without N -> (N, out, L') or without N, sizes and errors as of Conv2d."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """(N, in, H, W) -> (N, out, H, W), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: str | _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _pair(kernel_size),
            _pair(stride),
            padding if isinstance(padding, str) else _pair(padding),
            _pair(dilation),
            False,
            _pair(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = _pair(0)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """(N, in, H, W) or (in, H, W) -> (N, out, H', W') or (out, H', W'), each H' = (H + 2 * padding -
        dilation * (kernel_size - 1) - 1) // stride + 1; RuntimeError for other channels, dims or dtype.
        """
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """(N, in, D, H, W) -> (N, out, D, H, W), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: str | _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _triple(kernel_size),
            _triple(stride),
            padding if isinstance(padding, str) else _triple(padding),
            _triple(dilation),
            False,
            _triple(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = _triple(0)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """(N, in, D, H, W) or without N -> (N, out, D', H', W'), sizes and errors as of Conv2d."""
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions of 1, 2 and 3 dims: the size of a result can be chosen."""

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[Any],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """The extra size at one side with which the result has `output_size`."""
        if output_size is None:
            return self.output_padding
        spread = dilation or [1] * num_spatial_dims
        return size_beyond(input, output_size, stride, padding, kernel_size, spread)

    def _extra_size(self, input: Tensor, output_size: Sequence[int] | None) -> Sequence[int]:
        """`_output_padding` of the layer's own sizes."""
        dims = len(self.kernel_size)
        return self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, dims, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """(N, in, L) -> (N, out, L): the gradient of Conv1d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with b = sqrt(groups / (out
    * k)) for a kernel of k elements. forward(input, output_size) chooses among the possible sizes.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _single(kernel_size),
            _single(stride),
            _single(padding),
            _single(dilation),
            True,
            _single(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """(N, in, L) -> (N, out, L'), L' = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) +
        output_padding + 1.

        `output_size` instead of output_padding: ValueError where it is none of the possible sizes.
        """
        output_padding = self._extra_size(input, output_size)
        return F.conv_transpose1d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,  # type: ignore[arg-type] # numbers: only Conv takes a word
            output_padding,
            self.groups,
            self.dilation,
        )


class ConvTranspose2d(_ConvTransposeNd):
    """(N, in, H, W) -> (N, out, H, W): the gradient of Conv2d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with b = sqrt(groups / (out
    * k)) for a kernel of k elements. forward(input, output_size) chooses among the possible sizes.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_2_t = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _pair(kernel_size),
            _pair(stride),
            _pair(padding),
            _pair(dilation),
            True,
            _pair(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """(N, in, H, W) -> (N, out, H', W'), sizes and errors as of ConvTranspose1d."""
        output_padding = self._extra_size(input, output_size)
        return F.conv_transpose2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            output_padding,
            self.groups,
            self.dilation,
        )


class ConvTranspose3d(_ConvTransposeNd):
    """(N, in, D, H, W) -> (N, out, D, H, W): the gradient of Conv3d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with b = sqrt(groups / (out
    * k)) for a kernel of k elements. forward(input, output_size) chooses among the possible sizes.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _triple(kernel_size),
            _triple(stride),
            _triple(padding),
            _triple(dilation),
            True,
            _triple(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """(N, in, D, H, W) -> (N, out, D', H', W'), sizes and errors as of ConvTranspose1d."""
        output_padding = self._extra_size(input, output_size)
        return F.conv_transpose3d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            output_padding,
            self.groups,
            self.dilation,
        )


class _LazyConvXdMixin(LazyLayer):
    """Finds `in_channels` at the first call."""

    _finds = "in_channels"

    out_channels: int
    kernel_size: tuple[int, ...]
    groups: int
    _weight_shape: Callable[[], tuple[int, ...]]

    def _unsized_conv(self, out_channels: int, bias: bool, device: Device, dtype: torch.dtype | None) -> None:
        """After __init__ without channels and bias: what the layer is to have."""
        self.out_channels = out_channels
        self._unsized(bias, device, dtype)

    def _get_num_spatial_dims(self) -> int:
        return len(self.kernel_size)

    def _get_in_channels(self, input: Tensor) -> int:
        """The channels of an input; RuntimeError where it has not the layer's dims."""
        dims = self._get_num_spatial_dims()
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{self.__class__.__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-dims - 1])

    def _find(self, input: Tensor) -> int:
        found = self._get_in_channels(input)
        if found % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        return found

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": self._weight_shape(), "bias": (self.out_channels,)}


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """Conv1d that finds `in_channels` at its first call, and is a Conv1d from then on."""

    cls_to_become = Conv1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: str | _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._unsized_conv(out_channels, bias, device, dtype)


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """Conv2d that finds `in_channels` at its first call, and is a Conv2d from then on."""

    cls_to_become = Conv2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: str | _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._unsized_conv(out_channels, bias, device, dtype)


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """Conv3d that finds `in_channels` at its first call, and is a Conv3d from then on."""

    cls_to_become = Conv3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: str | _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._unsized_conv(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """ConvTranspose1d that finds `in_channels` at its first call, and is a ConvTranspose1d from then on."""

    cls_to_become = ConvTranspose1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._unsized_conv(out_channels, bias, device, dtype)


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """ConvTranspose2d that finds `in_channels` at its first call, and is a ConvTranspose2d from then on."""

    cls_to_become = ConvTranspose2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_2_t = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._unsized_conv(out_channels, bias, device, dtype)


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """ConvTranspose3d that finds `in_channels` at its first call, and is a ConvTranspose3d from then on."""

    cls_to_become = ConvTranspose3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._unsized_conv(out_channels, bias, device, dtype)
