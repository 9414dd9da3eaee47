"""DeepLabV3: Chen et al., "Rethinking Atrous Convolution for Semantic Image Segmentation", 2017."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import enums
from rushlight_vision.models.segmentation._utils import (
    _SimpleSegmentationModel,
    builder,
    of_mobilenet,
    of_resnet,
    upsampled,
)
from rushlight_vision.models.segmentation.fcn import FCNHead


class DeepLabV3(_SimpleSegmentationModel):
    """Convolutions that see at several rates side by side, on features at an eighth of the size."""


def _conv(inputs: int, outputs: int, kernel: int, rate: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel, padding=rate * (kernel // 2), dilation=rate, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    ]


class ASPPConv(nn.Sequential):
    """A convolution of 3x3 pixels `dilation` apart."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(*_conv(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """The image's average, at every pixel."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *_conv(in_channels, out_channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, in_channels, H, W)."""
        size = list(x.shape[-2:])
        for layer in self:
            x = layer(x)
        return upsampled(x, size)


class ASPP(nn.Module):
    """Single pixels, convolutions at each rate, and the average, projected together."""

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(*_conv(in_channels, out_channels, 1)),
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        together = len(self.convs) * out_channels
        self.project = nn.Sequential(*_conv(together, out_channels, 1), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, in_channels, H, W)."""
        found: Tensor = self.project(torch.cat([conv(x) for conv in self.convs], dim=1))
        return found


class DeepLabHead(nn.Sequential):
    """The pyramid of rates, a convolution, and one to the classes."""

    def __init__(
        self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)
    ) -> None:
        super().__init__(ASPP(in_channels, atrous_rates), *_conv(256, 256, 3), nn.Conv2d(256, num_classes, 1))


def _complete(features: Any, num_classes: int, aux_loss: Any) -> DeepLabV3:
    backbone, last, before = features
    aux = FCNHead(before, num_classes) if aux_loss else None
    return DeepLabV3(backbone, DeepLabHead(last, num_classes), aux)


def _of(name: str) -> Any:
    def make(weights: Any, num_classes: int, aux_loss: bool | None = None) -> DeepLabV3:
        return _complete(of_resnet(name, weights, bool(aux_loss)), num_classes, aux_loss)

    return builder(make, f"deeplabv3_{name}", name, aux_loss=True)


def _mobile(weights: Any, num_classes: int, aux_loss: bool | None = None) -> DeepLabV3:
    return _complete(of_mobilenet(weights, "out", "aux" if aux_loss else None), num_classes, aux_loss)


deeplabv3_resnet50, deeplabv3_resnet101 = _of("resnet50"), _of("resnet101")
deeplabv3_mobilenet_v3_large = builder(
    _mobile, "deeplabv3_mobilenet_v3_large", "mobilenet_v3_large", aux_loss=True
)
__getattr__ = enums(__name__)
