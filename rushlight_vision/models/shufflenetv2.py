"""ShuffleNet V2: Ma et al., "Practical Guidelines for Efficient CNN Architecture Design", ECCV 2018."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, H, W), those of all groups in turn."""
    n, channels, height, width = x.size()
    x = x.view(n, groups, channels // groups, height, width)
    return torch.transpose(x, 1, 2).contiguous().view(n, channels, height, width)


def _pixels(inputs: int, outputs: int) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel_size=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


def _each_channel(width: int, stride: int) -> list[nn.Module]:
    return [nn.Conv2d(width, width, 3, stride, padding=1, groups=width, bias=False), nn.BatchNorm2d(width)]


class InvertedResidual(nn.Module):
    """Convolutions on half of the channels, beside the others; on all of them where the size changes."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        half = oup // 2
        if stride == 1 and inp != half << 1:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. "
                "If stride == 1 then inp should be equal to oup // 2 << 1."
            )
        self.stride, self.branch1 = stride, nn.Sequential()
        if stride > 1:
            self.branch1 = nn.Sequential(*_each_channel(inp, stride), *_pixels(inp, half))
        self.branch2 = nn.Sequential(
            *_pixels(inp if stride > 1 else half, half), *_each_channel(half, stride), *_pixels(half, half)
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, inp, H, W)."""
        if self.stride == 1:
            kept, changed = x.chunk(2, dim=1)
        else:
            kept, changed = self.branch1(x), x
        return channel_shuffle(torch.cat((kept, self.branch2(changed)), dim=1), 2)


class ShuffleNetV2(nn.Module):
    """A convolution, a maximum, three stages of blocks, a convolution of 1x1, an average, a linear layer."""

    def __init__(
        self,
        stages_repeats: list[int],
        stages_out_channels: list[int],
        num_classes: int = 1000,
        inverted_residual: Any = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        first, *middle, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for i, (count, width) in enumerate(zip(stages_repeats, middle, strict=True)):
            before = stages_out_channels[i]
            setattr(
                self,
                f"stage{i + 2}",
                nn.Sequential(
                    inverted_residual(before, width, 2),
                    *(inverted_residual(width, width, 1) for _ in range(count - 1)),
                ),
            )
        self.conv5 = nn.Sequential(*_pixels(middle[-1], last))
        self.fc = nn.Linear(last, num_classes)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.stage4(self.stage3(self.stage2(self.maxpool(self.conv1(x)))))
        return self.fc(self.conv5(x).mean([2, 3]))

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, H, W); gives (N, num_classes)."""
        return self._forward_impl(x)


def _shuffle(name: str, width: int, last: int = 1024) -> Any:
    return builder(
        ShuffleNetV2,
        name,
        stages_repeats=[4, 8, 4],
        stages_out_channels=[24, width, 2 * width, 4 * width, last],
    )


shufflenet_v2_x0_5 = _shuffle("shufflenet_v2_x0_5", 48)
shufflenet_v2_x1_0 = _shuffle("shufflenet_v2_x1_0", 116)
shufflenet_v2_x1_5 = _shuffle("shufflenet_v2_x1_5", 176)
shufflenet_v2_x2_0 = _shuffle("shufflenet_v2_x2_0", 244, 2048)
__getattr__ = enums(__name__)
