"""Pooling over windows: maximum, average, p-norm, adaptive, fractional, and unpooling.

Sizes are one number for all dims, or one for each. Where `stride` is None, windows follow one another: it is
the kernel size.
"""

from __future__ import annotations

from typing import Any

from rushlight import Tensor
from rushlight.nn import functional as F
from rushlight.nn.common_types import (
    _ratio_2_t,
    _ratio_3_t,
    _ratio_any_t,
    _size_1_t,
    _size_2_opt_t,
    _size_2_t,
    _size_3_opt_t,
    _size_3_t,
    _size_any_opt_t,
    _size_any_t,
)
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import _pair, _single, _triple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    """The base of maximum pooling: its options."""

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, stride, padding, dilation, ceil_mode."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Maximum over windows of (N, C, L) or (C, L); padding counts as -inf.

    `return_indices` gives (result, indices), for MaxUnpool1d. `ceil_mode`: a last window that reaches over
    the end counts as well.
    """

    kernel_size: _size_1_t
    stride: _size_1_t
    padding: _size_1_t
    dilation: _size_1_t

    def forward(self, input: Tensor) -> Any:
        """(N, C, L) or (C, L) -> windows for L, or (that, int64 indices) with `return_indices`."""
        return F.max_pool1d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
        )


class MaxPool2d(_MaxPoolNd):
    """Maximum over windows of (N, C, H, W) or (C, H, W); padding counts as -inf.

    `return_indices` gives (result, indices), for MaxUnpool2d. `ceil_mode`: a last window that reaches over
    the end counts as well.
    """

    kernel_size: _size_2_t
    stride: _size_2_t
    padding: _size_2_t
    dilation: _size_2_t

    def forward(self, input: Tensor) -> Any:
        """(N, C, H, W) or (C, H, W) -> the same with windows for H and W, or (that, int64 indices).

        Each size becomes (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1, rounded up with
        `ceil_mode`. The stride is the kernel's size unless it is given.
        """
        return F.max_pool2d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
        )


class MaxPool3d(_MaxPoolNd):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W); padding counts as -inf.

    `return_indices` gives (result, indices), for MaxUnpool3d. `ceil_mode`: a last window that reaches over
    the end counts as well.
    """

    kernel_size: _size_3_t
    stride: _size_3_t
    padding: _size_3_t
    dilation: _size_3_t

    def forward(self, input: Tensor) -> Any:
        """(N, C, D, H, W) or (C, D, H, W) -> windows for D, H, W, or (that, int64 indices)."""
        return F.max_pool3d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
        )


