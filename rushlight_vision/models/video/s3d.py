"""S3D: Xie et al., "Rethinking Spatiotemporal Feature Learning", ECCV 2018."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.ops.misc import Conv3dNormActivation


class TemporalSeparableConv(nn.Sequential):
    """A convolution of each frame, then one along time."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        kernel_size: int,
        stride: int,
        padding: int,
        norm_layer: Callable[..., nn.Module],
    ) -> None:
        k, s, p = kernel_size, stride, padding
        conv = partial(Conv3dNormActivation, bias=False, norm_layer=norm_layer)
        super().__init__(
            conv(in_planes, out_planes, kernel_size=(1, k, k), stride=(1, s, s), padding=(0, p, p)),
            conv(out_planes, out_planes, kernel_size=(k, 1, 1), stride=(s, 1, 1), padding=(p, 0, 0)),
        )


class SepInceptionBlock3D(nn.Module):
    """Four branches over the same features, one after the other in the channels of the result."""

    def __init__(
        self,
        in_planes: int,
        b0_out: int,
        b1_mid: int,
        b1_out: int,
        b2_mid: int,
        b2_out: int,
        b3_out: int,
        norm_layer: Callable[..., nn.Module],
    ) -> None:
        super().__init__()
        single = partial(Conv3dNormActivation, kernel_size=1, stride=1, norm_layer=norm_layer)
        self.branch0 = single(in_planes, b0_out)
        self.branch1 = nn.Sequential(
            single(in_planes, b1_mid), TemporalSeparableConv(b1_mid, b1_out, 3, 1, 1, norm_layer)
        )
        self.branch2 = nn.Sequential(
            single(in_planes, b2_mid), TemporalSeparableConv(b2_mid, b2_out, 3, 1, 1, norm_layer)
        )
        self.branch3 = nn.Sequential(
            nn.MaxPool3d(kernel_size=(3, 3, 3), stride=1, padding=1), single(in_planes, b3_out)
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, in_planes, T, H, W)."""
        return torch.cat([self.branch0(x), self.branch1(x), self.branch2(x), self.branch3(x)], 1)


# Channels of the inceptions, in between which are maxima over squares or cubes of that size.
_LAYERS: tuple[int | tuple[int, ...], ...] = (
    (192, 64, 96, 128, 16, 32, 32),
    (256, 128, 128, 192, 32, 96, 64),
    3,
    (480, 192, 96, 208, 16, 48, 64),
    (512, 160, 112, 224, 24, 64, 64),
    (512, 128, 128, 256, 24, 64, 64),
    (512, 112, 144, 288, 32, 64, 64),
    (528, 256, 160, 320, 32, 128, 128),
    2,
    (832, 256, 160, 320, 32, 128, 128),
    (832, 384, 192, 384, 48, 128, 128),
)


class S3D(nn.Module):
    """Inceptions of separable convolutions; at least 14 frames of 224 x 224."""

    def __init__(
        self,
        num_classes: int = 400,
        dropout: float = 0.2,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm3d, eps=0.001, momentum=0.001)
        flat: dict[str, Any] = {"kernel_size": (1, 3, 3), "stride": (1, 2, 2), "padding": (0, 1, 1)}
        layers: list[nn.Module] = [
            TemporalSeparableConv(3, 64, 7, 2, 3, norm),
            nn.MaxPool3d(**flat),
            Conv3dNormActivation(64, 64, kernel_size=1, stride=1, norm_layer=norm),
            TemporalSeparableConv(64, 192, 3, 1, 1, norm),
            nn.MaxPool3d(**flat),
        ]
        for layer in _LAYERS:
            if isinstance(layer, int):
                size = (layer, layer, layer)
                layers.append(nn.MaxPool3d(kernel_size=size, stride=(2, 2, 2), padding=(layer // 3,) * 3))
            else:
                make: Any = SepInceptionBlock3D
                layers.append(make(*layer, norm_layer=norm))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AvgPool3d(kernel_size=(2, 7, 7), stride=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Conv3d(1024, num_classes, kernel_size=1, stride=1, bias=True)
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, T, H, W); gives (N, num_classes)."""
        return torch.mean(self.classifier(self.avgpool(self.features(x))), dim=(2, 3, 4))


s3d = builder(S3D, "s3d", {"num_classes": 400})
__getattr__ = enums(__name__)
