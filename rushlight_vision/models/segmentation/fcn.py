"""FCN: Long et al., "Fully Convolutional Networks for Semantic Segmentation", CVPR 2015."""

from __future__ import annotations

from typing import Any

from rushlight import nn
from rushlight_vision.models._api import enums
from rushlight_vision.models.segmentation._utils import _SimpleSegmentationModel, builder, of_resnet


class FCN(_SimpleSegmentationModel):
    """Convolutions to a map for each class."""


class FCNHead(nn.Sequential):
    """A convolution of 3x3 to a quarter of the channels, and one of 1x1 to the classes."""

    def __init__(self, in_channels: int, channels: int) -> None:
        inside = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inside, 3, padding=1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inside, channels, 1),
        )


def _fcn(name: str, weights: Any, num_classes: int, aux_loss: bool | None = None) -> FCN:
    backbone, last, before = of_resnet(name, weights, bool(aux_loss))
    aux = FCNHead(before, num_classes) if aux_loss else None
    return FCN(backbone, FCNHead(last, num_classes), aux)


def _of(name: str) -> Any:
    return builder(lambda *args, **kwargs: _fcn(name, *args, **kwargs), f"fcn_{name}", name, aux_loss=True)


fcn_resnet50, fcn_resnet101 = _of("resnet50"), _of("resnet101")
__getattr__ = enums(__name__)
