"""VGG: Simonyan and Zisserman, "Very Deep Convolutional Networks", ICLR 2015; `_bn` with batch norm."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums

# Convolutions of each depth, by stage; a maximum follows each stage.
_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(nn.Module):
    """`features`, an average to 7x7, and three linear layers."""

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features, self.avgpool = features, nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        for m in self.modules() if init_weights else ():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        x = torch.flatten(self.avgpool(self.features(x)), 1)
        found: Tensor = self.classifier(x)
        return found


def make_layers(depth: int, batch_norm: bool) -> nn.Sequential:
    """The convolutions of a depth."""
    layers: list[nn.Module] = []
    inputs = 3
    for width, count in zip((64, 128, 256, 512, 512), _STAGES[depth], strict=True):
        for _ in range(count):
            layers.append(nn.Conv2d(inputs, width, kernel_size=3, padding=1))
            layers += [nn.BatchNorm2d(width)] if batch_norm else []
            layers.append(nn.ReLU(inplace=True))
            inputs = width
        layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
    return nn.Sequential(*layers)


def _vgg(name: str, depth: int, batch_norm: bool = False) -> Any:
    return builder(lambda **kwargs: VGG(make_layers(depth, batch_norm), **kwargs), name)


vgg11, vgg11_bn = _vgg("vgg11", 11), _vgg("vgg11_bn", 11, True)
vgg13, vgg13_bn = _vgg("vgg13", 13), _vgg("vgg13_bn", 13, True)
vgg16, vgg16_bn = _vgg("vgg16", 16), _vgg("vgg16_bn", 16, True)
vgg19, vgg19_bn = _vgg("vgg19", 19), _vgg("vgg19_bn", 19, True)
__getattr__ = enums(__name__)
