# Written by `python tools/stubs.py`.
"""Fold and Unfold: between images and columns of sliding blocks. They are rows of nn/declared.tsv."""
from collections.abc import Sequence
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class Fold(FunctionModule):
    """Sum columns of blocks into an image: (N, C * kh * kw, L) -> (N, C, *output_size)."""

    dilation: int | Sequence[int]
    kernel_size: int | Sequence[int]
    output_size: int | None | Sequence[int | None]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int]
    def __init__(self, output_size: int | None | Sequence[int | None], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class Unfold(FunctionModule):
    """Take an image apart into columns of blocks: (N, C, H, W) -> (N, C * kh * kw, L)."""

    dilation: int | Sequence[int]
    kernel_size: int | Sequence[int]
    padding: int | str | Sequence[int]
    stride: int | Sequence[int]
    def __init__(self, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
