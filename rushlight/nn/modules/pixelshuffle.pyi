# Written by `python tools/stubs.py`.
"""PixelShuffle and PixelUnshuffle: between channels and space."""
from builtins import int as _int
from rushlight import Tensor
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class PixelShuffle(Module):
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r); r is `upscale_factor`."""

    upscale_factor: _int
    def __init__(self, upscale_factor: _int) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: upscale_factor."""
    def forward(self, input: Any) -> Tensor:
        """(*, C * r * r, H, W) -> (*, C, H * r, W * r); RuntimeError unless r * r divides the channels."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W); r is `downscale_factor`."""

    downscale_factor: _int
    def __init__(self, downscale_factor: _int) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: downscale_factor."""
    def forward(self, input: Any) -> Tensor:
        """(*, C, H * r, W * r) -> (*, C * r * r, H, W); RuntimeError unless r divides both sizes."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
__all__ = ['PixelShuffle', 'PixelUnshuffle']
