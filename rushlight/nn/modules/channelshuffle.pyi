# Written by `python tools/stubs.py`.
"""ChannelShuffle: interleave the groups of channels."""
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class ChannelShuffle(FunctionModule):
    """(*, g * n, H, W) -> the same shape, channels in the order of a transposed (g, n) table."""

    groups: int
    def __init__(self, groups: int) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
