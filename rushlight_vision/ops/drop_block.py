"""Dropping blocks of pixels while training (DropBlock)."""

from __future__ import annotations

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight.fx.wrapping import wrap


def _drop_block(
    input: Tensor, p: float, block_size: int, inplace: bool, eps: float, training: bool, dims: int
) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != dims + 2:
        raise ValueError(f"input should be {dims + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    space = input.shape[2:]
    block_size = min(block_size, *space)
    gamma = p * torch.Size(space).numel() / block_size**dims
    for n in space:
        gamma /= n - block_size + 1
    noise = torch.empty(
        (*input.shape[:2], *(n - block_size + 1 for n in space)), dtype=input.dtype, device=input.device
    ).bernoulli_(gamma)
    noise = F.pad(noise, [block_size // 2] * (2 * dims), value=0)
    pool = F.max_pool2d if dims == 2 else F.max_pool3d
    noise = 1 - pool(noise, stride=1, kernel_size=block_size, padding=block_size // 2)
    scale = noise.numel() / (eps + noise.sum())
    return input.mul_(noise).mul_(scale) if inplace else input * noise * scale


@wrap
def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """Blocks of pixels of (N, C, H, W) are zeros; Ghiasi et al., "DropBlock", NeurIPS 2018."""
    return _drop_block(input, p, block_size, inplace, eps, training, 2)


@wrap
def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """The same for (N, C, D, H, W)."""
    return _drop_block(input, p, block_size, inplace, eps, training, 3)


class DropBlock2d(nn.Module):
    """`drop_block2d` while training."""

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6) -> None:
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, C, H, W)."""
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """`drop_block3d` while training."""

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, C, D, H, W)."""
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
