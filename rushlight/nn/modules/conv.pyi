# Written by `python tools/stubs.py`.
"""Convolutions and transposed convolutions of 1, 2 and 3 dims, and their lazy forms."""
from builtins import bool as _bool, int as _int, type as _type
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.common_types import _size_1_t, _size_2_t, _size_3_t
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.nn.parameter import Parameter
from rushlight.types import Device
from typing import Any

class Conv1d(_ConvNd):
    """(N, in, L) -> (N, out, L), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _size_1_t, stride: _size_1_t = 1, padding: str | _size_1_t = 0, dilation: _size_1_t = 1, groups: _int = 1, bias: _bool = True, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any) -> Tensor:
        """(N, in, L) or without N -> (N, out, L') or without N, sizes and errors as of Conv2d."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Conv2d(_ConvNd):
    """(N, in, H, W) -> (N, out, H, W), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _size_2_t, stride: _size_2_t = 1, padding: str | _size_2_t = 0, dilation: _size_2_t = 1, groups: _int = 1, bias: _bool = True, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any) -> Tensor:
        """(N, in, H, W) or (in, H, W) -> (N, out, H', W') or (out, H', W'), each H' = (H + 2 * padding -
        dilation * (kernel_size - 1) - 1) // stride + 1; RuntimeError for other channels, dims or dtype.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Conv3d(_ConvNd):
    """(N, in, D, H, W) -> (N, out, D, H, W), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _size_3_t, stride: _size_3_t = 1, padding: str | _size_3_t = 0, dilation: _size_3_t = 1, groups: _int = 1, bias: _bool = True, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any) -> Tensor:
        """(N, in, D, H, W) or without N -> (N, out, D', H', W'), sizes and errors as of Conv2d."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class ConvTranspose1d(_ConvTransposeNd):
    """(N, in, L) -> (N, out, L): the gradient of Conv1d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with b = sqrt(groups / (out
    * k)) for a kernel of k elements. forward(input, output_size) chooses among the possible sizes.
    """

    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _size_1_t, stride: _size_1_t = 1, padding: _size_1_t = 0, output_padding: _size_1_t = 0, groups: _int = 1, bias: _bool = True, dilation: _size_1_t = 1, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any, output_size: Sequence[_int] | None = None) -> Tensor:
        """(N, in, L) -> (N, out, L'), L' = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) +
        output_padding + 1.

        `output_size` instead of output_padding: ValueError where it is none of the possible sizes.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class ConvTranspose2d(_ConvTransposeNd):
    """(N, in, H, W) -> (N, out, H, W): the gradient of Conv2d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with b = sqrt(groups / (out
    * k)) for a kernel of k elements. forward(input, output_size) chooses among the possible sizes.
    """

    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _size_2_t, stride: _size_2_t = 1, padding: _size_2_t = 0, output_padding: _size_2_t = 0, groups: _int = 1, bias: _bool = True, dilation: _size_2_t = 1, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any, output_size: Sequence[_int] | None = None) -> Tensor:
        """(N, in, H, W) -> (N, out, H', W'), sizes and errors as of ConvTranspose1d."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class ConvTranspose3d(_ConvTransposeNd):
    """(N, in, D, H, W) -> (N, out, D, H, W): the gradient of Conv3d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with b = sqrt(groups / (out
    * k)) for a kernel of k elements. forward(input, output_size) chooses among the possible sizes.
    """

    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: _size_3_t, stride: _size_3_t = 1, padding: _size_3_t = 0, output_padding: _size_3_t = 0, groups: _int = 1, bias: _bool = True, dilation: _size_3_t = 1, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Any, output_size: Sequence[_int] | None = None) -> Tensor:
        """(N, in, D, H, W) -> (N, out, D', H', W'), sizes and errors as of ConvTranspose1d."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """Conv1d that finds `in_channels` at its first call, and is a Conv1d from then on."""

    def __init__(self, out_channels: _int, kernel_size: _size_1_t, stride: _size_1_t = 1, padding: str | _size_1_t = 0, dilation: _size_1_t = 1, groups: _int = 1, bias: _bool = True, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """Conv2d that finds `in_channels` at its first call, and is a Conv2d from then on."""

    def __init__(self, out_channels: _int, kernel_size: _size_2_t, stride: _size_2_t = 1, padding: str | _size_2_t = 0, dilation: _size_2_t = 1, groups: _int = 1, bias: _bool = True, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """Conv3d that finds `in_channels` at its first call, and is a Conv3d from then on."""

    def __init__(self, out_channels: _int, kernel_size: _size_3_t, stride: _size_3_t = 1, padding: str | _size_3_t = 0, dilation: _size_3_t = 1, groups: _int = 1, bias: _bool = True, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """ConvTranspose1d that finds `in_channels` at its first call, and is a ConvTranspose1d from then on."""

    def __init__(self, out_channels: _int, kernel_size: _size_1_t, stride: _size_1_t = 1, padding: _size_1_t = 0, output_padding: _size_1_t = 0, groups: _int = 1, bias: _bool = True, dilation: _size_1_t = 1, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """ConvTranspose2d that finds `in_channels` at its first call, and is a ConvTranspose2d from then on."""

    def __init__(self, out_channels: _int, kernel_size: _size_2_t, stride: _size_2_t = 1, padding: _size_2_t = 0, output_padding: _size_2_t = 0, groups: _int = 1, bias: _bool = True, dilation: _size_2_t = 1, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """ConvTranspose3d that finds `in_channels` at its first call, and is a ConvTranspose3d from then on."""

    def __init__(self, out_channels: _int, kernel_size: _size_3_t, stride: _size_3_t = 1, padding: _size_3_t = 0, output_padding: _size_3_t = 0, groups: _int = 1, bias: _bool = True, dilation: _size_3_t = 1, padding_mode: str = 'zeros', device: Device = None, dtype: _dtype | None = None) -> None: ...
    cls_to_become: _type[Any]
class _ConvNd(Module):
    """What all convolutions share: sizes as tuples, weight, bias, their initialisation."""

    bias: Parameter | None
    dilation: tuple[_int, ...]
    groups: _int
    in_channels: _int
    kernel_size: tuple[_int, ...]
    out_channels: _int
    output_padding: tuple[_int, ...]
    padding: str | tuple[_int, ...]
    padding_mode: str
    stride: tuple[_int, ...]
    transposed: _bool
    weight: Parameter
    def __init__(self, in_channels: _int, out_channels: _int, kernel_size: tuple[_int, ...], stride: tuple[_int, ...], padding: str | tuple[_int, ...], dilation: tuple[_int, ...], transposed: _bool, output_padding: tuple[_int, ...], groups: _int, bias: _bool, padding_mode: str, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: channels, kernel_size, stride, and other options where not the default."""
    def reset_parameters(self) -> None:
        """Draw weight and bias anew from U(-b, b), b = 1 / sqrt(fan_in): Kaiming's rule with a = sqrt(5)."""
class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions of 1, 2 and 3 dims: the size of a result can be chosen."""

class _LazyConvXdMixin(LazyLayer):
    """Finds `in_channels` at the first call."""

    groups: _int
    kernel_size: tuple[_int, ...]
    out_channels: _int
def _check(in_channels: _int, out_channels: _int, groups: _int, stride: tuple[_int, ...], padding: _int | str | Sequence[_int], padding_mode: str) -> None: ...
def _pad_widths(padding: str | tuple[_int, ...], kernel_size: tuple[_int, ...], dilation: tuple[_int, ...]) -> Any:
    """The padding as F.pad takes it: last dim first, before and after."""
__all__ = ['Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d',
    'LazyConv1d', 'LazyConv2d', 'LazyConv3d', 'LazyConvTranspose1d', 'LazyConvTranspose2d',
    'LazyConvTranspose3d']
