"""What losses of boxes share."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.ops.boxes import hull


def reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.mean() if loss.numel() else 0.0 * loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )


def upcast(t: Tensor) -> Tensor:
    return t if t.dtype in (torch.float32, torch.float64) else t.float()


def overlap(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Areas shared and covered together, row by row."""
    sides = torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])
    shared = torch.where((sides > 0).all(-1), sides.prod(-1), 0)
    areas = [(t[..., 2:] - t[..., :2]).prod(-1) for t in (a, b)]
    return shared, areas[0] + areas[1] - shared


def distance(a: Tensor, b: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """1 - DIoU, and the IoU."""
    shared, union = overlap(a, b)
    iou = shared / (union + eps)
    diagonal = (hull(a, b) ** 2).sum(-1) + eps
    apart = ((a[..., :2] + a[..., 2:]) / 2 - (b[..., :2] + b[..., 2:]) / 2) ** 2
    return 1 - iou + apart.sum(-1) / diagonal, iou
