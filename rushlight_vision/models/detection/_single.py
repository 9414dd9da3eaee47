"""What detectors of one stage share: images in, losses or detections out; the best of each level."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.generalized_rcnn import check_boxes, check_types, checked_sizes, named
from rushlight_vision.ops import boxes as box_ops


def rows(layer: Tensor, columns: int) -> Tensor:
    """(N, A * columns, H, W) as (N, H * W * A, columns)."""
    n, _, height, width = layer.shape
    return layer.view(n, -1, columns, height, width).permute(0, 3, 4, 1, 2).reshape(n, -1, columns)


class SingleStage(nn.Module):
    """A backbone, boxes at each place, and a head that classifies and moves them."""

    backbone: Any
    anchor_generator: Any
    head: Any
    transform: Any

    def losses(
        self, targets: Any, head_outputs: Any, anchors: list[Tensor], per_level: list[int]
    ) -> dict[str, Tensor]:
        """The losses by name; `per_level`: how many boxes each feature map has."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method losses")

    def detections(
        self, head_outputs: Any, anchors: list[Tensor], shapes: Any, per_level: list[int]
    ) -> list[dict[str, Tensor]]:
        """What is found in each image."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method detections")

    def eager_outputs(self, losses: Any, detections: Any) -> Any:
        """Losses while training, else detections."""
        return losses if self.training else detections

    def forward(self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None) -> Any:
        """images: (3, H, W) each, in [0, 1]; targets: for each "boxes" (L, 4) and "labels" (L,) int64."""
        if self.training:
            check_types(targets)
        sizes = checked_sizes(images)
        batch, known = self.transform(images, targets)
        check_boxes(known)
        features = list(named(self.backbone(batch.tensors)).values())
        outputs = self.head(features)
        anchors = self.anchor_generator(batch, features)
        places = [x.size(2) * x.size(3) for x in features]
        each = anchors[0].shape[0] // max(sum(places), 1)
        per_level = [count * each for count in places]
        if self.training:
            return self.eager_outputs(self.losses(known, outputs, anchors, per_level), [])
        found = self.detections(outputs, anchors, batch.image_sizes, per_level)
        return self.eager_outputs({}, self.transform.postprocess(found, batch.image_sizes, sizes))


def best_of_levels(
    scores: list[Tensor],
    boxes: list[Tensor],
    anchors: list[Tensor],
    decode: Any,
    shape: tuple[int, int],
    score_thresh: float,
    topk_candidates: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The best boxes of an image's levels, their scores and labels, before those that overlap go.

    `scores` (L, classes), codes of `boxes` (L, 4) and `anchors` (L, 4) of each level.
    """
    found: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
    for score, code, anchor in zip(scores, boxes, anchors, strict=True):
        classes, flat = score.shape[-1], score.flatten()
        over = torch.where(flat > score_thresh)[0]
        best, order = flat[over].topk(det_utils._topk_min(over, topk_candidates, 0))
        over = over[order]
        at = torch.div(over, classes, rounding_mode="floor")
        placed = box_ops.clip_boxes_to_image(decode(code[at], anchor[at]), shape)
        for kept, values in zip(found, (placed, best, over % classes), strict=True):
            kept.append(values)
    first, second, third = (torch.cat(kept, dim=0) for kept in found)
    return first, second, third


def without_overlaps(
    boxes: Tensor, scores: Tensor, labels: Tensor, nms_thresh: float, most: int
) -> dict[str, Tensor]:
    """A detection of one image: the best boxes that do not overlap others of their class."""
    keep = box_ops.batched_nms(boxes, scores, labels, nms_thresh)[:most]
    return {"boxes": boxes[keep], "scores": scores[keep], "labels": labels[keep]}
