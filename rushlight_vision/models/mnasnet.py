"""MNASNet: Tan et al., "MnasNet: Platform-Aware Neural Architecture Search for Mobile", CVPR 2019."""

from __future__ import annotations

from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums
from rushlight_vision.models._utils import _make_divisible

# What TensorFlow calls a momentum of 0.9997.
_MOMENTUM = 1 - 0.9997
# Stacks of blocks: channels, kernel, stride of the first, expansion, how many.
_STACKS = (
    (24, 3, 2, 3, 3),
    (40, 5, 2, 3, 3),
    (80, 5, 2, 6, 3),
    (96, 3, 1, 6, 2),
    (192, 5, 2, 6, 4),
    (320, 3, 1, 6, 1),
)


def _conv(
    inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1, relu: bool = True
) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, momentum=_MOMENTUM),
        *([nn.ReLU(inplace=True)] if relu else []),
    ]


class _InvertedResidual(nn.Module):
    """More channels, a convolution of each for itself, and few again; the identity beside where it fits."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        self.apply_residual = inputs == outputs and stride == 1
        width = inputs * expansion
        self.layers = nn.Sequential(
            *_conv(inputs, width),
            *_conv(width, width, kernel, stride, width),
            *_conv(width, outputs, relu=False),
        )

    def forward(self, input: Tensor) -> Tensor:
        """input: (N, inputs, H, W)."""
        found = self.layers(input)
        result: Tensor = found + input if self.apply_residual else found
        return result


class MNASNet(nn.Module):
    """Stacks of blocks, `alpha` times as wide as the first of its kind."""

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha, self.num_classes = alpha, num_classes
        first, width = (_make_divisible(n * alpha, 8) for n in (32, 16))
        layers = [
            *_conv(3, first, 3, 2),
            *_conv(first, first, 3, groups=first),
            *_conv(first, width, relu=False),
        ]
        for channels, kernel, stride, expansion, count in _STACKS:
            outputs = _make_divisible(channels * alpha, 8)
            layers.append(
                nn.Sequential(
                    _InvertedResidual(width, outputs, kernel, stride, expansion),
                    *(_InvertedResidual(outputs, outputs, kernel, 1, expansion) for _ in range(1, count)),
                )
            )
            width = outputs
        self.layers = nn.Sequential(*layers, *_conv(width, 1280))
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.Linear):
                nn.init.kaiming_uniform_(m.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        found: Tensor = self.classifier(self.layers(x).mean([2, 3]))
        return found


mnasnet0_5 = builder(MNASNet, "mnasnet0_5", alpha=0.5)
mnasnet0_75 = builder(MNASNet, "mnasnet0_75", alpha=0.75)
mnasnet1_0 = builder(MNASNet, "mnasnet1_0", alpha=1.0)
mnasnet1_3 = builder(MNASNet, "mnasnet1_3", alpha=1.3)
__getattr__ = enums(__name__)
