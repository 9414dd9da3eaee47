"""ChannelShuffle: interleave the groups of channels."""

from rushlight.nn.modules.function_module import FunctionModule


class ChannelShuffle(FunctionModule, function="channel_shuffle", groups=int):
    """(*, g * n, H, W) -> the same shape, channels in the order of a transposed (g, n) table."""
