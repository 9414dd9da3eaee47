"""RetinaNet: Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models import _api
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection._builders import detector, resnet_features
from rushlight_vision.models.detection._single import SingleStage, best_of_levels, rows, without_overlaps
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.feature_pyramid_network import LastLevelP6P7
from rushlight_vision.ops.focal_loss import sigmoid_focal_loss
from rushlight_vision.ops.misc import Conv2dNormActivation


def _sum(x: list[Tensor]) -> Tensor:
    total: Any = 0
    for value in x:
        total = total + value
    found: Tensor = total
    return found


def _default_anchorgen() -> AnchorGenerator:
    sizes = tuple((x, int(x * 2 ** (1.0 / 3)), int(x * 2 ** (2.0 / 3))) for x in (32, 64, 128, 256, 512))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


class RetinaNetHead(nn.Module):
    """Classes and moves of the boxes of every level, by the same weights."""

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, norm_layer: Any = None) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer=norm_layer)

    def compute_loss(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> dict[str, Tensor]:
        """Losses by the names "classification" and "bbox_regression"."""
        return {
            "classification": self.classification_head.compute_loss(targets, head_outputs, matched_idxs),
            "bbox_regression": self.regression_head.compute_loss(
                targets, head_outputs, anchors, matched_idxs
            ),
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """x: feature maps (N, in_channels, H, W); gives "cls_logits" (N, L, classes), "bbox_regression"."""
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class _Tower(nn.Module):
    """Four convolutions of 3x3 before a head."""

    _version = 2

    def __init__(self, in_channels: int, norm_layer: Any) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            *(Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4))
        )

    def _start(self) -> None:
        for layer in self.conv.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2:
            for i in range(4):
                for kind in ("weight", "bias"):
                    older = f"{prefix}conv.{2 * i}.{kind}"
                    if older in state_dict:
                        state_dict[f"{prefix}conv.{i}.0.{kind}"] = state_dict.pop(older)
        load: Any = getattr(super(), "_load_from_state_dict")
        load(state_dict, prefix, local_metadata, *args)


class RetinaNetClassificationHead(_Tower):
    """The class of each box."""

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: Any = None,
    ) -> None:
        super().__init__(in_channels, norm_layer)
        self._start()
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes, self.num_anchors = num_classes, num_anchors
        self.BETWEEN_THRESHOLDS = det_utils.Matcher.BETWEEN_THRESHOLDS

    def compute_loss(self, targets: Any, head_outputs: Any, matched_idxs: list[Tensor]) -> Tensor:
        """The focal loss over all boxes that are not between, for each object."""
        losses = []
        for target, logits, matched in zip(targets, head_outputs["cls_logits"], matched_idxs, strict=True):
            foreground = matched >= 0
            wanted = torch.zeros_like(logits)
            wanted[foreground, target["labels"][matched[foreground]]] = 1.0
            valid = matched != self.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[valid], wanted[valid], reduction="sum")
            losses.append(loss / max(1, int(foreground.sum())))
        return _sum(losses) / len(targets)

    def forward(self, x: list[Tensor]) -> Tensor:
        """x: feature maps (N, in_channels, H, W); gives (N, L, classes)."""
        return torch.cat([rows(self.cls_logits(self.conv(t)), self.num_classes) for t in x], dim=1)


class RetinaNetRegressionHead(_Tower):
    """How each box should be moved."""

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: Any = None) -> None:
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.bbox_reg.weight, std=0.01)
        nn.init.zeros_(self.bbox_reg.bias)
        self._start()
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> Tensor:
        """The loss of the boxes that are of objects."""
        losses = []
        moves = head_outputs["bbox_regression"]
        for target, move, anchor, matched in zip(targets, moves, anchors, matched_idxs, strict=True):
            foreground = torch.where(matched >= 0)[0]
            boxes = target["boxes"][matched[foreground]]
            loss = det_utils._box_loss(
                self._loss_type, self.box_coder, anchor[foreground], boxes, move[foreground]
            )
            losses.append(loss / max(1, foreground.numel()))
        return _sum(losses) / max(1, len(targets))

    def forward(self, x: list[Tensor]) -> Tensor:
        """x: feature maps (N, in_channels, H, W); gives (N, L, 4)."""
        return torch.cat([rows(self.bbox_reg(self.conv(t)), 4) for t in x], dim=1)


def check_backbone(backbone: Any, anchor_generator: Any) -> None:
    """ValueError or TypeError where the parts of a detector do not fit."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels "
            "specifying the number of output channels (assumed to be the "
            "same for all the levels)"
        )
    if not isinstance(anchor_generator, (AnchorGenerator, type(None))):
        raise TypeError(
            f"anchor_generator should be of type AnchorGenerator or None, instead of {type(anchor_generator)}"
        )


