"""ResNets of videos: Tran et al., "A Closer Look at Spatiotemporal Convolutions", CVPR 2018."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, enums


class Conv3DSimple(nn.Conv3d):
    """A convolution of 3x3x3."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int | None = None, stride: int = 1, padding: int = 1
    ) -> None:
        super().__init__(in_planes, out_planes, (3, 3, 3), stride=stride, padding=padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The stride along time, height and width."""
        return stride, stride, stride


class Conv2Plus1D(nn.Sequential):
    """A convolution of each frame, then one along time."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int, stride: int = 1, padding: int = 1
    ) -> None:
        super().__init__(
            nn.Conv3d(
                in_planes,
                midplanes,
                kernel_size=(1, 3, 3),
                stride=(1, stride, stride),
                padding=(0, padding, padding),
                bias=False,
            ),
            nn.BatchNorm3d(midplanes),
            nn.ReLU(inplace=True),
            nn.Conv3d(
                midplanes,
                out_planes,
                kernel_size=(3, 1, 1),
                stride=(stride, 1, 1),
                padding=(padding, 0, 0),
                bias=False,
            ),
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The stride along time, height and width."""
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """A convolution of 3x3 of each frame."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int | None = None, stride: int = 1, padding: int = 1
    ) -> None:
        super().__init__(
            in_planes,
            out_planes,
            kernel_size=(1, 3, 3),
            stride=(1, stride, stride),
            padding=(0, padding, padding),
            bias=False,
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The stride along time, height and width."""
        return 1, stride, stride


class BasicBlock(nn.Module):
    """Two convolutions beside the identity."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        # As many weights as a convolution of 3x3x3 has.
        midplanes = (inplanes * planes * 3 * 3 * 3) // (inplanes * 3 * 3 + 3 * planes)
        self.conv1 = nn.Sequential(
            conv_builder(inplanes, planes, midplanes, stride), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        )
        self.conv2 = nn.Sequential(conv_builder(planes, planes, midplanes), nn.BatchNorm3d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, inplanes, T, H, W)."""
        out = self.conv2(self.conv1(x))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A convolution between two of single places, beside the identity."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        midplanes = (inplanes * planes * 3 * 3 * 3) // (inplanes * 3 * 3 + 3 * planes)
        outputs = planes * self.expansion
        self.conv1 = nn.Sequential(
            nn.Conv3d(inplanes, planes, kernel_size=1, bias=False),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        self.conv2 = nn.Sequential(
            conv_builder(planes, planes, midplanes, stride), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        )
        self.conv3 = nn.Sequential(
            nn.Conv3d(planes, outputs, kernel_size=1, bias=False), nn.BatchNorm3d(outputs)
        )
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, inplanes, T, H, W)."""
        out = self.conv3(self.conv2(self.conv1(x)))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class BasicStem(nn.Sequential):
    """A convolution of 3x7x7."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv3d(3, 64, kernel_size=(3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class R2Plus1dStem(nn.Sequential):
    """A convolution of 7x7 of each frame, then one along time."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv3d(3, 45, kernel_size=(1, 7, 7), stride=(1, 2, 2), padding=(0, 3, 3), bias=False),
            nn.BatchNorm3d(45),
            nn.ReLU(inplace=True),
            nn.Conv3d(45, 64, kernel_size=(3, 1, 1), stride=(1, 1, 1), padding=(1, 0, 0), bias=False),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class VideoResNet(nn.Module):
    """A stem, four stages of blocks, an average and a linear layer."""

    def __init__(
        self,
        block: Any,
        conv_makers: Sequence[Any],
        layers: list[int],
        stem: Callable[..., nn.Module],
        num_classes: int = 400,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        for i, (make, depth) in enumerate(zip(conv_makers, layers, strict=False)):
            setattr(self, f"layer{i + 1}", self._make_layer(block, make, 64 * 2**i, depth, 2 if i else 1))
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv3d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.BatchNorm3d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.constant_(m.bias, 0)
        for m in self.modules() if zero_init_residual else ():
            if isinstance(m, Bottleneck):
                nn.init.constant_(m.bn3.weight, 0)

    def _make_layer(
        self, block: Any, conv_builder: Any, planes: int, blocks: int, stride: int = 1
    ) -> nn.Sequential:
        outputs, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != outputs:
            steps = conv_builder.get_downsample_stride(stride)
            downsample = nn.Sequential(
                nn.Conv3d(self.inplanes, outputs, kernel_size=1, stride=steps, bias=False),
                nn.BatchNorm3d(outputs),
            )
        made = [block(self.inplanes, planes, conv_builder, stride, downsample)]
        self.inplanes = outputs
        made += [block(outputs, planes, conv_builder) for _ in range(1, blocks)]
        return nn.Sequential(*made)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, 3, T, H, W); gives (N, num_classes)."""
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(self.avgpool(x).flatten(1))


def _resnet(name: str, makers: list[Any], stem: Any) -> Any:
    return builder(
        VideoResNet,
        name,
        {"num_classes": 400},
        block=BasicBlock,
        conv_makers=makers,
        layers=[2, 2, 2, 2],
        stem=stem,
    )


r3d_18 = _resnet("r3d_18", [Conv3DSimple] * 4, BasicStem)
mc3_18 = _resnet("mc3_18", [Conv3DSimple, *[Conv3DNoTemporal] * 3], BasicStem)
r2plus1d_18 = _resnet("r2plus1d_18", [Conv2Plus1D] * 4, R2Plus1dStem)
__getattr__ = enums(__name__)
