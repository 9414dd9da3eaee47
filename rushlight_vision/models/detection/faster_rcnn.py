"""Faster R-CNN: Ren et al., NeurIPS 2015, on a pyramid of features (Lin et al., CVPR 2017)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models import _api
from rushlight_vision.models.detection._builders import detector, mobile_features, resnet_features
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.generalized_rcnn import GeneralizedRCNN
from rushlight_vision.models.detection.roi_heads import RoIHeads
from rushlight_vision.models.detection.rpn import RegionProposalNetwork, RPNHead
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.ops.misc import Conv2dNormActivation
from rushlight_vision.ops.poolers import MultiScaleRoIAlign


def _default_anchorgen() -> AnchorGenerator:
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)


def check_parts(backbone: Any, generator: Any, pool: Any, num_classes: int | None, predictor: Any) -> None:
    """ValueError or TypeError where the parts of a detector do not fit."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels "
            "specifying the number of output channels (assumed to be the "
            "same for all the levels)"
        )
    for what, part, kind in (
        ("rpn_anchor_generator", generator, AnchorGenerator),
        ("box_roi_pool", pool, MultiScaleRoIAlign),
    ):
        if not isinstance(part, (kind, type(None))):
            raise TypeError(f"{what} should be of type {kind.__name__} or None instead of {type(part)}")
    if num_classes is not None and predictor is not None:
        raise ValueError("num_classes should be None when box_predictor is specified")
    if num_classes is None and predictor is None:
        raise ValueError("num_classes should not be None when box_predictor is not specified")


class FasterRCNN(GeneralizedRCNN):
    """Proposals of regions, and for each its class and box.

    `backbone` gives features, one tensor or several by name, of `out_channels` channels. `num_classes` counts
    the background. The rest: sizes and normalisation of images; `rpn_*`, the proposals; `box_*`, the heads on
    them.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        min_size: Any = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        rpn_anchor_generator: Any = None,
        rpn_head: Any = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: Any = None,
        box_head: Any = None,
        box_predictor: Any = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: Any = None,
        **kwargs: Any,
    ) -> None:
        check_parts(backbone, rpn_anchor_generator, box_roi_pool, num_classes, box_predictor)
        channels, generator = backbone.out_channels, rpn_anchor_generator or _default_anchorgen()
        rpn = RegionProposalNetwork(
            generator,
            rpn_head or _rpn_head(channels, generator),
            *(rpn_fg_iou_thresh, rpn_bg_iou_thresh, rpn_batch_size_per_image, rpn_positive_fraction),
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test},
            rpn_nms_thresh,
            score_thresh=rpn_score_thresh,
        )
        heads = RoIHeads(
            *_box_parts(channels, num_classes, box_roi_pool, box_head, box_predictor),
            fg_iou_thresh=box_fg_iou_thresh,
            bg_iou_thresh=box_bg_iou_thresh,
            batch_size_per_image=box_batch_size_per_image,
            positive_fraction=box_positive_fraction,
            bbox_reg_weights=bbox_reg_weights,
            score_thresh=box_score_thresh,
            nms_thresh=box_nms_thresh,
            detections_per_img=box_detections_per_img,
        )
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        super().__init__(
            backbone, rpn, heads, GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        )


def _rpn_head(channels: int, generator: Any) -> RPNHead:
    return RPNHead(channels, generator.num_anchors_per_location()[0])


def _box_parts(
    channels: int, num_classes: int | None, pool: Any, head: Any, predictor: Any
) -> tuple[Any, Any, Any]:
    """What pools regions, what makes features of them, and what says their class and box."""
    pool = pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=7, sampling_ratio=2)
    head = head or TwoMLPHead(channels * pool.output_size[0] ** 2, 1024)
    return pool, head, predictor or FastRCNNPredictor(1024, num_classes or 0)


class TwoMLPHead(nn.Module):
    """Two linear layers on a region's features."""

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        """x: (L, C, H, W), in_channels numbers each."""
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions and linear layers on a region's features of `input_size` (C, H, W)."""

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: list[int],
        fc_layers: list[int],
        norm_layer: Any = None,
    ) -> None:
        channels, height, width = input_size
        blocks: list[nn.Module] = []
        for current in conv_layers:
            blocks.append(Conv2dNormActivation(channels, current, norm_layer=norm_layer))
            channels = current
        blocks.append(nn.Flatten())
        channels = channels * height * width
        for current in fc_layers:
            blocks += [nn.Linear(channels, current), nn.ReLU(inplace=True)]
            channels = current
        super().__init__(*blocks)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """Classes, and a box for each of them."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x: (L, in_channels), or (L, in_channels, 1, 1); gives (L, classes) and (L, classes * 4)."""
        if x.dim() == 4:
            torch._assert(
                list(x.shape[2:]) == [1, 1],
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of "
                f"{list(x.shape[2:])}",
            )
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


def _first(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    return FasterRCNN(resnet_features(weights, weights_backbone, layers), num_classes=num_classes, **kwargs)


def _second(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    features = resnet_features(weights, weights_backbone, layers, plain=True, norm_layer=nn.BatchNorm2d)
    return FasterRCNN(features, num_classes=num_classes, **second_version(features), **kwargs)


def second_version(features: Any) -> dict[str, Any]:
    """What detectors of the second version have of their own."""
    generator = _default_anchorgen()
    channels = features.out_channels
    head = RPNHead(channels, generator.num_anchors_per_location()[0], conv_depth=2)
    box_head = FastRCNNConvFCHead((channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d)
    return {"rpn_anchor_generator": generator, "rpn_head": head, "box_head": box_head}


def _mobile(
    weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any
) -> FasterRCNN:
    features = mobile_features(weights, weights_backbone, layers)
    generator = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    kwargs = {"rpn_score_thresh": 0.05, **kwargs}
    return FasterRCNN(features, num_classes, rpn_anchor_generator=generator, **kwargs)


def _mobile_320(*args: Any, **kwargs: Any) -> FasterRCNN:
    small = {"min_size": 320, "max_size": 640}
    few = {"rpn_pre_nms_top_n_test": 150, "rpn_post_nms_top_n_test": 150}
    return _mobile(*args, **{**small, **few, **kwargs})


fasterrcnn_resnet50_fpn = detector(_first, "fasterrcnn_resnet50_fpn", "resnet50", eps={"COCO_V1": 0.0})
fasterrcnn_resnet50_fpn_v2 = detector(_second, "fasterrcnn_resnet50_fpn_v2", "resnet50")
fasterrcnn_mobilenet_v3_large_fpn = detector(
    _mobile, "fasterrcnn_mobilenet_v3_large_fpn", "mobilenet_v3_large"
)
fasterrcnn_mobilenet_v3_large_320_fpn = detector(
    _mobile_320, "fasterrcnn_mobilenet_v3_large_320_fpn", "mobilenet_v3_large"
)
__getattr__ = _api.enums(__name__)
