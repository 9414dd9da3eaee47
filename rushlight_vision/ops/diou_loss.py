"""The distance IoU as a loss of boxes."""

from __future__ import annotations

from rushlight import Tensor
from rushlight_vision.ops._losses import distance, reduced, upcast


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - DIoU (Zheng et al., AAAI 2020, equation 7), row by row."""
    return reduced(distance(upcast(boxes1), upcast(boxes2), eps)[0], reduction)
