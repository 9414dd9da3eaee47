"""MaxViT: Tu et al., "Multi-Axis Vision Transformer", ECCV 2022."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from rushlight_vision.ops.stochastic_depth import StochasticDepth


def _get_conv_output_shape(
    input_size: tuple[int, int], kernel_size: int, stride: int, padding: int
) -> tuple[int, int]:
    height, width = ((n - kernel_size + 2 * padding) // stride + 1 for n in input_size)
    return height, width


def _make_block_input_shapes(input_size: tuple[int, int], n_blocks: int) -> list[tuple[int, int]]:
    """The sizes that blocks give, each half of what it takes."""
    shapes, size = [], _get_conv_output_shape(input_size, 3, 2, 1)
    for _ in range(n_blocks):
        size = _get_conv_output_shape(size, 3, 2, 1)
        shapes.append(size)
    return shapes


def _get_relative_position_index(height: int, width: int) -> Tensor:
    """Which entry of a table of distances each pair of places has, (H * W, H * W)."""
    rows, columns = torch.arange(height).repeat_interleave(width), torch.arange(width).repeat(height)
    down, right = rows[:, None] - rows + height - 1, columns[:, None] - columns + width - 1
    return down * (2 * width - 1) + right


class MBConv(nn.Module):
    """More channels, a convolution of each for itself, their weights, and few again, beside the identity."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Callable[..., nn.Module],
        norm_layer: Callable[..., nn.Module],
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            proj: list[nn.Module] = [nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=1, bias=True)]
            if stride == 2:
                proj.insert(0, nn.AvgPool2d(kernel_size=3, stride=stride, padding=1))
            self.proj = nn.Sequential(*proj)
        inside, squeezed = int(out_channels * expansion_ratio), int(out_channels * squeeze_ratio)
        self.stochastic_depth: nn.Module = (
            StochasticDepth(p_stochastic_dropout, mode="row") if p_stochastic_dropout else nn.Identity()
        )
        conv = partial(
            Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None
        )
        layers: Any = OrderedDict()
        layers["pre_norm"] = norm_layer(in_channels)
        layers["conv_a"] = conv(in_channels, inside, kernel_size=1, stride=1, padding=0)
        layers["conv_b"] = conv(inside, inside, kernel_size=3, stride=stride, padding=1, groups=inside)
        layers["squeeze_excitation"] = SqueezeExcitation(inside, squeezed, activation=nn.SiLU)
        layers["conv_c"] = nn.Conv2d(inside, out_channels, kernel_size=1, bias=True)
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, in_channels, H, W); gives (B, out_channels, H / stride, W / stride)."""
        found: Tensor = self.proj(x) + self.stochastic_depth(self.layers(x))
        return found


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention with a bias for each distance between places of a square."""

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads, self.head_dim = feat_dim // head_dim, head_dim
        self.size, self.max_seq_len = int(math.sqrt(max_seq_len)), max_seq_len
        self.to_qkv = nn.Linear(feat_dim, self.n_heads * head_dim * 3)
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(head_dim * self.n_heads, feat_dim)
        self.relative_position_bias_table = nn.Parameter(
            torch.empty(((2 * self.size - 1) * (2 * self.size - 1), self.n_heads), dtype=torch.float32)
        )
        self.register_buffer("relative_position_index", _get_relative_position_index(self.size, self.size))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        """(1, heads, places, places)."""
        found = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        found = found.view(self.max_seq_len, self.max_seq_len, -1)
        return found.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, groups, places, feat_dim)."""
        parts = self.to_qkv(x).unflatten(-1, (3, self.n_heads, self.head_dim))
        query, key, value = parts.permute(3, 0, 1, 4, 2, 5).unbind()
        scores = query @ (key * self.scale_factor).transpose(-2, -1)
        scores = F.softmax(scores + self.get_relative_positional_bias(), dim=-1)
        return self.merge((scores @ value).transpose(2, 3).flatten(-2))


class SwapAxes(nn.Module):
    """x.swapaxes(a, b)."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: Tensor) -> Tensor:
        """x: any tensor that has the dims."""
        return torch.swapaxes(x, self.a, self.b)


