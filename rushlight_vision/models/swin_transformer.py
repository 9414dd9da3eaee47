"""Swin Transformer: Liu et al., "Hierarchical Vision Transformer using Shifted Windows", ICCV 2021."""

from __future__ import annotations

from functools import partial
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder
from rushlight_vision.ops.dropping import StochasticDepth
from rushlight_vision.ops.misc import MLP, Permute

# What is added to the scores of pixels that lie in one window only since the image was rolled.
_APART = -100.0


def _even(x: Tensor, steps: Any) -> Tensor:
    """x (N, H, W, C) with zeros below and to the right, up to multiples of `steps`."""
    height, width = (-n % step for n, step in zip(x.shape[1:3], steps, strict=True))
    return F.pad(x, (0, 0, 0, width, 0, height))


class PatchMerging(nn.Module):
    """Each square of 2x2 pixels as one, of twice the channels."""

    def __init__(self, dim: int, norm_layer: Any = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., H, W, dim)."""
        x = F.pad(x, (0, 0, 0, x.shape[-2] % 2, 0, x.shape[-3] % 2))
        corners = [x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)]
        return self.reduction(self.norm(torch.cat(corners, -1)))


def _windows(x: Tensor, size: Any) -> Tensor:
    """Windows (N, how many, pixels, C) of images (N, H, W, C)."""
    n, height, width, channels = x.shape
    x = x.view(n, height // size[0], size[0], width // size[1], size[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, -1, size[0] * size[1], channels)


def _joined(x: Tensor, size: Any, height: int, width: int) -> Tensor:
    """Images (N, height, width, C) of windows."""
    n, _, _, channels = x.shape
    x = x.view(n, height // size[0], width // size[1], size[0], size[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, channels)


def _regions(height: int, width: int, size: Any, shift: Any) -> Tensor:
    """Which pixels were neighbours before the roll, as numbers (1, height, width, 1)."""
    bands = []
    for n, w, s in zip((height, width), size, shift, strict=True):
        at = torch.arange(n)
        bands.append((at >= n - w).int() + (at >= n - s).int() if s else torch.zeros_like(at))
    return (bands[0][:, None] * 3 + bands[1])[None, :, :, None]


class ShiftedWindowAttention(nn.Module):
    """Attention in windows of an image that is rolled by `shift_size`, with a bias for each distance."""

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        height, width = window_size
        table = torch.zeros((2 * height - 1) * (2 * width - 1), num_heads)
        self.relative_position_bias_table = nn.Parameter(table)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)
        rows = torch.arange(height).repeat_interleave(width)
        columns = torch.arange(width).repeat(height)
        down, right = (at[:, None] - at + n - 1 for at, n in ((rows, height), (columns, width)))
        self.register_buffer("relative_position_index", (down * (2 * width - 1) + right).flatten())

    def _bias(self) -> Tensor:
        """(heads, pixels, pixels)."""
        pixels = self.window_size[0] * self.window_size[1]
        found = self.relative_position_bias_table[self.relative_position_index]
        return found.view(pixels, pixels, -1).permute(2, 0, 1)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, H, W, dim)."""
        size, (_, *space, channels) = self.window_size, x.shape
        x = _even(x, size)
        height, width = x.shape[1:3]
        shift = [0 if w >= n else s for w, n, s in zip(size, (height, width), self.shift_size, strict=True)]
        rolled = torch.roll(x, (-shift[0], -shift[1]), (1, 2)) if any(shift) else x
        windows = _windows(rolled, size)
        parts = self.qkv(windows).unflatten(-1, (3, self.num_heads, -1)).permute(3, 0, 1, 4, 2, 5)
        query, key, value = parts.unbind()  # (N, windows, heads, pixels, channels of a head) each
        scores = (query * (channels // self.num_heads) ** -0.5) @ key.transpose(-2, -1) + self._bias()
        if any(shift):
            region = _windows(_regions(height, width, size, shift), size)[0, :, :, 0]
            apart = region[:, None, :] != region[:, :, None]
            scores = scores + (apart * _APART).to(scores)[:, None]
        scores = F.dropout(F.softmax(scores, dim=-1), p=self.attention_dropout, training=self.training)
        found = self.proj((scores @ value).transpose(2, 3).flatten(-2))
        found = F.dropout(found, p=self.dropout, training=self.training)
        joined = _joined(found, size, height, width)
        joined = torch.roll(joined, tuple(shift), (1, 2)) if any(shift) else joined
        return joined[:, : space[0], : space[1]].contiguous()


class SwinTransformerBlock(nn.Module):
    """Attention in windows and linear layers, each behind a norm and beside the identity."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Any = nn.LayerNorm,
        attn_layer: Any = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout, dropout=dropout
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(
            dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout
        )
        for m in self.mlp.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.normal_(m.bias, std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, H, W, dim)."""
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        found: Tensor = x + self.stochastic_depth(self.mlp(self.norm2(x)))
        return found


class SwinTransformer(nn.Module):
    """Stages of blocks, every second with rolled windows, and merges of pixels between."""

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        norm_layer: Any = None,
        block: Any = None,
        downsample_layer: Any = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        norm, block = norm_layer or partial(nn.LayerNorm, eps=1e-5), block or SwinTransformerBlock
        patch = (patch_size[0], patch_size[1])
        layers: list[nn.Module] = [
            nn.Sequential(
                nn.Conv2d(3, embed_dim, kernel_size=patch, stride=patch),
                Permute([0, 2, 3, 1]),
                norm(embed_dim),
            )
        ]
        shifts, done, dim = ([0, 0], [w // 2 for w in window_size]), 0, embed_dim
        for i, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            if i:
                layers.append(downsample_layer(dim, norm))
                dim *= 2
            stage = []
            for j in range(depth):
                stage.append(
                    block(
                        dim,
                        heads,
                        window_size=window_size,
                        shift_size=list(shifts[j % 2]),
                        mlp_ratio=mlp_ratio,
                        dropout=dropout,
                        attention_dropout=attention_dropout,
                        stochastic_depth_prob=stochastic_depth_prob * done / (sum(depths) - 1),
                        norm_layer=norm,
                    )
                )
                done += 1
            layers.append(nn.Sequential(*stage))
        self.features, self.norm = nn.Sequential(*layers), norm(dim)
        self.permute, self.avgpool = Permute([0, 3, 1, 2]), nn.AdaptiveAvgPool2d(1)
        self.flatten, self.head = nn.Flatten(1), nn.Linear(dim, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _swin(name: str, embed_dim: int, third: int, heads: int, drop: float) -> Any:
    return builder(
        SwinTransformer,
        name,
        patch_size=[4, 4],
        embed_dim=embed_dim,
        depths=[2, 2, third, 2],
        num_heads=[heads * 2**i for i in range(4)],
        window_size=[7, 7],
        stochastic_depth_prob=drop,
    )


swin_t = _swin("swin_t", 96, 6, 3, 0.2)
swin_s = _swin("swin_s", 96, 18, 3, 0.3)
swin_b = _swin("swin_b", 128, 18, 4, 0.5)
