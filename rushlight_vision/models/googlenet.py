"""GoogLeNet: Szegedy et al., "Going Deeper with Convolutions", CVPR 2015."""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight._engine.core.callers import warn
from rushlight_vision.models import _api
from rushlight_vision.models._legacy import handle_legacy_interface
from rushlight_vision.models.weights import before


class GoogLeNetOutputs(NamedTuple):
    """The logits (N, num_classes) of a GoogLeNet and of its classifiers beside."""

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


def renormalised(x: Tensor) -> Tensor:
    """Images (N, 3, H, W) normalised as torchvision's others are, as those of [-1, 1] that weights of
    TensorFlow were trained on.
    """
    red = torch.unsqueeze(x[:, 0], 1) * (0.229 / 0.5) + (0.485 - 0.5) / 0.5
    green = torch.unsqueeze(x[:, 1], 1) * (0.224 / 0.5) + (0.456 - 0.5) / 0.5
    blue = torch.unsqueeze(x[:, 2], 1) * (0.225 / 0.5) + (0.406 - 0.5) / 0.5
    return torch.cat((red, green, blue), 1)


class BasicConv2d(nn.Module):
    """A convolution without bias, batch norm, ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **options)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, C, H, W)."""
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches over the same features, one after the other in the channels of the result."""

    def __init__(
        self, inputs: int, ch1x1: int, ch3x3red: int, ch3x3: int, ch5x5red: int, ch5x5: int, pool_proj: int
    ) -> None:
        super().__init__()
        self.branch1 = BasicConv2d(inputs, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            BasicConv2d(inputs, ch3x3red, kernel_size=1),
            BasicConv2d(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        # 3x3, not 5x5: the published weights were trained so.
        self.branch3 = nn.Sequential(
            BasicConv2d(inputs, ch5x5red, kernel_size=1),
            BasicConv2d(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            BasicConv2d(inputs, pool_proj, kernel_size=1),
        )

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, C, H, W); gives (N, ch1x1 + ch3x3 + ch5x5 + pool_proj, H, W)."""
        return torch.cat(self._forward(x), 1)


class InceptionAux(nn.Module):
    """A classifier beside the main one, of features from the middle."""

    def __init__(self, inputs: int, num_classes: int, dropout: float = 0.7) -> None:
        super().__init__()
        self.conv = BasicConv2d(inputs, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, inputs, 14, 14); gives (N, num_classes)."""
        x = torch.flatten(self.conv(F.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


# name: (channels in, 1x1, 3x3's reduction, 3x3, 5x5's reduction, 5x5, after pooling)
_INCEPTIONS: dict[str, int | tuple[int, ...]] = {
    "inception3a": (192, 64, 96, 128, 16, 32, 32),
    "inception3b": (256, 128, 128, 192, 32, 96, 64),
    "maxpool3": 3,
    "inception4a": (480, 192, 96, 208, 16, 48, 64),
    "inception4b": (512, 160, 112, 224, 24, 64, 64),
    "inception4c": (512, 128, 128, 256, 24, 64, 64),
    "inception4d": (512, 112, 144, 288, 32, 64, 64),
    "inception4e": (528, 256, 160, 320, 32, 128, 128),
    "maxpool4": 2,
    "inception5a": (832, 256, 160, 320, 32, 128, 128),
    "inception5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(nn.Module):
    """Nine inceptions. In training, with aux_logits, two more classifiers' logits come with the result."""

    __constants__ = ["aux_logits", "transform_input"]

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Any = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        if init_weights is None:
            warn(
                "The default weight initialization of GoogleNet will be changed in future releases of "
                "torchvision. If you wish to keep the old behavior (which leads to long initialization "
                "times due to scipy/scipy#11299), please set init_weights=True.",
                FutureWarning,
            )
            init_weights = True
        conv, inception, aux = (BasicConv2d, Inception, InceptionAux) if blocks is None else blocks
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, widths in _INCEPTIONS.items():
            if isinstance(widths, int):
                setattr(self, name, nn.MaxPool2d(widths, stride=2, ceil_mode=True))
            else:
                setattr(self, name, inception(*widths))
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, mean=0.0, std=0.01, a=-2, b=2)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _transform_input(self, x: Tensor) -> Tensor:
        return renormalised(x) if self.transform_input else x

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The logits of images that are normalised, and those of the second and first classifier beside."""
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.inception4a(self.maxpool3(self.inception3b(self.inception3a(x))))
        aux1: Tensor | None = None
        if self.aux1 is not None and self.training:
            aux1 = self.aux1(x)
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2: Tensor | None = None
        if self.aux2 is not None and self.training:
            aux2 = self.aux2(x)
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        return self.fc(self.dropout(torch.flatten(self.avgpool(x), 1))), aux2, aux1

    @torch.jit.unused
    def eager_outputs(self, x: Tensor, aux2: Tensor | None, aux1: Tensor | None) -> Any:
        """All three classifiers' logits while training, else those of the main one."""
        return GoogLeNetOutputs(x, aux2, aux1) if self.training and self.aux_logits else x

    def forward(self, x: Tensor) -> GoogLeNetOutputs:
        """x: (N, 3, H, W); gives (N, num_classes), or, as scripts always do, GoogLeNetOutputs."""
        x, aux2, aux1 = self._forward(self._transform_input(x))
        if torch.jit.is_scripting():
            return GoogLeNetOutputs(x, aux2, aux1)
        found: GoogLeNetOutputs = self.eager_outputs(x, aux2, aux1)
        return found


@handle_legacy_interface(weights=("pretrained", lambda kwargs: before("googlenet")))
def googlenet(*, weights: Any = None, progress: bool = True, **options: Any) -> GoogLeNet:
    """A GoogLeNet; with weights without the classifiers beside, unless aux_logits is asked for."""
    if weights is None:
        found: GoogLeNet = _api.build(GoogLeNet, "googlenet", None, progress, options, {})
        return found
    fixed = {"transform_input": True, "aux_logits": True, "init_weights": False, "num_classes": 1000}
    asked = options.pop("aux_logits", False)
    model: GoogLeNet = _api.build(GoogLeNet, "googlenet", weights, progress, options, fixed)
    if not asked:
        model.aux_logits, model.aux1, model.aux2 = False, None, None
    else:
        warn(
            "auxiliary heads in the pretrained googlenet model are NOT pretrained, so make sure to train them"
        )
    return model


__getattr__ = _api.enums(__name__)
