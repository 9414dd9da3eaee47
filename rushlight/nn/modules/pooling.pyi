# Written by `python tools/stubs.py`.
"""Pooling over windows: maximum, average, p-norm, adaptive, fractional, and unpooling."""
from collections.abc import Sequence
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, L) or (C, L), chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, H, W) or (C, H, W), chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W), chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, L) or (C, L), chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, H, W) or (C, H, W), chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W), chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AvgPool1d(_Pool):
    """Average over windows of (N, C, L) or (C, L)."""

    ceil_mode: bool
    count_include_pad: bool
    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AvgPool2d(_AvgPoolNd):
    """Average over windows of (N, C, H, W) or (C, H, W); `divisor_override` divides instead of their size."""

    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AvgPool3d(_AvgPoolNd):
    """Average over windows of (N, C, D, H, W) or (C, D, H, W); `divisor_override` divides instead of their size."""

    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maximum over windows placed at random, so that the result of (N, C, H, W) or (C, H, W) has the wanted size or ratio."""

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maximum over windows placed at random, so that the result of (N, C, D, H, W) or (C, D, H, W) has the wanted size or ratio."""

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LPPool1d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, L) or (C, L); `stride` is the kernel size by default."""

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LPPool2d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, H, W) or (C, H, W); `stride` is the kernel size by default."""

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LPPool3d(_LPPoolNd):
    """(sum of x^p over each window)^(1/p) of (N, C, D, H, W) or (C, D, H, W); `stride` is the kernel size by default."""

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxPool1d(_MaxPoolNd):
    """Maximum over windows of (N, C, L) or (C, L); padding counts as -inf.

    `stride` is the kernel size by default. `return_indices` gives (result, indices), for MaxUnpool1d.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxPool2d(_MaxPoolNd):
    """Maximum over windows of (N, C, H, W) or (C, H, W); padding counts as -inf.

    `stride` is the kernel size by default. `return_indices` gives (result, indices), for MaxUnpool2d.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxPool3d(_MaxPoolNd):
    """Maximum over windows of (N, C, D, H, W) or (C, D, H, W); padding counts as -inf.

    `stride` is the kernel size by default. `return_indices` gives (result, indices), for MaxUnpool3d.
    """

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxUnpool1d(_MaxUnpoolNd):
    """Put the values back where MaxPool1d's indices say; zeros elsewhere."""

    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0) -> None: ...
class MaxUnpool2d(_MaxUnpoolNd):
    """Put the values back where MaxPool2d's indices say; zeros elsewhere."""

    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0) -> None: ...
class MaxUnpool3d(_MaxUnpoolNd):
    """Put the values back where MaxPool3d's indices say; zeros elsewhere."""

    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0) -> None: ...
class _AdaptiveAvgPoolNd(FunctionModule):
    """Average over windows of {images}, chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    output_size: int | None | Sequence[int | None]
    def __init__(self, output_size: int | None | Sequence[int | None]) -> None: ...
    __constants__: list[Any]
class _AdaptiveMaxPoolNd(FunctionModule):
    """Maximum over windows of {images}, chosen so that the result has `output_size`.

    None keeps one of several dims.
    """

    output_size: int | None | Sequence[int | None]
    return_indices: bool
    def __init__(self, output_size: int | None | Sequence[int | None], return_indices: bool = False) -> None: ...
    __constants__: list[Any]
class _AvgPoolNd(_Pool):
    """Average over windows of {images}; `divisor_override` divides instead of their size."""

    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    __constants__: list[Any]
class _FractionalMaxPoolNd(FunctionModule):
    """Maximum over windows placed at random, so that the result of {images} has the wanted size or ratio."""

    kernel_size: Any
    output_ratio: Any
    output_size: Any
    return_indices: bool
    def __init__(self, kernel_size: int | Sequence[int], output_size: int | None | Sequence[int | None] = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Any = None) -> None: ...
    __constants__: list[Any]
class _LPPoolNd(FunctionModule):
    """(sum of x^p over each window)^(1/p) of {images}; `stride` is the kernel size by default."""

    ceil_mode: bool
    kernel_size: int | Sequence[int]
    norm_type: float
    stride: int | Sequence[int] | None
    def __init__(self, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> None: ...
    __constants__: list[Any]
class _MaxPoolNd(_Pool):
    """Maximum over windows of {images}; padding counts as -inf.

    `stride` is the kernel size by default. `return_indices` gives (result, indices), for MaxUnpool{n}d.
    """

    ceil_mode: bool
    dilation: int | Sequence[int]
    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    return_indices: bool
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    __constants__: list[Any]
class _MaxUnpoolNd(_Pool):
    """Put the values back where MaxPool{n}d's indices say; zeros elsewhere."""

    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int] | None
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: int | None | Sequence[int | None] = None) -> Tensor: ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: int | None | Sequence[int | None] = None) -> Tensor: ...
class _Pool(FunctionModule):
    """Windows that follow one another unless `stride` says otherwise."""

