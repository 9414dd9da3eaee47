"""FCOS: Tian et al., "Fully Convolutional One-Stage Object Detection", ICCV 2019."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight_vision.models import _api
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection._builders import detector, resnet_features
from rushlight_vision.models.detection._single import SingleStage, best_of_levels, rows, without_overlaps
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.retinanet import check_backbone
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.ops.feature_pyramid_network import LastLevelP6P7
from rushlight_vision.ops.focal_loss import sigmoid_focal_loss
from rushlight_vision.ops.giou_loss import generalized_box_iou_loss


class FCOSHead(nn.Module):
    """Classes, moves, and how central each place is."""

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int | None = 4
    ) -> None:
        super().__init__()
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        convs = 4 if num_convs is None else num_convs
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, convs)

    @staticmethod
    def _wanted(targets: Any, matched_idxs: list[Tensor]) -> tuple[Tensor, Tensor]:
        """The class of each place (N, L), -1 of none, and the box (N, L, 4) of its object."""
        classes, boxes = [], []
        for target, matched in zip(targets, matched_idxs, strict=True):
            at = matched.clip(min=0)
            if len(target["labels"]):
                label, box = target["labels"][at], target["boxes"][at]
            else:
                label = target["labels"].new_zeros((len(matched),))
                box = target["boxes"].new_zeros((len(matched), 4))
            classes.append(torch.where(matched < 0, -1, label))
            boxes.append(box)
        return torch.stack(classes), torch.stack(boxes)

    def _centrality(self, anchors: Tensor, boxes: Tensor) -> Tensor:
        """Equation 3: 1 in the middle of the box, 0 at its edges; (N, L)."""
        sides = self.box_coder.encode(anchors, boxes)
        across, down = sides[..., [0, 2]], sides[..., [1, 3]]
        return torch.sqrt(
            (across.min(dim=-1)[0] / across.max(dim=-1)[0]) * (down.min(dim=-1)[0] / down.max(dim=-1)[0])
        )

    def compute_loss(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> dict[str, Tensor]:
        """Losses by the names "classification", "bbox_regression" and "bbox_ctrness", for each place of an
        object.
        """
        logits, moves = head_outputs["cls_logits"], head_outputs["bbox_regression"]
        classes, boxes = self._wanted(targets, matched_idxs)
        foreground = classes >= 0
        wanted = torch.zeros_like(logits)
        wanted[foreground, classes[foreground]] = 1.0
        places = torch.stack(anchors)
        found = self.box_coder.decode(moves, places)
        central = self._centrality(places, boxes)[foreground]
        ctrness = head_outputs["bbox_ctrness"].squeeze(dim=2)[foreground]
        losses = {
            "classification": sigmoid_focal_loss(logits, wanted, reduction="sum"),
            "bbox_regression": generalized_box_iou_loss(
                found[foreground], boxes[foreground], reduction="sum"
            ),
            "bbox_ctrness": F.binary_cross_entropy_with_logits(ctrness, central, reduction="sum"),
        }
        count = max(1, int(foreground.sum()))
        return {name: loss / count for name, loss in losses.items()}

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """x: feature maps (N, in_channels, H, W); gives three tensors (N, L, ...) by name."""
        logits = self.classification_head(x)
        moves, ctrness = self.regression_head(x)
        return {"cls_logits": logits, "bbox_regression": moves, "bbox_ctrness": ctrness}


def _tower(in_channels: int, num_convs: int, norm_layer: Any) -> nn.Sequential:
    norm = partial(nn.GroupNorm, 32) if norm_layer is None else norm_layer
    layers: list[nn.Module] = []
    for _ in range(num_convs):
        layers.append(nn.Conv2d(in_channels, in_channels, kernel_size=3, stride=1, padding=1))
        layers += [norm(in_channels), nn.ReLU()]
    return nn.Sequential(*layers)


def _start(*layers: nn.Module) -> None:
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.constant_(layer.bias, 0)


class FCOSClassificationHead(nn.Module):
    """The class of each place."""

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        self.num_classes, self.num_anchors = num_classes, num_anchors
        self.conv = _tower(in_channels, num_convs, norm_layer)
        _start(*self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x: list[Tensor]) -> Tensor:
        """x: feature maps (N, in_channels, H, W); gives (N, L, classes)."""
        return torch.cat([rows(self.cls_logits(self.conv(t)), self.num_classes) for t in x], dim=1)


class FCOSRegressionHead(nn.Module):
    """How far the object's sides are, and how central each place is."""

    def __init__(
        self, in_channels: int, num_anchors: int, num_convs: int = 4, norm_layer: Any = None
    ) -> None:
        super().__init__()
        self.conv = _tower(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors * 1, kernel_size=3, stride=1, padding=1)
        _start(self.bbox_reg, self.bbox_ctrness, *self.conv)

    def forward(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        """x: feature maps (N, in_channels, H, W); gives (N, L, 4) and (N, L, 1)."""
        features = [self.conv(t) for t in x]
        moves = torch.cat([rows(F.relu(self.bbox_reg(t)), 4) for t in features], dim=1)
        return moves, torch.cat([rows(self.bbox_ctrness(t), 1) for t in features], dim=1)


class FCOS(SingleStage):
    """A pyramid whose places say themselves what they lie in."""

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
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone, anchor_generator)
        self.backbone = backbone
        self.anchor_generator = anchor_generator or AnchorGenerator(
            ((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5
        )
        each = self.anchor_generator.num_anchors_per_location()[0]
        if each != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {each}")
        self.head = head or FCOSHead(backbone.out_channels, each, num_classes)
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates

    def _matched(self, boxes: Tensor, anchors: Tensor, per_level: list[int]) -> Tensor:
        """Which of an image's objects (K, 4) each place is of: the smallest whose middle is near and whose
        size is the level's; or -1.
        """
        if boxes.numel() == 0:
            return torch.full((anchors.size(0),), -1, dtype=torch.int64, device=anchors.device)
        middles = (boxes[:, :2] + boxes[:, 2:]) / 2
        places = (anchors[:, :2] + anchors[:, 2:]) / 2
        sizes = anchors[:, 2] - anchors[:, 0]
        away = (places[:, None] - middles).abs().max(dim=2)[0]
        fits = away < self.center_sampling_radius * sizes[:, None]
        sides = torch.cat((places[:, None] - boxes[:, :2], boxes[:, 2:] - places[:, None]), dim=2)
        fits &= sides.min(dim=2)[0] > 0
        least, most = sizes * 4, sizes * 8
        least[: per_level[0]] = 0
        most[-per_level[-1] :] = float("inf")
        furthest = sides.max(dim=2)[0]
        fits &= (furthest > least[:, None]) & (furthest < most[:, None])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        values, found = (fits.to(torch.float32) * (1e8 - areas)).max(dim=1)
        return torch.where(values < 1e-5, -1, found)

    def compute_loss(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], num_anchors_per_level: list[int]
    ) -> dict[str, Tensor]:
        """The head's losses, with the places of each image matched to its objects."""
        matched = [
            self._matched(target["boxes"], boxes, num_anchors_per_level)
            for boxes, target in zip(anchors, targets, strict=True)
        ]
        found: dict[str, Tensor] = self.head.compute_loss(targets, head_outputs, anchors, matched)
        return found

    def losses(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], per_level: list[int]
    ) -> dict[str, Tensor]:
        """The losses by name."""
        return self.compute_loss(targets, head_outputs, anchors, per_level)

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
            both = zip(head_outputs["cls_logits"], head_outputs["bbox_ctrness"], strict=True)
            best = best_of_levels(
                [torch.sqrt(torch.sigmoid(c[i]) * torch.sigmoid(central[i])) for c, central in both],
                [level[i] for level in head_outputs["bbox_regression"]],
                list(anchors[i]),
                self.box_coder.decode,
                shape,
                self.score_thresh,
                self.topk_candidates,
            )
            found.append(without_overlaps(*best, self.nms_thresh, self.detections_per_img))
        return found


def _first(weights: Any, num_classes: int, layers: int | None, weights_backbone: Any, **kwargs: Any) -> Any:
    extra = partial(LastLevelP6P7, 256, 256)
    features = resnet_features(weights, weights_backbone, layers, extra=extra, returned_layers=[2, 3, 4])
    return FCOS(features, num_classes, **kwargs)


fcos_resnet50_fpn = detector(_first, "fcos_resnet50_fpn", "resnet50")
__getattr__ = _api.enums(__name__)
