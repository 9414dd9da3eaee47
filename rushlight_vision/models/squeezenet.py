"""SqueezeNet: Iandola et al., 2016 (1_0), and its lighter form (1_1)."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums

# Widths of the fire modules: squeeze, and of both kinds of expansion; "M" for a maximum.
_FIRES: dict[str, tuple[tuple[int, int] | str, ...]] = {
    "1_0": ((16, 64), (16, 64), (32, 128), "M", (32, 128), (48, 192), (48, 192), (64, 256), "M", (64, 256)),
    "1_1": ((16, 64), (16, 64), "M", (32, 128), (32, 128), "M", (48, 192), (48, 192), (64, 256), (64, 256)),
}


class Fire(nn.Module):
    """A convolution of 1x1, and two of 1x1 and 3x3 side by side on it."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand_planes: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, inplanes, H, W)."""
        x = self.squeeze_activation(self.squeeze(x))
        return torch.cat(
            [self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1
        )


class SqueezeNet(nn.Module):
    """Fire modules with maxima between; a convolution gives a map for each class."""

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        if version not in _FIRES:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        width, kernel = (96, 7) if version == "1_0" else (64, 3)

        def pool() -> nn.MaxPool2d:
            return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)

        layers: list[nn.Module] = [
            nn.Conv2d(3, width, kernel_size=kernel, stride=2),
            nn.ReLU(inplace=True),
            pool(),
        ]
        for fire in _FIRES[version]:
            if isinstance(fire, str):
                layers.append(pool())
                continue
            squeeze, expand = fire
            layers.append(Fire(width, squeeze, expand))
            width = 2 * expand
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                if m is last:
                    nn.init.normal_(m.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(m.weight)
                nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        return torch.flatten(self.classifier(self.features(x)), 1)


squeezenet1_0 = builder(SqueezeNet, "squeezenet1_0", version="1_0")
squeezenet1_1 = builder(SqueezeNet, "squeezenet1_1", version="1_1")
__getattr__ = enums(__name__)
