"""What ops on regions share: boxes as rows that say their image, sizes as pairs."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor


def check_roi_boxes_shape(boxes: Any) -> None:
    """AssertionError unless boxes are rows (image, x1, y1, x2, y2), or a list of (L, 4) for each image."""
    if not isinstance(boxes, (list, tuple)):
        torch._assert(
            boxes.dim() == 2 and boxes.shape[1] == 5, "The boxes tensor shape is not correct as Tensor[K, 5]"
        )
        return
    torch._assert(
        all(b.dim() == 2 and b.shape[1] == 4 for b in boxes),
        "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]",
    )


def convert_boxes_to_roi_format(boxes: Any) -> Tensor:
    """Boxes as rows (image, x1, y1, x2, y2)."""
    check_roi_boxes_shape(boxes)
    if not isinstance(boxes, (list, tuple)):
        rows: Tensor = boxes
        return rows
    counts = [torch.full_like(b[:, :1], float(i)) for i, b in enumerate(boxes)]
    return torch.cat([torch.cat(counts), torch.cat(list(boxes))], 1)


def pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)
