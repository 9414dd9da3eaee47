"""Convolutions and transposed convolutions of 1, 2 and 3 dims, and their lazy forms."""

from __future__ import annotations

import math
from typing import Any

from rushlight.nn import functional as F, init
from rushlight.nn.modules.function_module import FunctionModule, members
from rushlight.nn.modules.lazy import LazyLayer, lazy_forms
from rushlight.nn.modules.linear import _init_bias
from rushlight.nn.modules.utils import _ntuple, _reverse_repeat_tuple, changed, register_empty

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(FunctionModule, function=None):
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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, groups, stride, padding, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.transposed, self.output_padding = dilation, transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
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
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.weight.numel():
            _init_bias(self.bias, self.weight)

    def extra_repr(self) -> str:
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


class _Conv(_ConvNd, function="conv{}d"):
    """(N, in, {space}) -> (N, out, {space}), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

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
        sizes = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            padding if isinstance(padding, str) else sizes(padding),
            sizes(dilation),
            False,
            sizes(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return getattr(F, str(self._function))(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


Conv1d, Conv2d, Conv3d = members(_Conv, 1, 2, 3)


class _ConvTransposeNd(_ConvNd, function="conv_transpose{}d"):
    """(N, in, {space}) -> (N, out, {space}): the gradient of Conv{n}d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with
    b = sqrt(groups / (out * k)) for a kernel of k elements. forward(input, output_size) chooses among the
    possible sizes.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        sizes = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            sizes(padding),
            sizes(dilation),
            True,
            sizes(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Any, output_size: Any) -> Any:
        """The extra size at one side with which the result has `output_size`."""
        if output_size is None:
            return self.output_padding
        dims = len(self.kernel_size)
        leading = 2 if input.dim() == dims + 2 else 1
        sizes = output_size[leading:] if len(output_size) == leading + dims else output_size
        if len(sizes) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must "
                f"have {dims} or {leading + dims} elements (got {len(output_size)})"
            )
        least = [
            (input.size(leading + d) - 1) * self.stride[d]
            - 2 * int(self.padding[d])
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(dims)
        ]
        most = [low + step - 1 for low, step in zip(least, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(least, sizes, most)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range "
                f"from {least} to {most} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(sizes, least)]

    def forward(self, input: Any, output_size: Any = None) -> Any:
        extra = self._output_padding(input, output_size)
        return getattr(F, str(self._function))(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = members(_ConvTransposeNd, 1, 2, 3)
# Where `bias` stands among the arguments after kernel_size.
_BIAS = 4


class _LazyConvXdMixin(LazyLayer):
    """Finds `in_channels` at the first call."""

    _finds = "in_channels"

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if len(args) > _BIAS:
            bias, args = args[_BIAS], (*args[:_BIAS], False, *args[_BIAS + 1 :])
        else:
            kwargs["bias"] = False
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        self.out_channels = out_channels
        self._unsized(bias, device, dtype)

    def _find(self, input: Any) -> int:
        dims = len(self.kernel_size)
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{self.__class__.__name__}, but got input of size: {input.shape}"
            )
        found = input.shape[-dims - 1]
        if found % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        return found

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": self._weight_shape(), "bias": (self.out_channels,)}


LazyConv1d, LazyConv2d, LazyConv3d = lazy_forms(_LazyConvXdMixin, Conv1d, Conv2d, Conv3d)
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = lazy_forms(
    _LazyConvXdMixin, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
)
