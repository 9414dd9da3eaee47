"""What networks of segmentation share: features, a head on them, and their backbones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models import _api, mobilenetv3, resnet
from rushlight_vision.models._utils import IntermediateLayerGetter


class _SimpleSegmentationModel(nn.Module):
    """A head on the backbone's last features, and maybe one on earlier ones, at the size of the image."""

    def __init__(
        self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.backbone, self.classifier, self.aux_classifier = backbone, classifier, aux_classifier

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """x: (N, 3, H, W); gives "out", and "aux" where there is that head, (N, num_classes, H, W) each."""
        features, size = self.backbone(x), list(x.shape[-2:])
        result: dict[str, Tensor] = OrderedDict()
        result["out"] = upsampled(self.classifier(features["out"]), size)
        if self.aux_classifier is not None:
            result["aux"] = upsampled(self.aux_classifier(features["aux"]), size)
        return result


def upsampled(x: Tensor, size: list[int]) -> Tensor:
    """x (N, C, H, W) at another size."""
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


def of_resnet(name: str, weights: Any, aux: bool) -> tuple[nn.Module, int, int]:
    """A ResNet's features at an eighth of the size, and their channels: the last, and those of `aux`."""
    model = getattr(resnet, name)(weights=weights, replace_stride_with_dilation=[False, True, True])
    wanted = {"layer4": "out", **({"layer3": "aux"} if aux else {})}
    return IntermediateLayerGetter(model, wanted), 2048, 1024


def of_mobilenet(weights: Any, last: str, before: str | None) -> tuple[nn.Module, int, int]:
    """MobileNetV3's features by the names `last` and `before` (an eighth of the size), and their channels."""
    model = mobilenetv3.mobilenet_v3_large(weights=weights, dilated=True).features
    halving = [i for i, block in enumerate(model) if getattr(block, "_is_cn", False)]
    ends = [len(model) - 1, [0, *halving, len(model) - 1][-4]]
    wanted = {str(ends[0]): last, **({str(ends[1]): before} if before else {})}
    channels = [model[end].out_channels for end in ends]
    return IntermediateLayerGetter(model, wanted), channels[0], channels[1]


def builder(make: Callable[..., Any], name: str, backbone: str, **fixed: Any) -> Callable[..., Any]:
    """A function of torchvision's, of make(weights of the backbone, number of classes, **kwargs)."""

    def complete(
        num_classes: int | None = None, weights_backbone: Any = "IMAGENET1K_V1", **kwargs: Any
    ) -> Any:
        chosen = _api.get_model_weights(backbone).verify(weights_backbone)
        return make(chosen, 21 if num_classes is None else num_classes, **kwargs)

    def build(
        *,
        weights: Any = None,
        progress: bool = True,
        weights_backbone: Any = "IMAGENET1K_V1",
        **kwargs: Any,
    ) -> Any:
        below = weights_backbone if weights is None else None
        given = {**kwargs, "weights_backbone": below}
        return _api.build(complete, name, weights, progress, given, {"num_classes": 21, **fixed})

    what = "a segmentation model; `weights` and `weights_backbone` as the module says"
    order = ("weights", "progress", "num_classes", *fixed, "weights_backbone")
    return _api.named(build, name, what, order, (backbone, "IMAGENET1K_V1"))
