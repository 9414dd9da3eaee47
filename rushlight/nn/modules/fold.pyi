# Written by `python tools/stubs.py`.
"""Fold and Unfold: between images and columns of sliding blocks.

Sizes are one number for both dims, or one for each.
"""
from rushlight import Tensor
from rushlight.nn.common_types import _size_any_t
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class Fold(Module):
    """Sum columns of blocks into an image: (N, C * kh * kw, L) -> (N, C, *output_size)."""

    dilation: _size_any_t
    kernel_size: _size_any_t
    output_size: _size_any_t
    padding: _size_any_t
    stride: _size_any_t
    def __init__(self, output_size: _size_any_t, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0, stride: _size_any_t = 1) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: output_size, kernel_size, dilation, padding, stride."""
    def forward(self, input: Any) -> Tensor:
        """(N, C * kh * kw, L) or without N -> (N, C, *output_size); RuntimeError for another L than the
        blocks are.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Unfold(Module):
    """Take an image apart into columns of blocks: (N, C, H, W) -> (N, C * kh * kw, L)."""

    dilation: _size_any_t
    kernel_size: _size_any_t
    padding: _size_any_t
    stride: _size_any_t
    def __init__(self, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0, stride: _size_any_t = 1) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: kernel_size, dilation, padding, stride."""
    def forward(self, input: Any) -> Tensor:
        """(N, C, H, W) or without N -> (N, C * kh * kw, L), L blocks in the order of their rows."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
__all__ = ['Fold', 'Unfold']
