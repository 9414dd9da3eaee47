"""EfficientNet: Tan and Le, ICML 2019 (B0 to B7), and EfficientNetV2, ICML 2021 (fused blocks)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.models._utils import _make_divisible, start_plainly
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from rushlight_vision.ops.stochastic_depth import StochasticDepth


class Stage(NamedTuple):
    """A stage of blocks: expansion, kernel, stride of the first, channels in and out, how many; if fused."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    fused: bool = False


class MBConv(nn.Module):
    """More channels, a convolution of each for itself, their weights, few again; at times dropped."""

    def __init__(self, cnf: Stage, stochastic_depth_prob: float, norm_layer: Any) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        width = _make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        self.block = nn.Sequential(*self._layers(cnf, width, norm_layer))
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def _layers(self, cnf: Stage, width: int, norm: Any) -> list[nn.Module]:
        of: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = []
        if width != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, width, kernel_size=1, **of))
        layers.append(
            Conv2dNormActivation(width, width, kernel_size=cnf.kernel, stride=cnf.stride, groups=width, **of)
        )
        layers.append(
            SqueezeExcitation(
                width, max(1, cnf.input_channels // 4), activation=partial(nn.SiLU, inplace=True)
            )
        )
        return [*layers, self._last(cnf, width, norm)]

    @staticmethod
    def _last(cnf: Stage, width: int, norm: Any) -> nn.Module:
        return Conv2dNormActivation(
            width, cnf.out_channels, kernel_size=1, norm_layer=norm, activation_layer=None
        )

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, input_channels, H, W)."""
        result: Tensor = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class FusedMBConv(MBConv):
    """The same with one whole convolution in place of the first two."""

    def _layers(self, cnf: Stage, width: int, norm: Any) -> list[nn.Module]:
        of = {
            "kernel_size": cnf.kernel,
            "stride": cnf.stride,
            "norm_layer": norm,
            "activation_layer": nn.SiLU,
        }
        if width == cnf.input_channels:
            return [Conv2dNormActivation(cnf.input_channels, cnf.out_channels, **of)]
        return [Conv2dNormActivation(cnf.input_channels, width, **of), self._last(cnf, width, norm)]


class EfficientNet(nn.Module):
    """Stages of blocks, a convolution of 1x1, an average and a linear layer."""

    def __init__(
        self,
        inverted_residual_setting: Sequence[Stage],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Any = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm, stages = norm_layer or nn.BatchNorm2d, inverted_residual_setting
        of: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = [
            Conv2dNormActivation(3, stages[0].input_channels, kernel_size=3, stride=2, **of)
        ]
        total, done = float(sum(cnf.num_layers for cnf in stages)), 0
        for cnf in stages:
            made, block = [], FusedMBConv if cnf.fused else MBConv
            for i in range(cnf.num_layers):
                at = cnf._replace(input_channels=cnf.out_channels, stride=1) if i else cnf
                made.append(block(at, stochastic_depth_prob * float(done) / total, norm))
                done += 1
            layers.append(nn.Sequential(*made))
        last = stages[-1].out_channels
        width = last_channel if last_channel is not None else 4 * last
        layers.append(Conv2dNormActivation(last, width, kernel_size=1, **of))
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(width, num_classes))
        start_plainly(self.features)
        bound = 1.0 / math.sqrt(num_classes)
        nn.init.uniform_(self.classifier[1].weight, -bound, bound)
        nn.init.zeros_(self.classifier[1].bias)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = torch.flatten(self.avgpool(self.features(x)), 1)
        found: Tensor = self.classifier(x)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        return self._forward_impl(x)


_B0 = (
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
)
_V2 = {
    "s": (
        (1, 3, 1, 24, 24, 2),
        (4, 3, 2, 24, 48, 4),
        (4, 3, 2, 48, 64, 4),
        (4, 3, 2, 64, 128, 6),
        (6, 3, 1, 128, 160, 9),
        (6, 3, 2, 160, 256, 15),
    ),
    "m": (
        (1, 3, 1, 24, 24, 3),
        (4, 3, 2, 24, 48, 5),
        (4, 3, 2, 48, 80, 5),
        (4, 3, 2, 80, 160, 7),
        (6, 3, 1, 160, 176, 14),
        (6, 3, 2, 176, 304, 18),
        (6, 3, 1, 304, 512, 5),
    ),
    "l": (
        (1, 3, 1, 32, 32, 4),
        (4, 3, 2, 32, 64, 7),
        (4, 3, 2, 64, 96, 7),
        (4, 3, 2, 96, 192, 10),
        (6, 3, 1, 192, 224, 19),
        (6, 3, 2, 224, 384, 25),
        (6, 3, 1, 384, 640, 7),
    ),
}


def _scaled(name: str, width: float, depth: float, dropout: float, **norm: Any) -> Any:
    stages = [
        Stage(
            expand,
            kernel,
            stride,
            _make_divisible(inputs * width, 8),
            _make_divisible(outputs * width, 8),
            math.ceil(count * depth),
        )
        for expand, kernel, stride, inputs, outputs, count in _B0
    ]
    more: dict[str, Any] = {"norm_layer": partial(nn.BatchNorm2d, **norm)} if norm else {}
    return builder(EfficientNet, name, inverted_residual_setting=stages, dropout=dropout, **more)


def _second(name: str, dropout: float) -> Any:
    stages = [Stage(*row, fused=i < 3) for i, row in enumerate(_V2[name[-1]])]
    return builder(
        EfficientNet,
        name,
        inverted_residual_setting=stages,
        dropout=dropout,
        last_channel=1280,
        norm_layer=partial(nn.BatchNorm2d, eps=1e-3),
    )


efficientnet_b0 = _scaled("efficientnet_b0", 1.0, 1.0, 0.2)
efficientnet_b1 = _scaled("efficientnet_b1", 1.0, 1.1, 0.2)
efficientnet_b2 = _scaled("efficientnet_b2", 1.1, 1.2, 0.3)
efficientnet_b3 = _scaled("efficientnet_b3", 1.2, 1.4, 0.3)
efficientnet_b4 = _scaled("efficientnet_b4", 1.4, 1.8, 0.4)
efficientnet_b5 = _scaled("efficientnet_b5", 1.6, 2.2, 0.4, eps=0.001, momentum=0.01)
efficientnet_b6 = _scaled("efficientnet_b6", 1.8, 2.6, 0.5, eps=0.001, momentum=0.01)
efficientnet_b7 = _scaled("efficientnet_b7", 2.0, 3.1, 0.5, eps=0.001, momentum=0.01)
efficientnet_v2_s = _second("efficientnet_v2_s", 0.2)
efficientnet_v2_m = _second("efficientnet_v2_m", 0.3)
efficientnet_v2_l = _second("efficientnet_v2_l", 0.4)
__getattr__ = enums(__name__)
