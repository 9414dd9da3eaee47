"""RegNet: Radosavovic et al., "Designing Network Design Spaces", CVPR 2020; Y is X with squeezed channels."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.models._utils import _make_divisible
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation


class BlockParams(NamedTuple):
    """Stages: how many blocks, channels and channels of a group of each, and the share that is squeezed."""

    depths: list[int]
    widths: list[int]
    group_widths: list[int]
    bottleneck_multiplier: float = 1.0
    se_ratio: float | None = None

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> BlockParams:
        """Equations 2 to 4: widths that grow by w_a, each the nearest power of w_m times w_0."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        powers = (round(math.log((w_0 + w_a * i) / w_0) / math.log(w_m)) for i in range(depth))
        widths, depths, groups = [], [], []
        for width, blocks in groupby(round(w_0 * w_m**power / 8) * 8 for power in powers):
            inside = int(width * bottleneck_multiplier)
            groups.append(min(group_width, inside))
            widths.append(int(_make_divisible(inside, groups[-1]) / bottleneck_multiplier))
            depths.append(len(list(blocks)))
        return cls(depths, widths, groups, bottleneck_multiplier, se_ratio)


class ResBottleneckBlock(nn.Module):
    """A convolution of 3x3 in groups between two of 1x1, beside the identity."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Any,
        activation_layer: Any,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        of = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        plain = {"norm_layer": norm_layer, "activation_layer": None}
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(width_in, width_out, kernel_size=1, stride=stride, **plain)
        width = round(width_out * bottleneck_multiplier)
        layers: Any = OrderedDict(
            a=Conv2dNormActivation(width_in, width, kernel_size=1, **of),
            b=Conv2dNormActivation(width, width, stride=stride, groups=width // group_width, **of),
        )
        if se_ratio:
            layers["se"] = SqueezeExcitation(width, round(se_ratio * width_in), activation_layer)
        layers["c"] = Conv2dNormActivation(width, width_out, kernel_size=1, **plain)
        self.f = BottleneckTransform(layers)
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, width_in, H, W)."""
        before = x if self.proj is None else self.proj(x)
        found: Tensor = self.activation(before + self.f(x))
        return found


class BottleneckTransform(nn.Sequential):
    """What a block adds to the identity."""


class AnyStage(nn.Sequential):
    """Blocks of one width, the first of which halves the size."""


class SimpleStemIN(Conv2dNormActivation):
    """The first convolution."""


class RegNet(nn.Module):
    """A convolution, stages of blocks by `block_params`, an average, a linear layer."""

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Any = None,
        block_type: Any = None,
        norm_layer: Any = None,
        activation: Any = None,
    ) -> None:
        super().__init__()
        norm, activation = norm_layer or nn.BatchNorm2d, activation or nn.ReLU
        block, p, width = block_type or ResBottleneckBlock, block_params, stem_width
        self.stem = (stem_type or SimpleStemIN)(
            3, stem_width, stride=2, norm_layer=norm, activation_layer=activation
        )
        stages: Any = OrderedDict()
        for i, (depth, out, group) in enumerate(zip(p.depths, p.widths, p.group_widths, strict=True), 1):
            stage: Any = OrderedDict()
            for j in range(depth):
                before, stride = (out, 1) if j else (width, 2)
                stage[f"block{i}-{j}"] = block(
                    before, out, stride, norm, activation, group, p.bottleneck_multiplier, p.se_ratio
                )
            stages[f"block{i}"], width = AnyStage(stage), out
        self.trunk_output = nn.Sequential(stages)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                fan_out = m.weight[0, 0].numel() * m.out_channels
                nn.init.normal_(m.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0.0, std=0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        x = self.avgpool(self.trunk_output(self.stem(x)))
        return self.fc(torch.flatten(x, 1))


def _regnet(name: str, depth: int, w_0: int, w_a: float, w_m: float, group_width: int) -> Any:
    se_ratio = 0.25 if name.startswith("regnet_y") else None
    params = BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio)
    norm = partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1)
    return builder(RegNet, name, block_params=params, norm_layer=norm)


regnet_y_400mf = _regnet("regnet_y_400mf", 16, 48, 27.89, 2.09, 8)
regnet_y_800mf = _regnet("regnet_y_800mf", 14, 56, 38.84, 2.4, 16)
regnet_y_1_6gf = _regnet("regnet_y_1_6gf", 27, 48, 20.71, 2.65, 24)
regnet_y_3_2gf = _regnet("regnet_y_3_2gf", 21, 80, 42.63, 2.66, 24)
regnet_y_8gf = _regnet("regnet_y_8gf", 17, 192, 76.82, 2.19, 56)
regnet_y_16gf = _regnet("regnet_y_16gf", 18, 200, 106.23, 2.48, 112)
regnet_y_32gf = _regnet("regnet_y_32gf", 20, 232, 115.89, 2.53, 232)
regnet_y_128gf = _regnet("regnet_y_128gf", 27, 456, 160.83, 2.52, 264)
regnet_x_400mf = _regnet("regnet_x_400mf", 22, 24, 24.48, 2.54, 16)
regnet_x_800mf = _regnet("regnet_x_800mf", 16, 56, 35.73, 2.28, 16)
regnet_x_1_6gf = _regnet("regnet_x_1_6gf", 18, 80, 34.01, 2.25, 24)
regnet_x_3_2gf = _regnet("regnet_x_3_2gf", 25, 88, 26.31, 2.25, 48)
regnet_x_8gf = _regnet("regnet_x_8gf", 23, 80, 49.56, 2.88, 120)
regnet_x_16gf = _regnet("regnet_x_16gf", 22, 216, 55.59, 2.1, 128)
regnet_x_32gf = _regnet("regnet_x_32gf", 23, 320, 69.86, 2.0, 168)
__getattr__ = enums(__name__)
