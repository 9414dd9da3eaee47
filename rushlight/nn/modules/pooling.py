"""Pooling over windows: maximum, average, p-norm, adaptive, fractional, and unpooling."""
from __future__ import annotations

from typing import Any

from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.utils import _ntuple


class _Pool(FunctionModule, function=None):
    """Windows that follow one another unless `stride` says otherwise."""

    _shown = "kernel_size=, stride=, padding="
    # Whether a size given as one number is kept as one for each dim.
    _tuples = False

    def _post_init(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size
        for name in ("kernel_size", "stride", "padding") if self._tuples else ():
            setattr(self, name, _ntuple(self._dims)(getattr(self, name)))


class _MaxPoolNd(_Pool, function="max_pool{}d", kernel_size=Any, stride=None, padding=0, dilation=1,
                 return_indices=False, ceil_mode=False):
    _by_name = True
    _shown = "kernel_size=, stride=, padding=, dilation=, ceil_mode="


class MaxPool1d(_MaxPoolNd, dims=1):
    """Maximum over windows of (N, C, L) or (C, L); padding counts as -inf.

    `stride` is the kernel size by default. `return_indices` gives (result, indices), for MaxUnpool.
    """


class MaxPool2d(_MaxPoolNd, dims=2):
    """Maximum over windows of (N, C, H, W) or (C, H, W). See MaxPool1d."""


class MaxPool3d(_MaxPoolNd, dims=3):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W). See MaxPool1d."""


class _MaxUnpoolNd(_Pool, function="max_unpool{}d", kernel_size=Any, stride=None, padding=0):
    __constants__: list[str] = []
    _tuples = _members_init = True

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return getattr(F, str(self._function))(input, indices, self.kernel_size, self.stride,
                                               self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, dims=1):
    """Put the values back where MaxPool1d's indices say; zeros elsewhere."""


class MaxUnpool2d(_MaxUnpoolNd, dims=2):
    """Put the values back where MaxPool2d's indices say; zeros elsewhere."""


class MaxUnpool3d(_MaxUnpoolNd, dims=3):
    """Put the values back where MaxPool3d's indices say; zeros elsewhere."""


class AvgPool1d(_Pool, function="avg_pool1d", dims=1, kernel_size=Any, stride=None, padding=0,
                ceil_mode=False, count_include_pad=True):
    """Average over windows of (N, C, L) or (C, L)."""

    _tuples = True


class _AvgPoolNd(_Pool, function="avg_pool{}d", kernel_size=Any, stride=None, padding=0,
                 ceil_mode=False, count_include_pad=True, divisor_override=None):
    divisor_override: int | None
    _members_init = True


class AvgPool2d(_AvgPoolNd, dims=2):
    """Average over windows of (N, C, H, W) or (C, H, W); `divisor_override` divides instead."""


class AvgPool3d(_AvgPoolNd, dims=3):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W). See AvgPool2d."""


class _FractionalMaxPool(FunctionModule, function="fractional_max_pool{}d"):
    _by_name = True
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _shown = ""

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Any = None) -> None:
        super().__init__()
        sizes = _ntuple(self._dims)
        self.kernel_size = sizes(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = sizes(output_size) if output_size is not None else None
        self.output_ratio = sizes(output_ratio) if output_ratio is not None else None
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPool, dims=2):
    """Maximum over windows placed at random, so that the result has the wanted size or ratio."""


class FractionalMaxPool3d(_FractionalMaxPool, dims=3):
    """Maximum over windows placed at random, so that the result has the wanted size or ratio."""


class _LPPoolNd(FunctionModule, function="lp_pool{}d", norm_type=float, kernel_size=Any, stride=None,
                ceil_mode=False):
    """`stride` is the kernel size by default."""


class LPPool1d(_LPPoolNd, dims=1):
    """(sum of x^p over each window)^(1/p) of (N, C, L) or (C, L)."""


class LPPool2d(_LPPoolNd, dims=2):
    """(sum of x^p over each window)^(1/p) of (N, C, H, W) or (C, H, W)."""


class LPPool3d(_LPPoolNd, dims=3):
    """(sum of x^p over each window)^(1/p) of (N, C, D, H, W) or (C, D, H, W)."""


class _AdaptiveMaxPoolNd(FunctionModule, function="adaptive_max_pool{}d", output_size=Any,
                         return_indices=False):
    _shown = "output_size="


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, dims=1):
    """Maximum over windows chosen so that the result has `output_size`."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, dims=2):
    """Maximum over windows chosen so that the result has `output_size`; None keeps a dim."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, dims=3):
    """Maximum over windows chosen so that the result has `output_size`; None keeps a dim."""


class _AdaptiveAvgPoolNd(FunctionModule, function="adaptive_avg_pool{}d", output_size=Any):
    """The window's sizes follow from the input's."""


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, dims=1):
    """Average over windows chosen so that the result has `output_size`."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, dims=2):
    """Average over windows chosen so that the result has `output_size`; None keeps a dim."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, dims=3):
    """Average over windows chosen so that the result has `output_size`; None keeps a dim."""
