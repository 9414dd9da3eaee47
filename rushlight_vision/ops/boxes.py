"""Boxes, as rows (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2: areas, overlaps, and the best of many."""

from __future__ import annotations

import numpy as np

import rushlight as torch
from rushlight import Tensor


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """Areas, shape (...), of boxes (..., 4) of a form: "xyxy", "xywh" or "cxcywh"."""
    _check_form(fmt)
    boxes = _upcast(boxes)
    if fmt != "xyxy":
        return boxes[..., 2] * boxes[..., 3]
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _check_form(fmt: str) -> None:
    if fmt not in ["xyxy", "xywh", "cxcywh"]:
        raise ValueError(f"Unsupported Box Area for given format {fmt}")


def _upcast(t: Tensor) -> Tensor:
    """The dtype that products of coordinates are computed in."""
    if t.is_floating_point():
        return t if t.dtype == torch.float32 or t.dtype == torch.float64 else t.float()
    return t if t.dtype == torch.int32 or t.dtype == torch.int64 else t.int()


def intersections(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Areas that boxes (N, 4) and (M, 4) share, and that they cover together: (N, M) each."""
    sides = _upcast(torch.min(a[:, None, 2:], b[:, 2:]) - torch.max(a[:, None, :2], b[:, :2])).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, box_area(a)[:, None] + box_area(b) - shared


_box_inter_union = intersections  # torchvision's name, which detectors import


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """The share of what two boxes cover together that both cover (Jaccard index): (N, M)."""
    if fmt != "xyxy":
        boxes1, boxes2 = box_convert(boxes1, fmt, "xyxy"), box_convert(boxes2, fmt, "xyxy")
    shared, union = intersections(boxes1, boxes2)
    return shared / union


def hull(a: Tensor, b: Tensor) -> Tensor:
    """The sides of the least box around both, (..., 2)."""
    return torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])


def _turned(t: Tensor) -> Tensor:
    """The angle of a box's diagonal."""
    return torch.atan((t[..., 2] - t[..., 0]) / (t[..., 3] - t[..., 1]))


def unlikeness(a: Tensor, b: Tensor, iou: Tensor, eps: float) -> Tensor:
    """What CIoU takes off for shapes that differ: Zheng et al., AAAI 2020, equations 8, 9 and 11."""
    v = 4 / torch.pi**2 * (_turned(a) - _turned(b)) ** 2
    with torch.no_grad():
        alpha = v / (1 - iou + v + eps)
    return alpha * v


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """GIoU, (N, M): Rezatofighi et al., "Generalized Intersection over Union", CVPR 2019, equation 1."""
    shared, union = intersections(boxes1, boxes2)
    sides = _upcast(hull(boxes1[:, None], boxes2)).clamp(min=0)
    area = sides[..., 0] * sides[..., 1]
    return shared / union - (area - union) / area


def _centres(boxes: Tensor) -> Tensor:
    return (_upcast(boxes[:, :2]) + _upcast(boxes[:, 2:])) / 2


def distances(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """IoU, and the squared distance of centres over that of the hull's corners, (N, M) each."""
    sides = _upcast(hull(boxes1[:, None], boxes2)).clamp(min=0)
    diagonal = sides[..., 0] ** 2 + sides[..., 1] ** 2 + eps
    apart = _upcast(_centres(boxes1)[:, None] - _centres(boxes2))
    return box_iou(boxes1, boxes2), (apart[..., 0] ** 2 + apart[..., 1] ** 2) / diagonal


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """DIoU, (N, M): Zheng et al., "Distance-IoU Loss", AAAI 2020, equation 7."""
    iou, apart = distances(boxes1, boxes2, eps)
    return iou - apart


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """CIoU, (N, M): DIoU less a term for the shape; Zheng et al., AAAI 2020, equation 10."""
    iou, apart = distances(boxes1, boxes2, eps)
    return iou - apart - unlikeness(boxes1[:, None], boxes2, iou, eps)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices of the boxes that are kept, best score first: each one drops those worse than itself that
    overlap it by more than `iou_threshold`.
    """
    if not torch.jit.is_scripting():  # scripts call the op, whose loop over boxes is no script
        return _nms(boxes, scores, iou_threshold)
    found: Tensor = torch.ops.torchvision.nms(boxes, scores, iou_threshold)  # type: ignore[attr-defined]
    return found


def _nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    if boxes.dim() != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor of 4 columns, got shape {tuple(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{boxes.shape[0]} and {tuple(scores.shape)}"
        )
    order = scores.sort(0, descending=True, stable=True)[1]
    with torch.no_grad():
        return order[_apart(boxes.detach()[order], iou_threshold)]


# So many boxes are held against all that are left at once.
_AT_ONCE = 256


def _apart(boxes: Tensor, iou_threshold: float) -> Tensor:
    """The numbers of boxes, best first, that no better one of these overlaps by more than the threshold.

    Overlaps are found by many boxes at a time where the boxes lie; which of them count, one box after the
    other, is the host's business.
    """
    kept, left = [np.zeros(0, np.int64)], np.arange(len(boxes))
    while len(left):
        first = min(_AT_ONCE, len(left))
        rest = boxes[torch.from_numpy(left).to(boxes.device)]
        apart = (box_iou(rest[:first], rest) <= iou_threshold).numpy(force=True)  # nan, of two points, is not
        alive = np.ones(first, np.bool_)
        for n in range(first):
            if alive[n]:
                alive[n + 1 :] &= apart[n, n + 1 : first]
        kept.append(left[:first][alive])
        left = left[first:][apart[alive, first:].all(0)]
    return torch.from_numpy(np.concatenate(kept)).to(boxes.device)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """`nms` where boxes of different `idxs` (classes, say) do not drop each other."""
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=torch.int64, device=boxes.device)
    apart = idxs.to(boxes) * (boxes.max() + 1)  # each class in a place of its own
    return nms(boxes + apart[:, None], scores, iou_threshold)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Indices of the boxes with both sides at least `min_size`."""
    sides = boxes[:, 2:] - boxes[:, :2]
    return torch.where((sides >= min_size).all(1))[0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """The parts of boxes (..., 4) that lie in an image of (height, width)."""
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return torch.stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


def _from_xywh(b: Tensor) -> Tensor:
    return torch.cat((b[..., :2], b[..., :2] + b[..., 2:]), -1)


def _from_cxcywh(b: Tensor) -> Tensor:
    half = 0.5 * b[..., 2:]
    return torch.cat((b[..., :2] - half, b[..., :2] + half), -1)


def _to_xywh(b: Tensor) -> Tensor:
    return torch.cat((b[..., :2], b[..., 2:] - b[..., :2]), -1)


def _to_cxcywh(b: Tensor) -> Tensor:
    return torch.cat(((b[..., :2] + b[..., 2:]) / 2, b[..., 2:] - b[..., :2]), -1)


def _turn(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x, y, width, height, and cosine and sine of the angle, as floats."""
    x, y, width, height, angle = (boxes if boxes.is_floating_point() else boxes.float()).unbind(-1)
    radians = angle * torch.pi / 180
    return x, y, width, height, torch.cos(radians), torch.sin(radians)


def _like(found: Tensor, boxes: Tensor) -> Tensor:
    return (found if boxes.is_floating_point() else found.round()).to(boxes.dtype)


def _moved(boxes: Tensor, sign: int) -> Tensor:
    """Boxes (..., 5) whose place is another point of them: half a diagonal further, or back."""
    x, y, width, height, cos, sin = _turn(boxes)
    x, y = x + sign * (width * cos + height * sin) / 2, y + sign * (height * cos - width * sin) / 2
    return torch.cat((_like(torch.stack((x, y), -1), boxes), boxes[..., 2:]), -1)


def _to_corners(boxes: Tensor) -> Tensor:
    x, y, width, height, cos, sin = _turn(boxes)
    along, down = (width * cos, -width * sin), (height * sin, height * cos)
    corners = [x, y, x + along[0], y + along[1]]
    corners += [x + along[0] + down[0], y + along[1] + down[1], x + down[0], y + down[1]]
    return _like(torch.stack(corners, -1), boxes)


def _from_corners(boxes: Tensor) -> Tensor:
    x, y, x2, y2, x3, y3 = (boxes if boxes.is_floating_point() else boxes.float())[..., :6].unbind(-1)
    angle = torch.atan2(y - y2, x2 - x) * 180 / torch.pi
    width, height = ((x2 - x) ** 2 + (y - y2) ** 2).sqrt(), ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return _like(torch.stack((x, y, width, height, angle), -1), boxes)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes from one form to another: "xyxy", "xywh", "cxcywh", (..., 4); of rotated boxes "xywhr" and
    "cxcywhr", (..., 5), whose angle is in degrees against the clock, and "xyxyxyxy", the corners, (..., 8).

    ValueError for other names; NotImplementedError from one kind to the other.
    """
    said = f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
    plain, rotated = ["xyxy", "xywh", "cxcywh"], ["xywhr", "cxcywhr", "xyxyxyxy"]
    if in_fmt not in plain + rotated or out_fmt not in plain + rotated:
        raise ValueError(said)
    if (in_fmt in plain) != (out_fmt in plain):
        raise NotImplementedError(said)
    if in_fmt == out_fmt:
        return boxes.clone()
    return _to_form(_from_form(boxes, in_fmt), out_fmt)


def _from_form(boxes: Tensor, form: str) -> Tensor:
    """Boxes as "xyxy", rotated ones as "xywhr"."""
    if form == "xywh":
        return _from_xywh(boxes)
    if form == "cxcywh":
        return _from_cxcywh(boxes)
    if form == "cxcywhr":
        return _moved(boxes, -1)
    if form == "xyxyxyxy":
        return _from_corners(boxes)
    return boxes


def _to_form(boxes: Tensor, form: str) -> Tensor:
    """The other way."""
    if form == "xywh":
        return _to_xywh(boxes)
    if form == "cxcywh":
        return _to_cxcywh(boxes)
    if form == "cxcywhr":
        return _moved(boxes, 1)
    if form == "xyxyxyxy":
        return _to_corners(boxes)
    return boxes


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The boxes, (N, 4) float32, around what is not 0 in masks (N, H, W)."""
    if not masks.numel():
        return torch.zeros((0, 4), device=masks.device, dtype=torch.float)
    ends = []
    for dim in (1, 2):  # columns of the image, then rows
        there = masks.ne(0).any(dim).to(torch.uint8)
        ends.append((there.argmax(1), there.shape[1] - 1 - there.flip(1).argmax(1)))
    return torch.stack((ends[0][0], ends[1][0], ends[0][1], ends[1][1]), 1).float()