class _MaxUnpoolNd(Module):
    """The base of unpooling: what is shown."""

    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, stride, padding."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put the values of (N, C, L) or (C, L) back where MaxPool1d's indices say; zeros elsewhere.

    forward's `output_size` chooses among the sizes that pooling makes this one of.
    """

    def __init__(
        self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(N, C, L) or (C, L) and int64 indices of that shape -> (N, C, L'); ValueError for an impossible
        size.
        """
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Put the values of (N, C, H, W) or (C, H, W) back where MaxPool2d's indices say; zeros elsewhere.

    forward's `output_size` chooses among the sizes that pooling makes this one of.
    """

    def __init__(
        self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride if stride is not None else kernel_size)
        self.padding = _pair(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(N, C, H, W) or (C, H, W) and int64 indices of that shape -> (N, C, H', W')."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Put the values of (N, C, D, H, W) or (C, D, H, W) back where MaxPool3d's indices say; zeros elsewhere.

    forward's `output_size` chooses among the sizes that pooling makes this one of.
    """

    def __init__(
        self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _triple(kernel_size)
        self.stride = _triple(stride if stride is not None else kernel_size)
        self.padding = _triple(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) and int64 indices of that shape -> (N, C, D', H', W')."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    """The base of average pooling: what is shown."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, stride, padding."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Average over windows of (N, C, L) or (C, L).

    `count_include_pad`: padding counts as zeros; else it does not count.
    """

    def __init__(
        self,
        kernel_size: _size_1_t,
        stride: _size_1_t | None = None,
        padding: _size_1_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, L) or (C, L) -> the same with windows for L, of the input's dtype."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(_AvgPoolNd):
    """Average over windows of (N, C, H, W) or (C, H, W).

    `count_include_pad`: padding counts as zeros; else it does not count. `divisor_override` divides instead
    of the window's size.
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(
        self,
        kernel_size: _size_2_t,
        stride: _size_2_t | None = None,
        padding: _size_2_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> the same with windows for H and W, of the input's dtype."""
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(_AvgPoolNd):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W).

    `count_include_pad`: padding counts as zeros; else it does not count. `divisor_override` divides instead
    of the window's size.
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(
        self,
        kernel_size: _size_3_t,
        stride: _size_3_t | None = None,
        padding: _size_3_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> the same with windows for D, H and W, of the input's dtype."""
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class FractionalMaxPool2d(Module):
    """Maximum over windows placed at random, so that the result of (N, C, H, W) or (C, H, W) has
    `output_size`, or `output_ratio` times the input's size. One of the two is given.

    `_random_samples`: where the windows are, numbers in [0, 1) of shape (N, C, 2).
    """

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(
        self,
        kernel_size: _size_2_t,
        output_size: _size_2_t | None = None,
        output_ratio: _ratio_2_t | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = _pair(output_size) if output_size is not None else None
        self.output_ratio = _pair(output_ratio) if output_ratio is not None else None
        _check_size_or_ratio("FractionalMaxPool2d", output_size, output_ratio)

    def forward(self, input: Tensor) -> Any:
        """(N, C, H, W) or (C, H, W) -> (N, C, *output_size), or (that, int64 indices) if asked."""
        return F.fractional_max_pool2d(
            input,
            kernel_size=self.kernel_size,
            return_indices=self.return_indices,
            output_size=self.output_size,
            output_ratio=self.output_ratio,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool3d(Module):
    """Maximum over windows placed at random, so that the result of (N, C, D, H, W) or (C, D, H, W) has
    `output_size`, or `output_ratio` times the input's size. One of the two is given.

    `_random_samples`: where the windows are, numbers in [0, 1) of shape (N, C, 3).
    """

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(
        self,
        kernel_size: _size_3_t,
        output_size: _size_3_t | None = None,
        output_ratio: _ratio_3_t | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = _triple(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = _triple(output_size) if output_size is not None else None
        self.output_ratio = _triple(output_ratio) if output_ratio is not None else None
        _check_size_or_ratio("FractionalMaxPool3d", output_size, output_ratio)

    def forward(self, input: Tensor) -> Any:
        """(N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size), or (that, int64 indices)."""
        return F.fractional_max_pool3d(
            input,
            kernel_size=self.kernel_size,
            return_indices=self.return_indices,
            output_size=self.output_size,
            output_ratio=self.output_ratio,
            _random_samples=self._random_samples,
        )


def _check_size_or_ratio(
    name: str, output_size: _size_any_t | None, output_ratio: _ratio_any_t | None
) -> None:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
    if output_size is not None and output_ratio is not None:
        raise ValueError("only one of output_size and output_ratio may be specified")
    if output_ratio is not None and not all(0 < ratio < 1 for ratio in _single(output_ratio)):
        raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class _LPPoolNd(Module):
    """The base of p-norm pooling: its options."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self,
        norm_type: float,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """What repr() shows: norm_type, kernel_size, stride, ceil_mode."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, L) or (C, L); p is `norm_type`."""

    kernel_size: _size_1_t
    stride: _size_1_t | None

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, L) or (C, L) -> the same with windows for L, of the input's dtype."""
        return F.lp_pool1d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, H, W) or (C, H, W); p is `norm_type`."""

    kernel_size: _size_2_t
    stride: _size_2_t | None

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> the same with windows for H and W, of the input's dtype."""
        return F.lp_pool2d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, D, H, W) or (C, D, H, W); p is `norm_type`."""

    kernel_size: _size_3_t
    stride: _size_3_t | None

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> the same with windows for D, H and W, of the input's dtype."""
        return F.lp_pool3d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveMaxPoolNd(Module):
    """The base of adaptive maximum pooling: its options."""

    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        """What repr() shows: output_size."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, L) or (C, L), chosen so that the result has `output_size`.

    `return_indices` gives (result, indices), for MaxUnpool1d.
    """

    output_size: _size_1_t

    def forward(self, input: Tensor) -> Any:
        """(N, C, L) or (C, L) -> (N, C, output_size), or (that, int64 indices) with `return_indices`."""
        size, return_indices = self.output_size, self.return_indices
        return F.adaptive_max_pool1d(input, size, return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, H, W) or (C, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's. `return_indices` gives (result, indices), for MaxUnpool2d.
    """

    output_size: _size_2_opt_t

    def forward(self, input: Tensor) -> Any:
        """(N, C, H, W) or (C, H, W) -> (N, C, *output_size), or (that, int64 indices)."""
        size, return_indices = self.output_size, self.return_indices
        return F.adaptive_max_pool2d(input, size, return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's. `return_indices` gives (result, indices), for MaxUnpool3d.
    """

    output_size: _size_3_opt_t

    def forward(self, input: Tensor) -> Any:
        """(N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size), or (that, int64 indices)."""
        size, return_indices = self.output_size, self.return_indices
        return F.adaptive_max_pool3d(input, size, return_indices)


class _AdaptiveAvgPoolNd(Module):
    """The base of adaptive average pooling: its option."""

    __constants__ = ["output_size"]

    def __init__(self, output_size: _size_any_opt_t) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """What repr() shows: output_size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, L) or (C, L), chosen so that the result has `output_size`."""

    output_size: _size_1_t

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, L) or (C, L) -> (N, C, output_size), of the input's dtype."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, H, W) or (C, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's.
    """

    output_size: _size_2_opt_t

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> (N, C, *output_size), of the input's dtype."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's.
    """

    output_size: _size_3_opt_t

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size), of the input's dtype."""
        return F.adaptive_avg_pool3d(input, self.output_size)
