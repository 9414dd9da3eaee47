"""MobileNetV2: Sandler et al., "Inverted Residuals and Linear Bottlenecks", CVPR 2018."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.models._utils import _make_divisible, start_plainly
from rushlight_vision.ops.misc import Conv2dNormActivation

# Table 2: expansion, channels, how many, stride of the first.
_SETTING = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
]


class InvertedResidual(nn.Module):
    """More channels, a convolution of each for itself, and few again; the identity beside where it fits."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Any = None) -> None:
        super().__init__()
        if stride not in [1, 2]:
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm, width = norm_layer or nn.BatchNorm2d, round(inp * expand_ratio)
        self.stride, self.use_res_connect = stride, stride == 1 and inp == oup
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, width, 1, norm_layer=norm, activation_layer=nn.ReLU6))
        layers += [
            Conv2dNormActivation(
                width, width, stride=stride, groups=width, norm_layer=norm, activation_layer=nn.ReLU6
            ),
            nn.Conv2d(width, oup, 1, 1, 0, bias=False),
            norm(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.out_channels, self._is_cn = oup, stride > 1

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, inp, H, W)."""
        found: Tensor = x + self.conv(x) if self.use_res_connect else self.conv(x)
        return found


class MobileNetV2(nn.Module):
    """Inverted residuals by a table of settings."""

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Any = None,
        norm_layer: Any = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block, norm = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        setting = inverted_residual_setting or _SETTING
        if not setting or len(setting[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {setting}"
            )
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [
            Conv2dNormActivation(3, width, stride=2, norm_layer=norm, activation_layer=nn.ReLU6)
        ]
        for t, c, n, s in setting:
            outputs = _make_divisible(c * width_mult, round_nearest)
            for i in range(n):
                layers.append(block(width, outputs, s if i == 0 else 1, expand_ratio=t, norm_layer=norm))
                width = outputs
        layers.append(
            Conv2dNormActivation(
                width, self.last_channel, kernel_size=1, norm_layer=norm, activation_layer=nn.ReLU6
            )
        )
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        start_plainly(self)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        found: Tensor = self.classifier(torch.flatten(x, 1))
        return found

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        return self._forward_impl(x)


mobilenet_v2 = builder(MobileNetV2, "mobilenet_v2")
__getattr__ = enums(__name__)
