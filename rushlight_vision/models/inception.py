"""Inception v3: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", CVPR 2016."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight._engine.core.callers import warn
from rushlight_vision.models import _api
from rushlight_vision.models._legacy import handle_legacy_interface
from rushlight_vision.models.googlenet import BasicConv2d as _BasicConv2d, renormalised
from rushlight_vision.models.weights import before


class InceptionOutputs(NamedTuple):
    """The logits (N, num_classes) of an Inception3 and of its classifier beside."""

    logits: Tensor
    aux_logits: Tensor | None


_InceptionOutputs = InceptionOutputs


class BasicConv2d(_BasicConv2d):
    """A convolution without bias, batch norm, ReLU."""


def _pooled(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)


def _halved(x: Tensor) -> Tensor:
    return F.max_pool2d(x, kernel_size=3, stride=2)


class _Branches(nn.Module):
    """Convolutions by name; a subclass says in `_forward` what its branches make of them."""

    def __init__(self, conv_block: Any) -> None:
        super().__init__()
        self._make = BasicConv2d if conv_block is None else conv_block

    def _chain(self, name: str, channels: Sequence[int], kernels: Sequence[Any], stride: int = 1) -> None:
        """Convolutions NAME_1, NAME_2, ... (one: NAME) that keep the size, unless the last strides."""
        for i, kernel in enumerate(kernels):
            options: dict[str, Any] = {"kernel_size": kernel}
            height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
            if stride != 1 and i == len(kernels) - 1:
                options["stride"] = stride
            elif kernel != 1:
                options["padding"] = height // 2 if height == width else (height // 2, width // 2)
            own = name if len(kernels) == 1 else f"{name}_{i + 1}"
            setattr(self, own, self._make(channels[i], channels[i + 1], **options))

    def _forward(self, x: Tensor) -> list[Tensor]:
        """What the branches give, which lie one after the other in the result's channels."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its branches are")

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, in_channels, H, W); gives the channels of all branches."""
        return torch.cat(self._forward(x), 1)


class InceptionA(_Branches):
    """Single pixels, 5x5, twice 3x3, and an average."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: Any = None) -> None:
        super().__init__(conv_block)
        self._chain("branch1x1", (in_channels, 64), (1,))
        self._chain("branch5x5", (in_channels, 48, 64), (1, 5))
        self._chain("branch3x3dbl", (in_channels, 64, 96, 96), (1, 3, 3))
        self._chain("branch_pool", (in_channels, pool_features), (1,))

    def _forward(self, x: Tensor) -> list[Tensor]:
        """Gives (N, 224 + pool_features, H, W)."""
        return [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(_pooled(x)),
        ]


class InceptionB(_Branches):
    """3x3, twice 3x3, and a maximum, at half the size."""

    def __init__(self, in_channels: int, conv_block: Any = None) -> None:
        super().__init__(conv_block)
        self._chain("branch3x3", (in_channels, 384), (3,), stride=2)
        self._chain("branch3x3dbl", (in_channels, 64, 96, 96), (1, 3, 3), stride=2)

    def _forward(self, x: Tensor) -> list[Tensor]:
        """Gives in_channels + 480 channels."""
        return [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            _halved(x),
        ]


