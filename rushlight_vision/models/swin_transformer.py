"""Swin Transformer: Liu et al., "Hierarchical Vision Transformer using Shifted Windows", ICCV 2021."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight.fx.wrapping import wrap
from rushlight_vision.models._api import builder, enums
from rushlight_vision.ops.misc import MLP, Permute
from rushlight_vision.ops.stochastic_depth import StochasticDepth


def _even(x: Tensor, steps: list[int]) -> Tensor:
    """x (N, H, W, C) with zeros below and to the right, up to multiples of `steps`."""
    height = (steps[0] - x.shape[1] % steps[0]) % steps[0]
    width = (steps[1] - x.shape[2] % steps[1]) % steps[1]
    return F.pad(x, (0, 0, 0, width, 0, height))


@wrap
def _patch_merging_pad(x: Tensor) -> Tensor:
    """The squares of 2x2 pixels of x (..., H, W, C) as one of 4 C channels."""
    x = F.pad(x, (0, 0, 0, x.shape[-2] % 2, 0, x.shape[-3] % 2))
    left, right = x[..., 0::2, :], x[..., 1::2, :]
    corners = [left[..., 0::2, :, :], left[..., 1::2, :, :], right[..., 0::2, :, :], right[..., 1::2, :, :]]
    return torch.cat(corners, -1)


@wrap
def _get_relative_position_bias(
    relative_position_bias_table: Tensor, relative_position_index: Tensor, window_size: list[int]
) -> Tensor:
    """(1, heads, pixels, pixels) of a table (distances, heads) and each pair's distance."""
    pixels = window_size[0] * window_size[1]
    found = relative_position_bias_table[relative_position_index].view(pixels, pixels, -1)
    return found.permute(2, 0, 1).contiguous().unsqueeze(0)


class PatchMerging(nn.Module):
    """Each square of 2x2 pixels as one, of twice the channels."""

    def __init__(self, dim: int, norm_layer: Any = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., H, W, dim)."""
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """The same with the norm last."""

    def __init__(self, dim: int, norm_layer: Any = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., H, W, dim)."""
        found: Tensor = self.norm(self.reduction(_patch_merging_pad(x)))
        return found


