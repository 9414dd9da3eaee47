"""ConvNeXt: Liu et al., "A ConvNet for the 2020s", CVPR 2022."""

from __future__ import annotations

from functools import partial
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.ops.misc import Conv2dNormActivation, Permute
from rushlight_vision.ops.stochastic_depth import StochasticDepth


class LayerNorm2d(nn.LayerNorm):
    """Layer norm over the channels of (N, C, H, W)."""

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, C, H, W)."""
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A convolution of each channel for itself, two linear layers on pixels, beside the identity."""

    def __init__(
        self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: Any = None
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm(dim),
            nn.Linear(dim, 4 * dim, bias=True),
            nn.GELU(),
            nn.Linear(4 * dim, dim, bias=True),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(torch.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, dim, H, W)."""
        result: Tensor = self.stochastic_depth(self.layer_scale * self.block(input))
        result += input
        return result


class ConvNeXt(nn.Module):
    """Four stages of blocks; `block_setting` holds (channels, how many) of each."""

    def __init__(
        self,
        block_setting: list[tuple[int, int]],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Any = None,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        block, norm = block or CNBlock, norm_layer or partial(LayerNorm2d, eps=1e-6)
        layers: list[nn.Module] = [
            Conv2dNormActivation(
                3,
                block_setting[0][0],
                kernel_size=4,
                stride=4,
                padding=0,
                norm_layer=norm,
                activation_layer=None,
                bias=True,
            )
        ]
        total, done = sum(count for _, count in block_setting), 0
        for i, (width, count) in enumerate(block_setting):
            if i:
                before = block_setting[i - 1][0]
                layers.append(nn.Sequential(norm(before), nn.Conv2d(before, width, kernel_size=2, stride=2)))
            layers.append(
                nn.Sequential(
                    *(
                        block(width, layer_scale, stochastic_depth_prob * (done + j) / (total - 1.0))
                        for j in range(count)
                    )
                )
            )
            done += count
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1][0]
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def _forward_impl(self, x: Tensor) -> Tensor:
        found: Tensor = self.classifier(self.avgpool(self.features(x)))
        return found

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        return self._forward_impl(x)


def _convnext(name: str, width: int, third: int, drop: float) -> Any:
    setting = [(width * 2**i, third if i == 2 else 3) for i in range(4)]
    return builder(ConvNeXt, name, block_setting=setting, stochastic_depth_prob=drop)


convnext_tiny = _convnext("convnext_tiny", 96, 9, 0.1)
convnext_small = _convnext("convnext_small", 96, 27, 0.4)
convnext_base = _convnext("convnext_base", 128, 27, 0.5)
convnext_large = _convnext("convnext_large", 192, 27, 0.5)
__getattr__ = enums(__name__)