class RetinaNet(SingleStage):
    """A pyramid, and two small networks on each of its levels."""

    def __init__(
        self,
        backbone: Any,
        num_classes: int,
        min_size: Any = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: Any = None,
        head: Any = None,
        proposal_matcher: Any = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone, anchor_generator)
        self.backbone, self.anchor_generator = backbone, anchor_generator or _default_anchorgen()
        each = self.anchor_generator.num_anchors_per_location()[0]
        self.head = head or RetinaNetHead(backbone.out_channels, each, num_classes)
        self.proposal_matcher = proposal_matcher or det_utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates

    def compute_loss(self, targets: Any, head_outputs: Any, anchors: list[Tensor]) -> dict[str, Tensor]:
        """The head's losses, with the boxes of each image matched to its objects."""
        matched = [
            matches(self.proposal_matcher, target["boxes"], boxes)
            for boxes, target in zip(anchors, targets, strict=True)
        ]
        found: dict[str, Tensor] = self.head.compute_loss(targets, head_outputs, anchors, matched)
        return found

    def losses(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], per_level: list[int]
    ) -> dict[str, Tensor]:
        """The losses by name."""
        return self.compute_loss(targets, head_outputs, anchors)

    def detections(
        self, head_outputs: Any, anchors: list[Tensor], shapes: Any, per_level: list[int]
    ) -> list[dict[str, Tensor]]:
        """What is found in each image."""
        split = {k: list(v.split(per_level, dim=1)) for k, v in head_outputs.items()}
        return self.postprocess_detections(split, [list(a.split(per_level)) for a in anchors], shapes)

    def postprocess_detections(
        self, head_outputs: dict[str, list[Tensor]], anchors: Sequence[Sequence[Tensor]], image_shapes: Any
    ) -> list[dict[str, Tensor]]:
        """The best boxes of all levels, for each image."""
        found = []
        for i, shape in enumerate(image_shapes):
            best = best_of_levels(
                [torch.sigmoid(level[i]) for level in head_outputs["cls_logits"]],
                [level[i] for level in head_outputs["bbox_regression"]],
                list(anchors[i]),
                self.box_coder.decode_single,
                shape,
                self.score_thresh,
                self.topk_candidates,
            )
            found.append(without_overlaps(*best, self.nms_thresh, self.detections_per_img))
        return found


def matches(matcher: Any, objects: Tensor, boxes: Tensor) -> Tensor:
    """Which of the objects (K, 4) each box (L, 4) is of, or -1."""
    if objects.numel() == 0:
        return torch.full((boxes.size(0),), -1, dtype=torch.int64, device=boxes.device)
    found: Tensor = matcher(box_ops.box_iou(objects, boxes))
    return found


def _first(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    extra = partial(LastLevelP6P7, 256, 256)
    features = resnet_features(weights, weights_backbone, layers, extra=extra, returned_layers=[2, 3, 4])
    return RetinaNet(features, num_classes, **kwargs)


def _second(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    extra = partial(LastLevelP6P7, 2048, 256)
    features = resnet_features(
        weights, weights_backbone, layers, plain=True, extra=extra, returned_layers=[2, 3, 4]
    )
    generator = _default_anchorgen()
    each = generator.num_anchors_per_location()[0]
    head = RetinaNetHead(features.out_channels, each, num_classes, norm_layer=partial(nn.GroupNorm, 32))
    head.regression_head._loss_type = "giou"
    return RetinaNet(features, num_classes, anchor_generator=generator, head=head, **kwargs)


retinanet_resnet50_fpn = detector(_first, "retinanet_resnet50_fpn", "resnet50", eps={"COCO_V1": 0.0})
retinanet_resnet50_fpn_v2 = detector(_second, "retinanet_resnet50_fpn_v2", "resnet50")
__getattr__ = _api.enums(__name__)
