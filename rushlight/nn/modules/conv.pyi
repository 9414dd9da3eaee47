# Written by `python tools/stubs.py`.
"""Convolutions and transposed convolutions of 1, 2 and 3 dims, and their lazy forms."""
from collections.abc import Sequence
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.lazy import LazyLayer
from rushlight.nn.parameter import Parameter
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class Conv1d(_Conv):
    """(N, in, L) -> (N, out, L), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

class Conv2d(_Conv):
    """(N, in, H, W) -> (N, out, H, W), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

class Conv3d(_Conv):
    """(N, in, D, H, W) -> (N, out, D, H, W), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

class ConvTranspose1d(_ConvTransposeNd):
    """(N, in, L) -> (N, out, L): the gradient of Conv1d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with
    b = sqrt(groups / (out * k)) for a kernel of k elements. forward(input, output_size) chooses among the
    possible sizes.
    """

class ConvTranspose2d(_ConvTransposeNd):
    """(N, in, H, W) -> (N, out, H, W): the gradient of Conv2d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with
    b = sqrt(groups / (out * k)) for a kernel of k elements. forward(input, output_size) chooses among the
    possible sizes.
    """

class ConvTranspose3d(_ConvTransposeNd):
    """(N, in, D, H, W) -> (N, out, D, H, W): the gradient of Conv3d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with
    b = sqrt(groups / (out * k)) for a kernel of k elements. forward(input, output_size) chooses among the
    possible sizes.
    """

class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """Conv1d that finds `in_channels` at its first call."""

    cls_to_become: type[Any]
class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """Conv2d that finds `in_channels` at its first call."""

    cls_to_become: type[Any]
class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """Conv3d that finds `in_channels` at its first call."""

    cls_to_become: type[Any]
class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """ConvTranspose1d that finds `in_channels` at its first call."""

    cls_to_become: type[Any]
class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """ConvTranspose2d that finds `in_channels` at its first call."""

    cls_to_become: type[Any]
class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """ConvTranspose3d that finds `in_channels` at its first call."""

    cls_to_become: type[Any]
class _Conv(_ConvNd):
    """(N, in, {space}) -> (N, out, {space}), of another size in these; the batch dim may be missing.

    weight: (out, in / groups, *kernel_size) and bias: (out,), both from U(-b, b), b = sqrt(groups / (in * k))
    for a kernel of k elements. `padding` is a number (or one for each dim), "same" or "valid";
    `padding_mode` zeros, reflect, replicate or circular.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class _ConvNd(FunctionModule):
    """What all convolutions share: sizes as tuples, weight, bias, their initialisation."""

    bias: Parameter
    dilation: tuple[int, ...]
    groups: int
    in_channels: int
    kernel_size: tuple[int, ...]
    out_channels: int
    output_padding: tuple[int, ...]
    padding: str | tuple[int, ...]
    padding_mode: str
    stride: tuple[int, ...]
    transposed: bool
    weight: Parameter
    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str: ...
    def reset_parameters(self) -> None: ...
class _ConvTransposeNd(_ConvNd):
    """(N, in, {space}) -> (N, out, {space}): the gradient of Conv{n}d with respect to its input.

    weight: (in, out / groups, *kernel_size) and bias: (out,), both from U(-b, b) with
    b = sqrt(groups / (out * k)) for a kernel of k elements. forward(input, output_size) chooses among the
    possible sizes.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True, dilation: int | Sequence[int] = 1, padding_mode: str = 'zeros', device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input: Tensor, output_size: int | None | Sequence[int | None] = None) -> Tensor: ...
    def __call__(self, input: Tensor, output_size: int | None | Sequence[int | None] = None) -> Tensor: ...
class _LazyConvXdMixin(LazyLayer):
    """Finds `in_channels` at the first call."""

    out_channels: int
    def __init__(self, out_channels: int, kernel_size: int | Sequence[int], *args: Any, device: str | int | _device | None = None, dtype: _dtype | None = None, bias: bool = True, **kwargs: Any) -> None: ...
def _check(in_channels: int, out_channels: int, groups: int, stride: tuple[int, ...], padding: int | str | Sequence[int], padding_mode: str) -> None: ...
def _pad_widths(padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """The padding as F.pad takes it: last dim first, before and after."""