def _windows(x: Tensor, size: list[int]) -> Tensor:
    """Windows (N, how many, pixels, C) of images (N, H, W, C)."""
    n, height, width, channels = x.shape
    x = x.view(n, height // size[0], size[0], width // size[1], size[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, -1, size[0] * size[1], channels)


def _joined(x: Tensor, size: list[int], height: int, width: int) -> Tensor:
    """Images (N, height, width, C) of windows."""
    n, _, _, channels = x.shape
    x = x.view(n, height // size[0], width // size[1], size[0], size[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, channels)


def _bands(count: int, window: int, shift: int, like: Tensor) -> Tensor:
    """Which places of an axis were neighbours before the roll, as numbers (count,)."""
    at = torch.arange(count, device=like.device)
    if shift == 0:
        return torch.zeros_like(at)
    return (at >= count - window).to(at.dtype) + (at >= count - shift).to(at.dtype)


def _apart(x: Tensor, size: list[int], shift: list[int]) -> Tensor:
    """-100 for pairs of pixels in a window that were no neighbours in x (N, H, W, C), else 0."""
    height, width = x.shape[1], x.shape[2]
    rows, columns = _bands(height, size[0], shift[0], x), _bands(width, size[1], shift[1], x)
    region = _windows((rows[:, None] * 3 + columns)[None, :, :, None], size)[0, :, :, 0]
    return (region[:, None, :] != region[:, :, None]) * -100.0


@wrap
def shifted_window_attention(
    input: Tensor,
    qkv_weight: Tensor,
    proj_weight: Tensor,
    relative_position_bias: Tensor,
    window_size: list[int],
    num_heads: int,
    shift_size: list[int],
    attention_dropout: float = 0.0,
    dropout: float = 0.0,
    qkv_bias: Tensor | None = None,
    proj_bias: Tensor | None = None,
    logit_scale: Tensor | None = None,
    training: bool = True,
) -> Tensor:
    """Attention in windows of images (N, H, W, C) that are rolled by `shift_size`.

    `relative_position_bias` (1, heads, pixels, pixels) is added to the scores; with `logit_scale`
    (heads, 1, 1) those are cosines times its exponential, 100 at most, and keys have no bias (Liu et al.,
    "Swin Transformer V2", CVPR 2022).
    """
    size, channels = window_size, input.shape[-1]
    x = _even(input, size)
    height, width = x.shape[1], x.shape[2]
    shift = [0 if size[0] >= height else shift_size[0], 0 if size[1] >= width else shift_size[1]]
    rolled = torch.roll(x, [-shift[0], -shift[1]], [1, 2]) if sum(shift) > 0 else x
    if logit_scale is not None and qkv_bias is not None:
        keys = qkv_bias.numel() // 3
        qkv_bias = qkv_bias.clone()
        qkv_bias[keys : 2 * keys].zero_()
    windows = F.linear(_windows(rolled, size), qkv_weight, qkv_bias)
    # (N, windows, heads, pixels, channels of a head) each
    query, key, value = windows.unflatten(-1, (3, num_heads, -1)).permute(3, 0, 1, 4, 2, 5).unbind()
    if logit_scale is not None:
        cosines = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)
        scores = cosines * torch.clamp(logit_scale, max=math.log(100.0)).exp()
    else:
        scores = (query * (channels // num_heads) ** -0.5) @ key.transpose(-2, -1)
    scores = scores + relative_position_bias
    if sum(shift) > 0:
        scores = scores + _apart(x, size, shift).to(scores)[:, None]
    scores = F.dropout(F.softmax(scores, dim=-1), p=attention_dropout, training=training)
    found = F.linear((scores @ value).transpose(2, 3).flatten(-2), proj_weight, proj_bias)
    found = F.dropout(found, p=dropout, training=training)
    joined = _joined(found, size, height, width)
    joined = torch.roll(joined, shift, [1, 2]) if sum(shift) > 0 else joined
    return joined[:, : input.shape[1], : input.shape[2]].contiguous()


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
        self.register_parameter("logit_scale", None)  # of attention by cosines
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """A bias of each head for each distance."""
        height, width = self.window_size
        table = torch.zeros((2 * height - 1) * (2 * width - 1), self.num_heads)
        self.relative_position_bias_table = nn.Parameter(table)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """Which distance each pair of pixels has."""
        height, width = self.window_size
        rows = torch.arange(height).repeat_interleave(width)
        columns = torch.arange(width).repeat(height)
        down, right = (at[:, None] - at + n - 1 for at, n in ((rows, height), (columns, width)))
        self.register_buffer("relative_position_index", (down * (2 * width - 1) + right).flatten())

    def get_relative_position_bias(self) -> Tensor:
        """(1, heads, pixels, pixels)."""
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, self.window_size
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, H, W, dim)."""
        bias = self.get_relative_position_bias()
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            self.window_size,
            self.num_heads,
            self.shift_size,
            self.attention_dropout,
            self.dropout,
            self.qkv.bias,
            self.proj.bias,
            self.logit_scale,
            self.training,
        )


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """The same by cosines, and with a small network that says the bias of each distance."""

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
        super().__init__(
            dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout
        )
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones((num_heads, 1, 1))))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )
        if qkv_bias:
            keys = self.qkv.bias.numel() // 3
            self.qkv.bias[keys : 2 * keys].data.zero_()

    def define_relative_position_bias_table(self) -> None:
        """Distances, (1, 2 H - 1, 2 W - 1, 2), as logarithms of both signs."""
        axes = [torch.arange(-(n - 1), n, dtype=torch.float32) for n in self.window_size]
        table = torch.stack(torch.meshgrid(axes, indexing="ij"), -1).unsqueeze(0)
        table = table / torch.tensor([n - 1 for n in self.window_size]) * 8
        table = torch.sign(table) * torch.log2(torch.abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def get_relative_position_bias(self) -> Tensor:
        """(1, heads, pixels, pixels)."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        bias = _get_relative_position_bias(table, self.relative_position_index, self.window_size)
        return 16 * torch.sigmoid(bias)


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


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The same with the norms last."""

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
        attn_layer: Any = ShiftedWindowAttentionV2,
    ) -> None:
        super().__init__(
            dim,
            num_heads,
            window_size,
            shift_size,
            mlp_ratio,
            dropout,
            attention_dropout,
            stochastic_depth_prob,
            norm_layer,
            attn_layer,
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, H, W, dim)."""
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        found: Tensor = x + self.stochastic_depth(self.norm2(self.mlp(x)))
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


def _swin(
    name: str, embed_dim: int, third: int, heads: int, drop: float, window: int = 7, **options: Any
) -> Any:
    return builder(
        SwinTransformer,
        name,
        patch_size=[4, 4],
        embed_dim=embed_dim,
        depths=[2, 2, third, 2],
        num_heads=[heads * 2**i for i in range(4)],
        window_size=[window, window],
        stochastic_depth_prob=drop,
        **options,
    )


_V2: dict[str, Any] = {"window": 8, "block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
swin_t = _swin("swin_t", 96, 6, 3, 0.2)
swin_s = _swin("swin_s", 96, 18, 3, 0.3)
swin_b = _swin("swin_b", 128, 18, 4, 0.5)
swin_v2_t = _swin("swin_v2_t", 96, 6, 3, 0.2, **_V2)
swin_v2_s = _swin("swin_v2_s", 96, 18, 3, 0.3, **_V2)
swin_v2_b = _swin("swin_v2_b", 128, 18, 4, 0.5, **_V2)
__getattr__ = enums(__name__)
