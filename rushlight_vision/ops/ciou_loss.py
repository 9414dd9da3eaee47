"""The complete IoU as a loss of boxes."""

from __future__ import annotations

from rushlight import Tensor
from rushlight_vision.ops._losses import distance, reduced, upcast
from rushlight_vision.ops.boxes import unlikeness


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - CIoU (Zheng et al., AAAI 2020, equation 10), row by row."""
    a, b = upcast(boxes1), upcast(boxes2)
    loss, iou = distance(a, b, eps)
    return reduced(loss + unlikeness(a, b, iou, eps), reduction)
