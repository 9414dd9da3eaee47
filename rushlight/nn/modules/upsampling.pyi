# Written by `python tools/stubs.py`.
"""Upsample: resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) by interpolation."""
from builtins import bool as _bool
from rushlight import Tensor
from rushlight.nn.common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class Upsample(Module):
    """Resize to `size`, or by `scale_factor`; one of them is given. Modes as of F.interpolate.

    (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> the same with other sizes.
    """

    align_corners: _bool | None
    mode: str
    name: Any
    recompute_scale_factor: _bool | None
    scale_factor: Any
    size: _size_any_t | None
    def __init__(self, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None, mode: str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: scale_factor, or size where that was given, and mode."""
    def forward(self, input: Any) -> Tensor:
        """(N, C, *) -> (N, C, *sizes), of the input's dtype; NotImplementedError for a mode that the dims do
        not have.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class UpsamplingBilinear2d(Upsample):
    """Upsample of (N, C, H, W) with mode="bilinear", align_corners=True."""

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None: ...
class UpsamplingNearest2d(Upsample):
    """Upsample of (N, C, H, W) with mode="nearest"."""

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None: ...
__all__ = ['Upsample', 'UpsamplingBilinear2d', 'UpsamplingNearest2d']
