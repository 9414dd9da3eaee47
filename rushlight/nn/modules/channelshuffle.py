"""ChannelShuffle: interleave the groups of channels."""

from __future__ import annotations

from rushlight import Tensor
from rushlight.nn import functional as F
from rushlight.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """(*, groups * n, H, W) -> the same shape, channels in the order of a transposed (groups, n) table."""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The input with its channels in another order; RuntimeError unless `groups` divides them."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """What repr() shows: groups."""
        return f"groups={self.groups}"