class InceptionC(_Branches):
    """Single pixels, 7x7 as 1x7 and 7x1, twice that, and an average."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Any = None) -> None:
        super().__init__(conv_block)
        c7, wide, high = channels_7x7, (1, 7), (7, 1)
        self._chain("branch1x1", (in_channels, 192), (1,))
        self._chain("branch7x7", (in_channels, c7, c7, 192), (1, wide, high))
        self._chain("branch7x7dbl", (in_channels, c7, c7, c7, c7, 192), (1, high, wide, high, wide))
        self._chain("branch_pool", (in_channels, 192), (1,))

    def _forward(self, x: Tensor) -> list[Tensor]:
        """Gives (N, 768, H, W)."""
        one = self.branch1x1(x)
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        return [
            one,
            seven,
            self.branch7x7dbl_5(self.branch7x7dbl_4(double)),
            self.branch_pool(_pooled(x)),
        ]


class InceptionD(_Branches):
    """3x3, 7x7 and 3x3, and a maximum, at half the size."""

    def __init__(self, in_channels: int, conv_block: Any = None) -> None:
        super().__init__(conv_block)
        self._chain("branch3x3", (in_channels, 192, 320), (1, 3), stride=2)
        self._chain("branch7x7x3", (in_channels, 192, 192, 192, 192), (1, (1, 7), (7, 1), 3), stride=2)

    def _forward(self, x: Tensor) -> list[Tensor]:
        """Gives in_channels + 512 channels."""
        return [
            self.branch3x3_2(self.branch3x3_1(x)),
            self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))),
            _halved(x),
        ]


class InceptionE(_Branches):
    """As A, with 3x3 as 1x3 beside 3x1."""

    def __init__(self, in_channels: int, conv_block: Any = None) -> None:
        super().__init__(conv_block)
        self._chain("branch1x1", (in_channels, 320), (1,))
        self._chain("branch3x3_1", (in_channels, 384), (1,))
        self._chain("branch3x3_2a", (384, 384), ((1, 3),))
        self._chain("branch3x3_2b", (384, 384), ((3, 1),))
        self._chain("branch3x3dbl", (in_channels, 448, 384), (1, 3))
        self._chain("branch3x3dbl_3a", (384, 384), ((1, 3),))
        self._chain("branch3x3dbl_3b", (384, 384), ((3, 1),))
        self._chain("branch_pool", (in_channels, 192), (1,))

    def _forward(self, x: Tensor) -> list[Tensor]:
        """Gives (N, 2048, H, W)."""
        one = self.branch1x1(x)
        three = self.branch3x3_1(x)
        three = torch.cat([self.branch3x3_2a(three), self.branch3x3_2b(three)], 1)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return [
            one,
            three,
            torch.cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1),
            self.branch_pool(_pooled(x)),
        ]


class InceptionAux(nn.Module):
    """A classifier beside the main one, of features from the middle."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Any = None) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        """x: (N, in_channels, 17, 17); gives (N, num_classes)."""
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """Eleven inceptions. In training, with aux_logits, one more classifier's logits come with the result."""

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Any = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        blocks = inception_blocks or [
            *(BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux)
        ]
        if init_weights is None:
            warn(
                "The default weight initialization of inception_v3 will be changed in future releases of "
                "torchvision. If you wish to keep the old behavior (which leads to long initialization "
                "times due to scipy/scipy#11299), please set init_weights=True.",
                FutureWarning,
            )
            init_weights = True
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        conv, a, b, c, d, e, aux = blocks
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b, self.Mixed_5c = a(192, pool_features=32), a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        for name, width in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
            setattr(self, f"Mixed_{name}", c(768, channels_7x7=width))
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a, self.Mixed_7b, self.Mixed_7c = d(768), e(1280), e(2048)
        self.avgpool, self.dropout = nn.AdaptiveAvgPool2d((1, 1)), nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, mean=0.0, std=getattr(m, "stddev", 0.1), a=-2, b=2)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _transform_input(self, x: Tensor) -> Tensor:
        return renormalised(x) if self.transform_input else x

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """The logits of images that are normalised, and those of the classifier beside."""
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(self.maxpool2(x))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        aux: Tensor | None = None
        if self.AuxLogits is not None and self.training:
            aux = self.AuxLogits(x)
        x = self.avgpool(self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x))))
        return self.fc(torch.flatten(self.dropout(x), 1)), aux

    @torch.jit.unused
    def eager_outputs(self, x: Tensor, aux: Tensor | None) -> Any:
        """Both classifiers' logits while training, else those of the main one."""
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x

    def forward(self, x: Tensor) -> InceptionOutputs:
        """x: (N, 3, H, W), of at least 75 pixels a side; gives (N, num_classes), or, as scripts always do,
        InceptionOutputs.
        """
        x, aux = self._forward(self._transform_input(x))
        if torch.jit.is_scripting():
            return InceptionOutputs(x, aux)
        found: InceptionOutputs = self.eager_outputs(x, aux)
        return found


@handle_legacy_interface(weights=("pretrained", lambda kwargs: before("inception_v3")))
def inception_v3(*, weights: Any = None, progress: bool = True, **options: Any) -> Inception3:
    """An Inception3; with weights and aux_logits=False the classifier beside is dropped after loading."""
    if weights is None:
        found: Inception3 = _api.build(Inception3, "inception_v3", None, progress, options, {})
        return found
    fixed = {"transform_input": True, "aux_logits": True, "init_weights": False, "num_classes": 1000}
    asked = options.pop("aux_logits", True)
    model: Inception3 = _api.build(Inception3, "inception_v3", weights, progress, options, fixed)
    if not asked:
        model.aux_logits, model.AuxLogits = False, None
    return model


__getattr__ = _api.enums(__name__)
