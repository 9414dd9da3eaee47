"""The generalized IoU as a loss of boxes."""

from __future__ import annotations

from rushlight import Tensor
from rushlight_vision.ops._losses import overlap, reduced, upcast
from rushlight_vision.ops.boxes import hull


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - GIoU (Rezatofighi et al., CVPR 2019) of boxes (..., 4) and boxes of the same shape."""
    a, b = upcast(boxes1), upcast(boxes2)
    shared, union = overlap(a, b)
    area = hull(a, b).prod(-1)
    return reduced(1 - (shared / (union + eps) - (area - union) / (area + eps)), reduction)
