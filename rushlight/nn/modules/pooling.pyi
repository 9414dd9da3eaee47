# Written by `python tools/stubs.py`.
"""Pooling over windows: maximum, average, p-norm, adaptive, fractional, and unpooling.

Sizes are one number for all dims, or one for each. Where `stride` is None, windows follow one another: it is
the kernel size.
"""
from builtins import bool as _bool, float as _float, int as _int
from rushlight import Tensor
from rushlight.nn.common_types import _ratio_2_t, _ratio_3_t, _ratio_any_t, _size_1_t, _size_2_opt_t, _size_2_t, _size_3_opt_t, _size_3_t, _size_any_opt_t, _size_any_t
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, L) or (C, L), chosen so that the result has `output_size`."""

    output_size: _size_1_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, L) or (C, L) -> (N, C, output_size), of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, H, W) or (C, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's.
    """

    output_size: _size_2_opt_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> (N, C, *output_size), of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's.
    """

    output_size: _size_3_opt_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size), of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, L) or (C, L), chosen so that the result has `output_size`.

    `return_indices` gives (result, indices), for MaxUnpool1d.
    """

    output_size: _size_1_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, L) or (C, L) -> (N, C, output_size), or (that, int64 indices) with `return_indices`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, H, W) or (C, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's. `return_indices` gives (result, indices), for MaxUnpool2d.
    """

    output_size: _size_2_opt_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> (N, C, *output_size), or (that, int64 indices)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W), chosen so that the result has `output_size`.

    None as one of its sizes keeps the input's. `return_indices` gives (result, indices), for MaxUnpool3d.
    """

    output_size: _size_3_opt_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size), or (that, int64 indices)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AvgPool1d(_AvgPoolNd):
    """Average over windows of (N, C, L) or (C, L).

    `count_include_pad`: padding counts as zeros; else it does not count.
    """

    ceil_mode: _bool
    count_include_pad: _bool
    kernel_size: Any
    padding: Any
    stride: Any
    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> None: ...
    def forward(self, input: Any) -> Tensor:
        """(N, C, L) or (C, L) -> the same with windows for L, of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AvgPool2d(_AvgPoolNd):
    """Average over windows of (N, C, H, W) or (C, H, W).

    `count_include_pad`: padding counts as zeros; else it does not count. `divisor_override` divides instead
    of the window's size.
    """

    ceil_mode: _bool
    count_include_pad: _bool
    divisor_override: _int | None
    kernel_size: _size_2_t
    padding: _size_2_t
    stride: Any
    def __init__(self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> the same with windows for H and W, of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class AvgPool3d(_AvgPoolNd):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W).

    `count_include_pad`: padding counts as zeros; else it does not count. `divisor_override` divides instead
    of the window's size.
    """

    ceil_mode: _bool
    count_include_pad: _bool
    divisor_override: _int | None
    kernel_size: _size_3_t
    padding: _size_3_t
    stride: Any
    def __init__(self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> the same with windows for D, H and W, of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class FractionalMaxPool2d(Module):
    """Maximum over windows placed at random, so that the result of (N, C, H, W) or (C, H, W) has
    `output_size`, or `output_ratio` times the input's size. One of the two is given.

    `_random_samples`: where the windows are, numbers in [0, 1) of shape (N, C, 2).
    """

    kernel_size: Any
    output_ratio: Any
    output_size: Any
    return_indices: _bool
    def __init__(self, kernel_size: _size_2_t, output_size: _size_2_t | None = None, output_ratio: _ratio_2_t | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> (N, C, *output_size), or (that, int64 indices) if asked."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class FractionalMaxPool3d(Module):
    """Maximum over windows placed at random, so that the result of (N, C, D, H, W) or (C, D, H, W) has
    `output_size`, or `output_ratio` times the input's size. One of the two is given.

    `_random_samples`: where the windows are, numbers in [0, 1) of shape (N, C, 3).
    """

    kernel_size: Any
    output_ratio: Any
    output_size: Any
    return_indices: _bool
    def __init__(self, kernel_size: _size_3_t, output_size: _size_3_t | None = None, output_ratio: _ratio_3_t | None = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Any) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size), or (that, int64 indices)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LPPool1d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, L) or (C, L); p is `norm_type`."""

    kernel_size: _size_1_t
    stride: _size_1_t | None
    def forward(self, input: Any) -> Tensor:
        """(N, C, L) or (C, L) -> the same with windows for L, of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LPPool2d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, H, W) or (C, H, W); p is `norm_type`."""

    kernel_size: _size_2_t
    stride: _size_2_t | None
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> the same with windows for H and W, of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class LPPool3d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, D, H, W) or (C, D, H, W); p is `norm_type`."""

    kernel_size: _size_3_t
    stride: _size_3_t | None
    def forward(self, input: Any) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> the same with windows for D, H and W, of the input's dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MaxPool1d(_MaxPoolNd):
    """Maximum over windows of (N, C, L) or (C, L); padding counts as -inf.

    `return_indices` gives (result, indices), for MaxUnpool1d. `ceil_mode`: a last window that reaches over
    the end counts as well.
    """

    dilation: _size_1_t
    kernel_size: _size_1_t
    padding: _size_1_t
    stride: _size_1_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, L) or (C, L) -> windows for L, or (that, int64 indices) with `return_indices`."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MaxPool2d(_MaxPoolNd):
    """Maximum over windows of (N, C, H, W) or (C, H, W); padding counts as -inf.

    `return_indices` gives (result, indices), for MaxUnpool2d. `ceil_mode`: a last window that reaches over
    the end counts as well.
    """

    dilation: _size_2_t
    kernel_size: _size_2_t
    padding: _size_2_t
    stride: _size_2_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or (C, H, W) -> the same with windows for H and W, or (that, int64 indices).

        Each size becomes (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1, rounded up with
        `ceil_mode`. The stride is the kernel's size unless it is given.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MaxPool3d(_MaxPoolNd):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W); padding counts as -inf.

    `return_indices` gives (result, indices), for MaxUnpool3d. `ceil_mode`: a last window that reaches over
    the end counts as well.
    """

    dilation: _size_3_t
    kernel_size: _size_3_t
    padding: _size_3_t
    stride: _size_3_t
    def forward(self, input: Any) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) -> windows for D, H, W, or (that, int64 indices)."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MaxUnpool1d(_MaxUnpoolNd):
    """Put the values of (N, C, L) or (C, L) back where MaxPool1d's indices say; zeros elsewhere.

    forward's `output_size` chooses among the sizes that pooling makes this one of.
    """

    kernel_size: Any
    padding: Any
    stride: Any
    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0) -> None: ...
    def forward(self, input: Any, indices: Any, output_size: list[_int] | None = None) -> Tensor:
        """(N, C, L) or (C, L) and int64 indices of that shape -> (N, C, L'); ValueError for an impossible
        size.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MaxUnpool2d(_MaxUnpoolNd):
    """Put the values of (N, C, H, W) or (C, H, W) back where MaxPool2d's indices say; zeros elsewhere.

    forward's `output_size` chooses among the sizes that pooling makes this one of.
    """

    kernel_size: Any
    padding: Any
    stride: Any
    def __init__(self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0) -> None: ...
    def forward(self, input: Any, indices: Any, output_size: list[_int] | None = None) -> Tensor:
        """(N, C, H, W) or (C, H, W) and int64 indices of that shape -> (N, C, H', W')."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class MaxUnpool3d(_MaxUnpoolNd):
    """Put the values of (N, C, D, H, W) or (C, D, H, W) back where MaxPool3d's indices say; zeros elsewhere.

    forward's `output_size` chooses among the sizes that pooling makes this one of.
    """

    kernel_size: Any
    padding: Any
    stride: Any
    def __init__(self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0) -> None: ...
    def forward(self, input: Any, indices: Any, output_size: list[_int] | None = None) -> Tensor:
        """(N, C, D, H, W) or (C, D, H, W) and int64 indices of that shape -> (N, C, D', H', W')."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _AdaptiveAvgPoolNd(Module):
    """The base of adaptive average pooling: its option."""

    output_size: _size_any_opt_t
    def __init__(self, output_size: _size_any_opt_t) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: output_size."""
class _AdaptiveMaxPoolNd(Module):
    """The base of adaptive maximum pooling: its options."""

    output_size: _size_any_opt_t
    return_indices: _bool
    def __init__(self, output_size: _size_any_opt_t, return_indices: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: output_size."""
class _AvgPoolNd(Module):
    """The base of average pooling: what is shown."""

    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, stride, padding."""
class _LPPoolNd(Module):
    """The base of p-norm pooling: its options."""

    ceil_mode: _bool
    kernel_size: _size_any_t
    norm_type: _float
    stride: _size_any_t | None
    def __init__(self, norm_type: _float, kernel_size: _size_any_t, stride: _size_any_t | None = None, ceil_mode: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: norm_type, kernel_size, stride, ceil_mode."""
class _MaxPoolNd(Module):
    """The base of maximum pooling: its options."""

    ceil_mode: _bool
    dilation: _size_any_t
    kernel_size: _size_any_t
    padding: _size_any_t
    return_indices: _bool
    stride: Any
    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0, dilation: _size_any_t = 1, return_indices: _bool = False, ceil_mode: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, stride, padding, dilation, ceil_mode."""
class _MaxUnpoolNd(Module):
    """The base of unpooling: what is shown."""

    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, stride, padding."""
def _check_size_or_ratio(name: str, output_size: _size_any_t | None, output_ratio: _ratio_any_t | None) -> None: ...
__all__ = ['AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveAvgPool3d', 'AdaptiveMaxPool1d',
    'AdaptiveMaxPool2d', 'AdaptiveMaxPool3d', 'AvgPool1d', 'AvgPool2d', 'AvgPool3d', 'FractionalMaxPool2d',
    'FractionalMaxPool3d', 'LPPool1d', 'LPPool2d', 'LPPool3d', 'MaxPool1d', 'MaxPool2d', 'MaxPool3d',
    'MaxUnpool1d', 'MaxUnpool2d', 'MaxUnpool3d']
