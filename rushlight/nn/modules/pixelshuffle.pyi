# Written by `python tools/stubs.py`.
"""PixelShuffle and PixelUnshuffle: between channels and space. They are rows of nn/declared.tsv."""
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class PixelShuffle(FunctionModule):
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r)."""

    upscale_factor: int
    def __init__(self, upscale_factor: int) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class PixelUnshuffle(FunctionModule):
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W)."""

    downscale_factor: int
    def __init__(self, downscale_factor: int) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
