"""Losses of detection: boxes against boxes row by row, and classes of which most are background."""

from __future__ import annotations

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor
from rushlight_vision.ops.boxes import hull, unlikeness


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.mean() if loss.numel() else 0.0 * loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017, equation 5; inputs are logits, targets
    0 or 1 of the same shape; alpha=-1 leaves the balance away.
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = torch.sigmoid(inputs)
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none") * (1 - p_t) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return _reduced(loss, reduction)


def _float(t: Tensor) -> Tensor:
    return t if t.dtype in (torch.float32, torch.float64) else t.float()


def _overlap(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Areas shared and covered together, row by row."""
    sides = torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])
    shared = torch.where((sides > 0).all(-1), sides.prod(-1), 0)
    areas = [(t[..., 2:] - t[..., :2]).prod(-1) for t in (a, b)]
    return shared, areas[0] + areas[1] - shared


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - GIoU (Rezatofighi et al., CVPR 2019) of boxes (..., 4) and boxes of the same shape."""
    a, b = _float(boxes1), _float(boxes2)
    shared, union = _overlap(a, b)
    area = hull(a, b).prod(-1)
    return _reduced(1 - (shared / (union + eps) - (area - union) / (area + eps)), reduction)


def _distance(a: Tensor, b: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """1 - DIoU, and the IoU."""
    shared, union = _overlap(a, b)
    iou = shared / (union + eps)
    diagonal = (hull(a, b) ** 2).sum(-1) + eps
    apart = ((a[..., :2] + a[..., 2:]) / 2 - (b[..., :2] + b[..., 2:]) / 2) ** 2
    return 1 - iou + apart.sum(-1) / diagonal, iou


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - DIoU (Zheng et al., AAAI 2020, equation 7), row by row."""
    return _reduced(_distance(_float(boxes1), _float(boxes2), eps)[0], reduction)


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - CIoU (Zheng et al., AAAI 2020, equation 10), row by row."""
    a, b = _float(boxes1), _float(boxes2)
    loss, iou = _distance(a, b, eps)
    return _reduced(loss + unlikeness(a, b, iou, eps), reduction)
