"""LR-ASPP: Howard et al., "Searching for MobileNetV3", ICCV 2019, section 6.4."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from rushlight import Tensor, nn
from rushlight_vision.models._api import enums
from rushlight_vision.models.segmentation._utils import builder, of_mobilenet, upsampled


class LRASPPHead(nn.Module):
    """Late features, weighed by what the whole image says, beside earlier ones."""

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        """input: features (N, C, H, W) by the names "low" and "high"."""
        low, high = input["low"], input["high"]
        x = upsampled(self.cbr(high) * self.scale(high), list(low.shape[-2:]))
        return self.low_classifier(low) + self.high_classifier(x)


class LRASPP(nn.Module):
    """The head on a backbone that gives "low" and "high"."""

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:
        """input: (N, 3, H, W); gives "out", (N, num_classes, H, W)."""
        found: dict[str, Tensor] = OrderedDict()
        found["out"] = upsampled(self.classifier(self.backbone(input)), list(input.shape[-2:]))
        return found


def _mobile(weights: Any, num_classes: int, **kwargs: Any) -> LRASPP:
    backbone, high, low = of_mobilenet(weights, "high", "low")
    return LRASPP(backbone, low, high, num_classes, **kwargs)


lraspp_mobilenet_v3_large = builder(_mobile, "lraspp_mobilenet_v3_large", "mobilenet_v3_large")
__getattr__ = enums(__name__)