class WindowPartition(nn.Module):
    """Windows of p x p places of an image."""

    def forward(self, x: Tensor, p: int) -> Tensor:
        """x: (B, C, H, W); gives (B, windows, p * p, C)."""
        n, channels, height, width = x.shape
        x = x.reshape(n, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(n, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """The image of such windows."""

    def forward(self, x: Tensor, p: int, h_partitions: int, w_partitions: int) -> Tensor:
        """x: (B, windows, p * p, C); gives (B, C, H, W)."""
        n, _, _, channels = x.shape
        x = x.reshape(n, h_partitions, w_partitions, p, p, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(n, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention within windows ("window"), or among the places that windows have alike ("grid")."""

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Callable[..., nn.Module],
        norm_layer: Callable[..., nn.Module],
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        self.n_heads, self.head_dim = in_channels // head_dim, head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type, self.grid_size = partition_type, grid_size
        if partition_type not in ["grid", "window"]:
            raise ValueError("partition_type must be either 'grid' or 'window'")
        sizes = (partition_size, self.n_partitions)
        self.p, self.g = sizes if partition_type == "window" else sizes[::-1]
        grid = partition_type == "grid"
        self.partition_op, self.departition_op = WindowPartition(), WindowDepartition()
        self.partition_swap: nn.Module = SwapAxes(-2, -3) if grid else nn.Identity()
        self.departition_swap: nn.Module = SwapAxes(-2, -3) if grid else nn.Identity()
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, in_channels, *grid_size)."""
        torch._assert(
            self.grid_size[0] % self.p == 0 and self.grid_size[1] % self.p == 0,
            f"Grid size must be divisible by partition size. Got grid size of {self.grid_size} and partition "
            f"size of {self.p}",
        )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = self.departition_swap(x + self.stochastic_dropout(self.mlp_layer(x)))
        found: Tensor = self.departition_op(
            x, self.p, self.grid_size[0] // self.p, self.grid_size[1] // self.p
        )
        return found


class MaxVitLayer(nn.Module):
    """A convolution, attention in windows, attention over the grid."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        layers: Any = OrderedDict()
        layers["MBconv"] = MBConv(
            in_channels,
            out_channels,
            expansion_ratio,
            squeeze_ratio,
            stride,
            activation_layer,
            norm_layer,
            p_stochastic_dropout,
        )
        for kind in ("window", "grid"):
            layers[f"{kind}_attention"] = PartitionAttentionLayer(
                out_channels,
                head_dim,
                partition_size,
                kind,
                grid_size,
                mlp_ratio,
                activation_layer,
                nn.LayerNorm,
                attention_dropout,
                mlp_dropout,
                p_stochastic_dropout,
            )
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, in_channels, H, W)."""
        result: Tensor = self.layers(x)
        return result


class MaxVitBlock(nn.Module):
    """Layers of which the first halves the size."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        norm_layer: Callable[..., nn.Module],
        activation_layer: Callable[..., nn.Module],
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        partition_size: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: list[float],
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(
                f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}."
            )
        self.grid_size = _get_conv_output_shape(input_grid_size, kernel_size=3, stride=2, padding=1)
        self.layers = nn.ModuleList(
            MaxVitLayer(
                out_channels if i else in_channels,
                out_channels,
                squeeze_ratio,
                expansion_ratio,
                1 if i else 2,
                norm_layer,
                activation_layer,
                head_dim,
                mlp_ratio,
                mlp_dropout,
                attention_dropout,
                p,
                partition_size,
                self.grid_size,
            )
            for i, p in enumerate(p_stochastic)
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, in_channels, H, W); gives half the size."""
        found = x
        for layer in self.layers:
            found = layer(found)
        return found


def _classifier(channels: int, num_classes: int) -> nn.Sequential:
    return nn.Sequential(
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.LayerNorm(channels),
        nn.Linear(channels, channels),
        nn.Tanh(),
        nn.Linear(channels, num_classes, bias=False),
    )


class MaxVit(nn.Module):
    """Two convolutions, blocks, an average and a classifier; images of `input_size` alone."""

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        _check_sizes(_make_block_input_shapes(input_size, len(block_channels)), partition_size)
        conv = partial(Conv2dNormActivation, kernel_size=3, inplace=None)
        self.stem = nn.Sequential(
            conv(
                3,
                stem_channels,
                stride=2,
                norm_layer=norm,
                activation_layer=activation_layer,
                bias=False,
            ),
            conv(stem_channels, stem_channels, stride=1, norm_layer=None, activation_layer=None, bias=True),
        )
        size = _get_conv_output_shape(input_size, kernel_size=3, stride=2, padding=1)
        self.partition_size, self.blocks, done = partition_size, nn.ModuleList(), 0
        drops = np.linspace(0, stochastic_depth_prob, sum(block_layers)).tolist()
        before = [stem_channels, *block_channels[:-1]]
        for inputs, outputs, depth in zip(before, block_channels, block_layers, strict=False):
            block = MaxVitBlock(
                inputs,
                outputs,
                squeeze_ratio,
                expansion_ratio,
                norm,
                activation_layer,
                head_dim,
                mlp_ratio,
                mlp_dropout,
                attention_dropout,
                partition_size,
                size,
                depth,
                drops[done : done + depth],
            )
            self.blocks.append(block)
            size, done = block.grid_size, done + depth
        self.classifier = _classifier(block_channels[-1], num_classes)
        self._init_weights()

    def _init_weights(self) -> None:
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, *input_size); gives (N, num_classes)."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        result: Tensor = self.classifier(x)
        return result


def _check_sizes(sizes: Sequence[tuple[int, int]], partition_size: int) -> None:
    for i, size in enumerate(sizes):
        if size[0] % partition_size != 0 or size[1] % partition_size != 0:
            raise ValueError(
                f"Input size {size} of block {i} is not divisible by partition size {partition_size}. "
                "Consider changing the partition size or the input size.\n"
                f"Current configuration yields the following block input sizes: {list(sizes)}."
            )


maxvit_t = builder(
    MaxVit,
    "maxvit_t",
    {"num_classes": 1000, "input_size": (224, 224)},
    input_size=(224, 224),
    stem_channels=64,
    block_channels=[64, 128, 256, 512],
    block_layers=[2, 2, 5, 2],
    head_dim=32,
    stochastic_depth_prob=0.2,
    partition_size=7,
)
__getattr__ = enums(__name__)
