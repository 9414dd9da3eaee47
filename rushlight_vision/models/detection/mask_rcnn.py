"""Mask R-CNN: He et al., ICCV 2017."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from rushlight import nn
from rushlight_vision.models import _api
from rushlight_vision.models.detection._builders import detector, resnet_features
from rushlight_vision.models.detection.faster_rcnn import FasterRCNN, second_version
from rushlight_vision.ops.misc import Conv2dNormActivation
from rushlight_vision.ops.poolers import MultiScaleRoIAlign


def _start(module: nn.Module) -> None:
    for name, parameter in module.named_parameters():
        if "weight" in name:
            nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


class MaskRCNN(FasterRCNN):
    """A FasterRCNN that says of each region's pixels which belong to the object.

    What `FasterRCNN` takes, and `mask_roi_pool`, `mask_head` and `mask_predictor`.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        *args: Any,
        mask_roi_pool: Any = None,
        mask_head: Any = None,
        mask_predictor: Any = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(mask_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError(
                f"mask_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(mask_roi_pool)}"
            )
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        pool = mask_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        channels = getattr(backbone, "out_channels", 0)
        head = mask_head or MaskRCNNHeads(channels, (256, 256, 256, 256), 1)
        predictor = mask_predictor or MaskRCNNPredictor(256, 256, num_classes or 1)
        super().__init__(backbone, num_classes, *args, **kwargs)
        heads = self.roi_heads
        heads.mask_roi_pool, heads.mask_head, heads.mask_predictor = pool, head, predictor


class MaskRCNNHeads(nn.Sequential):
    """Convolutions of 3x3."""

    _version = 2

    def __init__(self, in_channels: int, layers: Any, dilation: int, norm_layer: Any = None) -> None:
        blocks = []
        for width in layers:
            blocks.append(
                Conv2dNormActivation(
                    in_channels,
                    width,
                    kernel_size=3,
                    stride=1,
                    padding=dilation,
                    dilation=dilation,
                    norm_layer=norm_layer,
                )
            )
            in_channels = width
        super().__init__(*blocks)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2:
            for i in range(len(self)):
                for kind in ("weight", "bias"):
                    older = f"{prefix}mask_fcn{i + 1}.{kind}"
                    if older in state_dict:
                        state_dict[f"{prefix}{i}.0.{kind}"] = state_dict.pop(older)
        load: Any = getattr(super(), "_load_from_state_dict")
        load(state_dict, prefix, local_metadata, *args)


class MaskRCNNPredictor(nn.Sequential):
    """A mask for each class, at twice the size."""

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(
            OrderedDict(
                [
                    ("conv5_mask", nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0)),
                    ("relu", nn.ReLU(inplace=True)),
                    ("mask_fcn_logits", nn.Conv2d(dim_reduced, num_classes, 1, 1, 0)),
                ]
            )
        )
        _start(self)


def _first(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    return MaskRCNN(resnet_features(weights, weights_backbone, layers), num_classes=num_classes, **kwargs)


def _second(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    features = resnet_features(weights, weights_backbone, layers, plain=True, norm_layer=nn.BatchNorm2d)
    parts = second_version(features)
    head = MaskRCNNHeads(features.out_channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(features, num_classes=num_classes, mask_head=head, **parts, **kwargs)


maskrcnn_resnet50_fpn = detector(_first, "maskrcnn_resnet50_fpn", "resnet50", eps={"COCO_V1": 0.0})
maskrcnn_resnet50_fpn_v2 = detector(_second, "maskrcnn_resnet50_fpn_v2", "resnet50")
__getattr__ = _api.enums(__name__)
