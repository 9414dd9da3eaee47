"""ViT: Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from typing import Any, NamedTuple

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.ops.misc import MLP, Conv2dNormActivation


class ConvStemConfig(NamedTuple):
    """One convolution of a stem that makes patches in several steps."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Any = nn.BatchNorm2d
    activation_layer: Any = nn.ReLU


class MLPBlock(MLP):
    """Two linear layers with GELU between."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.normal_(m.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and linear layers, each behind a norm and beside the identity."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Any = partial(nn.LayerNorm, eps=1e-6),
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, length, hidden_dim)."""
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        found: Tensor = x + self.mlp(self.ln_2(x))
        return found


class Encoder(nn.Module):
    """Blocks behind what says where each patch lies."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Any = partial(nn.LayerNorm, eps=1e-6),
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(
            OrderedDict(
                (
                    f"encoder_layer_{i}",
                    EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer),
                )
                for i in range(num_layers)
            )
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, seq_length, hidden_dim)."""
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        found: Tensor = self.ln(self.layers(self.dropout(input + self.pos_embedding)))
        return found


def _stem(configs: list[ConvStemConfig], hidden_dim: int) -> nn.Sequential:
    """Convolutions in place of one: Xiao et al., "Early Convolutions Help Transformers See Better", 2021."""
    layers, channels = OrderedDict[str, nn.Module](), 3
    for i, config in enumerate(configs):
        layers[f"conv_bn_relu_{i}"] = Conv2dNormActivation(
            channels,
            config.out_channels,
            config.kernel_size,
            config.stride,
            norm_layer=config.norm_layer,
            activation_layer=config.activation_layer,
        )
        channels = config.out_channels
    layers["conv_last"] = nn.Conv2d(channels, hidden_dim, kernel_size=1)
    return nn.Sequential(layers)


class VisionTransformer(nn.Module):
    """Patches as a sequence behind a token of the class, which is what the head looks at."""

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Any = partial(nn.LayerNorm, eps=1e-6),
        conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        torch._assert(image_size % patch_size == 0, "Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim = image_size, patch_size, hidden_dim
        self.mlp_dim, self.attention_dropout, self.dropout = mlp_dim, attention_dropout, dropout
        self.num_classes, self.representation_size = num_classes, representation_size
        self.norm_layer, self.seq_length = norm_layer, (image_size // patch_size) ** 2 + 1
        self.conv_proj: Any = (
            nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
            if conv_stem_configs is None
            else _stem(conv_stem_configs, hidden_dim)
        )
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.encoder = Encoder(
            self.seq_length,
            num_layers,
            num_heads,
            hidden_dim,
            mlp_dim,
            dropout,
            attention_dropout,
            norm_layer,
        )
        head: Any = OrderedDict()
        if representation_size is not None:
            head.update(pre_logits=nn.Linear(hidden_dim, representation_size), act=nn.Tanh())
        head["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(head)
        self._initialize()

    def _initialize(self) -> None:
        if isinstance(self.conv_proj, nn.Conv2d):
            last, pixels = self.conv_proj, self.conv_proj.weight[0].numel()
            nn.init.trunc_normal_(last.weight, std=math.sqrt(1 / pixels))
        else:
            last = self.conv_proj.conv_last
            nn.init.normal_(last.weight, mean=0.0, std=math.sqrt(2.0 / last.out_channels))
        nn.init.zeros_(last.bias)
        if self.representation_size is not None:
            nn.init.trunc_normal_(
                self.heads.pre_logits.weight, std=math.sqrt(1 / self.heads.pre_logits.in_features)
            )
            nn.init.zeros_(self.heads.pre_logits.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        """The patches of images (N, 3, image_size, image_size), (N, patches, hidden_dim)."""
        n, _, h, w = x.shape
        torch._assert(h == self.image_size, f"Wrong image height! Expected {self.image_size} but got {h}!")
        torch._assert(w == self.image_size, f"Wrong image width! Expected {self.image_size} but got {w}!")
        rows, columns = h // self.patch_size, w // self.patch_size
        patches: Tensor = self.conv_proj(x)
        return patches.reshape(n, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, image_size, image_size); gives (N, num_classes)."""
        x = self._process_input(x)
        n = x.shape[0]
        x = self.encoder(torch.cat([self.class_token.expand(n, -1, -1), x], dim=1))
        found: Tensor = self.heads(x[:, 0])
        return found


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: Any,
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> Any:
    """A model's state with embeddings of places for images of another size, read between those it has.

    Writes into `model_state`. reset_heads: leave the heads out. ValueError for places that are no square.
    """
    places = model_state["encoder.pos_embedding"]
    if places.shape[0] != 1:
        raise ValueError(f"Unexpected position embedding shape: {places.shape}")
    side, count = image_size // patch_size, places.shape[1] - 1
    if side * side == count:
        return model_state
    before = int(math.sqrt(count))
    if before * before != count:
        raise ValueError(
            "seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = "
            f"{before * before} and seq_length = {count}"
        )
    grid = places[:, 1:].permute(0, 2, 1).unflatten(-1, (before, before))
    grid = nn.functional.interpolate(grid, size=side, mode=interpolation_mode, align_corners=True)
    model_state["encoder.pos_embedding"] = torch.cat(
        [places[:, :1], grid.flatten(-2).permute(0, 2, 1)], dim=1
    )
    if reset_heads:
        return OrderedDict(
            (name, value) for name, value in model_state.items() if not name.startswith("heads")
        )
    return model_state


def _vit(name: str, patch_size: int, num_layers: int, num_heads: int, hidden_dim: int) -> Any:
    return builder(
        VisionTransformer,
        name,
        image_size=224,
        patch_size=patch_size,
        num_layers=num_layers,
        num_heads=num_heads,
        hidden_dim=hidden_dim,
        mlp_dim=4 * hidden_dim,
    )


vit_b_16, vit_b_32 = _vit("vit_b_16", 16, 12, 12, 768), _vit("vit_b_32", 32, 12, 12, 768)
vit_l_16, vit_l_32 = _vit("vit_l_16", 16, 24, 16, 1024), _vit("vit_l_32", 32, 24, 16, 1024)
vit_h_14 = _vit("vit_h_14", 14, 32, 16, 1280)
__getattr__ = enums(__name__)
