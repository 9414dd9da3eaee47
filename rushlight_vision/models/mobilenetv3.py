"""MobileNetV3: Howard et al., "Searching for MobileNetV3", ICCV 2019, tables 1 and 2."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.models._utils import _make_divisible, start_plainly
from rushlight_vision.ops.misc import Conv2dNormActivation, SqueezeExcitation


class InvertedResidualConfig(NamedTuple):
    """A block: channels before, inside and after, whether squeezed, hard swish or ReLU, and how it steps."""

    input_channels: int
    kernel: int
    expanded_channels: int
    out_channels: int
    use_se: bool
    use_hs: bool
    stride: int
    dilation: int = 1

    def scaled(self, width: float) -> InvertedResidualConfig:
        """The block with `width` times the channels."""
        return self._replace(
            input_channels=_make_divisible(self.input_channels * width, 8),
            expanded_channels=_make_divisible(self.expanded_channels * width, 8),
            out_channels=_make_divisible(self.out_channels * width, 8),
        )


class InvertedResidual(nn.Module):
    """More channels, a convolution of each for itself, their weights, and few again."""

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Any,
        se_layer: Any = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid),
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        of: dict[str, Any] = {
            "norm_layer": norm_layer,
            "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU,
        }
        width, layers = cnf.expanded_channels, list[nn.Module]()
        if width != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, width, kernel_size=1, **of))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(
            Conv2dNormActivation(
                width, width, kernel_size=cnf.kernel, groups=width, stride=stride, dilation=cnf.dilation, **of
            )
        )
        if cnf.use_se:
            layers.append(se_layer(width, _make_divisible(width // 4, 8)))
        layers.append(
            Conv2dNormActivation(
                width, cnf.out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=None
            )
        )
        self.block = nn.Sequential(*layers)
        self.out_channels, self._is_cn = cnf.out_channels, cnf.stride > 1

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, input_channels, H, W)."""
        result: Tensor = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """Blocks by their settings, and two linear layers."""

    def __init__(
        self,
        inverted_residual_setting: list[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Any = None,
        norm_layer: Any = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        block = block or InvertedResidual
        norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        of: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.Hardswish}
        first, last = inverted_residual_setting[0].input_channels, inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            Conv2dNormActivation(3, first, kernel_size=3, stride=2, **of),
            *(block(cnf, norm) for cnf in inverted_residual_setting),
            Conv2dNormActivation(last, 6 * last, kernel_size=1, **of),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        start_plainly(self)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = torch.flatten(self.avgpool(self.features(x)), 1)
        found: Tensor = self.classifier(x)
        return found

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        return self._forward_impl(x)


_T, _F = True, False
_LARGE = (
    (16, 3, 16, 16, _F, _F, 1),
    (16, 3, 64, 24, _F, _F, 2),
    (24, 3, 72, 24, _F, _F, 1),
    (24, 5, 72, 40, _T, _F, 2),
    (40, 5, 120, 40, _T, _F, 1),
    (40, 5, 120, 40, _T, _F, 1),
    (40, 3, 240, 80, _F, _T, 2),
    (80, 3, 200, 80, _F, _T, 1),
    (80, 3, 184, 80, _F, _T, 1),
    (80, 3, 184, 80, _F, _T, 1),
    (80, 3, 480, 112, _T, _T, 1),
    (112, 3, 672, 112, _T, _T, 1),
    (112, 5, 672, 160, _T, _T, 2),
    (160, 5, 960, 160, _T, _T, 1),
    (160, 5, 960, 160, _T, _T, 1),
)
_SMALL = (
    (16, 3, 16, 16, _T, _F, 2),
    (16, 3, 72, 24, _F, _F, 2),
    (24, 3, 88, 24, _F, _F, 1),
    (24, 5, 96, 40, _T, _T, 2),
    (40, 5, 240, 40, _T, _T, 1),
    (40, 5, 240, 40, _T, _T, 1),
    (40, 5, 120, 48, _T, _T, 1),
    (48, 5, 144, 48, _T, _T, 1),
    (48, 5, 288, 96, _T, _T, 2),
    (96, 5, 576, 96, _T, _T, 1),
    (96, 5, 576, 96, _T, _T, 1),
)


def _tailed(row: Any, place: int, reduced: bool, dilated: bool) -> InvertedResidualConfig:
    """One of the last three blocks, whose channels may be half as many, and whose strides dilations."""
    cnf, halves = InvertedResidualConfig(*row), 2 if reduced else 1
    return cnf._replace(
        input_channels=cnf.input_channels // (halves if place else 1),
        expanded_channels=cnf.expanded_channels // (halves if place else 1),
        out_channels=cnf.out_channels // halves,
        dilation=2 if dilated else 1,
    )


def _mobile(
    table: Any,
    last_channel: int,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **kwargs: Any,
) -> MobileNetV3:
    rows = [InvertedResidualConfig(*row) for row in table[:-3]]
    rows += [_tailed(row, i, reduced_tail, dilated) for i, row in enumerate(table[-3:])]
    return MobileNetV3(
        [row.scaled(width_mult) for row in rows],
        _make_divisible(last_channel // (2 if reduced_tail else 1) * width_mult, 8),
        **kwargs,
    )


mobilenet_v3_large = builder(_mobile, "mobilenet_v3_large", table=_LARGE, last_channel=1280)
mobilenet_v3_small = builder(_mobile, "mobilenet_v3_small", table=_SMALL, last_channel=1024)
__getattr__ = enums(__name__)
