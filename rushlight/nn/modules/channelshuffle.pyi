# Written by `python tools/stubs.py`.
"""ChannelShuffle: interleave the groups of channels."""
from builtins import int as _int
from rushlight import Tensor
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class ChannelShuffle(Module):
    """(*, groups * n, H, W) -> the same shape, channels in the order of a transposed (groups, n) table."""

    groups: _int
    def __init__(self, groups: _int) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: groups."""
    def forward(self, input: Any) -> Tensor:
        """The input with its channels in another order; RuntimeError unless `groups` divides them."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
__all__ = ['ChannelShuffle']
