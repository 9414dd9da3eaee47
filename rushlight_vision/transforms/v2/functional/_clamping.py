"""Boxes that may be turned, kept on their canvas: each side is moved inwards without turning it."""

from __future__ import annotations

from typing import Any

import rushlight as torch


def clamped_rotated(boxes: Any, canvas_size: Any, mode: str) -> Any:
    """Boxes (N, 8) cut at each border of the canvas (height, width) in turn; "hard": also those whose
    corners stay beyond it otherwise.
    """
    height, width = canvas_size
    before, boxes = boxes.clone(), boxes.clone()
    for _ in range(4):  # cut at the left border, then turn the canvas a quarter
        order = _from_leftmost(boxes)
        cut = _cut_left(boxes.gather(1, order), before.gather(1, order), (height, width), mode)
        # torchvision puts corners back by the same order, not by its inverse: that shows in the result
        boxes, before = cut.gather(1, order), before.gather(1, order).gather(1, order)
        boxes, before = _quarter(boxes, width), _quarter(before, width)
        height, width = width, height
    return boxes


def _quarter(boxes: Any, width: int) -> Any:
    x, y = boxes[:, ::2], boxes[:, 1::2]
    return torch.stack([y, width - x], -1).reshape(boxes.shape)


def _from_leftmost(boxes: Any) -> Any:
    """The order of the eight numbers that starts at the leftmost corner (the upper of two)."""
    x, y = boxes[:, ::2], boxes[:, 1::2]
    score = y / y.abs().amax(1, keepdim=True) + x / x.abs().amax(1, keepdim=True) * 100
    return (score.argmin(1, keepdim=True) * 2 + torch.arange(8, device=boxes.device)) % 8


def _lines(boxes: Any) -> tuple[Any, Any]:
    """Slope and intercept of each side, from its corner to the next."""
    x, y = boxes[:, ::2], boxes[:, 1::2]
    slope = (y.roll(-1, 1) - y) / (x.roll(-1, 1) - x)
    return slope, y - slope * x


def _crossings(slope: Any, intercept: Any) -> Any:
    """The corners (N, 8) where each side meets the one before."""
    x = (intercept.roll(1, 1) - intercept) / (slope - slope.roll(1, 1))
    return torch.stack([x, slope * x + intercept], -1).reshape(-1, 8)


def _moved(boxes: Any, before: Any, canvas_size: Any, mode: str) -> Any:
    """The intercepts (N, 4) of the sides after those left of the border have been moved to it."""
    height, width = canvas_size
    slope, intercept = _lines(boxes)
    a1, a2, a3, a4 = slope.unbind(1)
    b1, b2, b3, b4 = intercept.unbind(1)
    m1, m2, m3, m4 = _lines(before)[1].unbind(1)
    b1, b4 = b2.clamp(b1, b3).clamp(0, height), b3.clamp(b2, b4).clamp(0, height)
    if mode == "hard":
        b1 = b4 = (b1 + b4) / 2
        least = [b1 * a2 / a1, b3 * a2 / a3, (a1 - a2) * width + b1, (a3 - a2) * width + b3]
        b2 = torch.minimum(torch.stack(least, 1).amax(1), b2)
        most = [
            height * (1 - a3 / a4) + b4 * a3 / a4,
            height * (1 - a3 / a2) + b2 * a3 / a2,
            (a2 - a3) * width + b2,
            (a4 - a3) * width + b4,
        ]
        b3 = torch.maximum(torch.stack(most, 1).amin(1), b3)
    if mode == "hard":
        b1 = b4 = b1.clamp(m1, m3)  # the two stay one
    b4 = b4.clamp(m2, m4)
    b1 = b4 if mode == "hard" else b1.clamp(m1, m3)
    return torch.stack([b1, b2.clamp(m2, m4), b3.clamp(m1, m3), b4], 1)


def _cut_left(boxes: Any, before: Any, canvas_size: Any, mode: str) -> Any:
    """Boxes, from their leftmost corner on, with nothing left of the canvas."""
    x, y = boxes[:, ::2], boxes[:, 1::2]
    cut = _crossings(_lines(boxes)[0], _moved(boxes, before, canvas_size, mode))
    straight = boxes.clone()  # sides along the axes have no slope
    straight[:, [0, 6]] = straight[:, [0, 6]].clamp(min=0)
    x1, x2, _, _ = x.unbind(1)
    y1, y2, y3, y4 = y.unbind(1)
    level = y1.isclose(y2) | y3.isclose(y4)
    gone = (x <= 0).all(1) | y1.isclose(y4) | y2.isclose(y3) | (level & x1.isclose(x2))
    found = torch.where(((x1 < 0) & ~cut.isnan().any(1))[:, None], cut, boxes)
    found = torch.where(level[:, None], straight, found)
    return torch.where(gone[:, None], torch.zeros_like(found), found)
