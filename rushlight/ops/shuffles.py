"""Channels exchanged for space and with one another: pixel_shuffle, its inverse, channel_shuffle."""
from __future__ import annotations

from typing import Any

from rushlight.ops.table import composite


def _check(op: str, input: Any, factor: int, name: str) -> None:
    if input.ndim < 3:
        raise RuntimeError(f"{op} expects input to have at least 3 dimensions, but got input with "
                           f"{input.ndim} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{op} expects a positive {name}, but got {factor}")


@composite(where=("torch", "nn.functional"), planned=True)
def pixel_shuffle(input, upscale_factor: "int"):
    """(*, C r r, H, W) -> (*, C, H r, W r) (arXiv:1609.05158)."""
    r = upscale_factor
    _check("pixel_shuffle", input, r, "upscale_factor")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                           f"square of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    n = len(lead)
    cut = input.reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return cut.permute(order).reshape(*lead, c // (r * r), h * r, w * r)


@composite(where=("torch", "nn.functional"), planned=True)
def pixel_unshuffle(input, downscale_factor: "int"):
    """(*, C, H r, W r) -> (*, C r r, H, W)."""
    r = downscale_factor
    _check("pixel_unshuffle", input, r, "downscale_factor")
    *lead, c, h, w = input.shape
    for size, name in ((h, "height"), (w, "width")):
        if size % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, "
                               f"but {name} {size} is not divisible by {r}")
    n = len(lead)
    cut = input.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return cut.permute(order).reshape(*lead, c * r * r, h // r, w // r)


@composite(where=("torch", "nn.functional"), aliases=("native_channel_shuffle",))
def channel_shuffle(input, groups: "int"):
    """Channels of (N, C, *) dealt out over groups (arXiv:1707.01083)."""
    if input.ndim < 3:
        raise RuntimeError("channel_shuffle expects input with > 2 dims, but got input with sizes "
                           f"{list(input.shape)}")
    if groups <= 0:
        raise RuntimeError("Number of groups to divide channels in must be positive. Value of groups:"
                           f"{groups}")
    n, c, *space = input.shape
    if c % groups:
        raise RuntimeError("Number of channels must be divisible by groups. Got "
                           f"{c} channels and {groups} groups.")
    return input.reshape(n, groups, c // groups, *space).transpose(1, 2).reshape(n, c, *space)
