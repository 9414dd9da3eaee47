"""How boxes and points follow what is done to an image: by their corners, or number by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight_vision.transforms import warping
from rushlight_vision.transforms.v2.functional._meta import (
    _convert_bounding_box_format,
    clamp_bounding_boxes,
    format_of,
)
from rushlight_vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

Format = BoundingBoxFormat
CORNERS = [[0, 1], [2, 1], [2, 3], [0, 3]]  # of a box XYXY, clockwise from the top left


def straightened(shape: Any) -> Any:
    """Parallelograms (N, 8) as the turned rectangles (N, 8) around their middles that hold them."""
    exact = shape if shape.dtype in (torch.float32, torch.float64) else shape.float()
    x1, y1, x2, y2, x3, y3, x4, y4 = exact.unbind(-1)
    cx, cy = (x1 + x3) / 2, (y1 + y3) / 2
    wide = ((x2 - x1).pow(2) + (y2 - y1).pow(2)).sqrt()
    tall = ((x4 - x1).pow(2) + (y4 - y1).pow(2)).sqrt()
    along, down = torch.atan2(y1 - y2, x2 - x1), torch.atan2(y1 - y4, x4 - x1)
    between = along - down
    sign = torch.where(between > torch.pi / 2, -1, 1)
    w = torch.where(wide < tall, wide * between.sin(), wide + tall * between.cos() * sign)
    h = torch.where(wide > tall, tall * between.sin(), tall + wide * between.cos() * sign)
    angle = torch.where(tall > wide, down + torch.pi / 2, along)
    cos, sin = angle.cos(), angle.sin()
    right, low = (w / 2 * cos, w / 2 * sin), (h / 2 * sin, h / 2 * cos)
    corners = [
        (cx - right[0] - low[0], cy - low[1] + right[1]),
        (cx + right[0] - low[0], cy - low[1] - right[1]),
        (cx + right[0] + low[0], cy + low[1] - right[1]),
        (cx - right[0] + low[0], cy + low[1] + right[1]),
    ]
    return torch.stack([v for corner in corners for v in corner], -1).reshape(shape.shape).to(shape.dtype)


def by_corners(
    boxes: Any,
    format: Any,
    canvas_size: Any,
    clamping_mode: str | None,
    moved: Callable[[Any], Any],
) -> Any:
    """Boxes whose corners (M, 2) have been moved, kept on the new canvas; straight ones stay straight."""
    known = format_of(format)
    rotated = is_rotated_bounding_format(known)
    between = Format.XYXYXYXY if rotated else Format.XYXY
    corners = _convert_bounding_box_format(boxes, known, between).reshape(-1, 8 if rotated else 4)
    points = moved((corners if rotated else corners[:, CORNERS]).reshape(-1, 2))
    if rotated:
        found = straightened(points.reshape(-1, 8))
    else:
        each = points.reshape(-1, 4, 2)
        found = torch.cat([each.amin(1), each.amax(1)], 1)
    found = clamp_bounding_boxes(found, between, canvas_size, clamping_mode)
    return _convert_bounding_box_format(found, between, known).reshape(boxes.shape)


def shifted(boxes: Any, format: Any, x: int, y: int) -> Any:
    """Boxes moved by whole pixels."""
    whole = [x, y] * (boxes.shape[-1] // 2)
    corners_only = format_of(format) in (Format.XYXY, Format.XYXYXYXY)
    by = whole if corners_only else [x, y, *[0] * (boxes.shape[-1] - 2)]
    return boxes + torch.tensor(by, dtype=boxes.dtype, device=boxes.device)


def flipped(boxes: Any, format: Any, canvas_size: Any, across: bool) -> Any:
    """Boxes of a mirror image: left and right exchanged (across), or top and bottom."""
    known, at = format_of(format), 0 if across else 1
    side = canvas_size[1 - at]
    found = boxes.clone().reshape(-1, boxes.shape[-1])
    if known is Format.XYXY:
        low, high = found[:, at].clone(), found[:, at + 2].clone()
        found[:, at], found[:, at + 2] = side - high, side - low
    elif known is Format.XYXYXYXY:
        found[:, at::2] = side - found[:, at::2]
        found = found[:, [2, 3, 0, 1, 6, 7, 4, 5]]
    elif known is Format.XYWH:
        found[:, at] = side - (found[:, at] + found[:, at + 2])
    else:
        if known is Format.XYWHR:  # the other end of its upper side becomes the first corner
            radians = found[:, 4].mul(torch.pi).div(180)
            found[:, 0] += found[:, 2] * radians.cos()
            found[:, 1] -= found[:, 2] * radians.sin()
        found[:, at] = side - found[:, at]
        if known is not Format.CXCYWH:
            found[:, 4] = -found[:, 4] if across else 180 - found[:, 4]
    return found.reshape(boxes.shape)


def affine_map(
    canvas_size: Any,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    center: Any,
    expand: bool,
) -> tuple[Callable[[Any], Any], tuple[int, int]]:
    """What an affine map makes of points (M, 2), and the canvas that holds the result."""
    height, width = canvas_size
    middle = [width * 0.5, height * 0.5] if center is None else [float(c) for c in center]
    inverse = warping.inverse_matrix(middle, angle, translate, scale, shear)
    forward = warping.forward_matrix(middle, angle, translate, scale, shear)
    new = (height, width)
    if expand:
        wide, tall = warping.extent(inverse, width, height)
        new = (tall, wide)

    def moved(points: Any) -> Any:
        matrix = torch.tensor(forward, dtype=points.dtype, device=points.device).reshape(2, 3).T

        def applied(places: Any) -> Any:
            return torch.cat([places, points.new_ones(len(places), 1)], -1) @ matrix

        ends = torch.tensor(
            [[0, 0], [0, height], [width, height], [width, 0]], dtype=points.dtype, device=points.device
        )
        return applied(points) - applied(ends).amin(0) if expand else applied(points)

    return moved, new


def perspective_map(coefficients: Sequence[float]) -> Callable[[Any], Any]:
    """What a change of perspective makes of points (M, 2): the inverse of where each pixel is read."""
    a, b, c, d, e, f, g, h = coefficients
    scale = a * e - b * d
    if scale == 0:
        raise RuntimeError(
            f"Provided perspective_coeffs {list(coefficients)} can not be inverted to transform bounding "
            f"boxes or keypoints. Denominator is zero, denom={scale}"
        )
    above = [(e - f * h), (c * h - b), (b * f - c * e), (f * g - d), (a - c * g), (c * d - a * f)]
    below = [(d * h - e * g), (b * g - a * h)]

    def moved(points: Any) -> Any:
        exact = points if points.is_floating_point() else points.float()
        full = torch.cat([exact, torch.ones(len(exact), 1, dtype=exact.dtype, device=exact.device)], -1)
        rows = torch.tensor([v / scale for v in above], dtype=exact.dtype, device=exact.device).reshape(2, 3)
        last = torch.tensor([*(v / scale for v in below), 1.0], dtype=exact.dtype, device=exact.device)
        return (full @ rows.T) / (full @ last)[:, None]

    return moved


def elastic_map(canvas_size: Any, displacement: Any) -> Callable[[Any], Any]:
    """What an elastic displacement (1, H, W, 2) makes of points (M, 2), read at their pixels."""
    height, width = canvas_size

    def moved(points: Any) -> Any:
        dtype = points.dtype if points.is_floating_point() else torch.float32
        moves = displacement.to(points.device, dtype)
        inverse = warping.same_places(height, width, moves) - moves
        columns, rows = points.to(torch.long).unbind(1)
        found = inverse[0, rows.clamp(0, height - 1), columns.clamp(0, width - 1)]
        return (found + 1) * (0.5 * torch.tensor([width, height], dtype=dtype, device=points.device)) - 0.5

    return moved
