"""Features of regions, each brought to one size: the maxima of its cells (RoIPool)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.fx.wrapping import wrap
from rushlight_vision.ops._utils import (
    check_roi_boxes_shape as check_roi_boxes_shape,
    convert_boxes_to_roi_format as convert_boxes_to_roi_format,
    pair,
)


def rounded(places: Tensor) -> Tensor:
    """Whole numbers, halves away from zero."""
    return places.trunc() + places.sign() * (places.frac().abs() >= 0.5)


def cells(start: Tensor, size: Tensor, count: int, pixels: int, limit: int) -> Tensor:
    """Which pixels of an axis each cell holds, (K, count, pixels), of those before `limit`."""
    step = size / count
    at = torch.arange(count, device=start.device)
    low = (torch.floor(at * step[:, None]) + start[:, None]).clamp(0, limit)
    high = (torch.ceil((at + 1) * step[:, None]) + start[:, None]).clamp(0, limit)
    pixel = torch.arange(pixels, device=start.device)
    return (pixel >= low[..., None]) & (pixel < high[..., None])


@wrap
def roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Maxima (K, C, *output_size) of the cells of K boxes in (N, C, H, W), 0 of empty ones; Girshick, "Fast
    R-CNN", ICCV 2015, section 2.1. `boxes` as in `roi_align`.
    """
    rois, (height, width) = convert_boxes_to_roi_format(boxes), pair(output_size)
    ends = rounded(rois[:, 1:] * spatial_scale)
    sizes = (ends[:, 2:] - ends[:, :2] + 1).clamp(min=1)
    rows = cells(ends[:, 1], sizes[:, 1], height, input.shape[2], input.shape[2])
    columns = cells(ends[:, 0], sizes[:, 0], width, input.shape[3], input.shape[3])
    features = input[rois[:, 0].long()]
    inside = torch.where(rows[:, None, :, :, None], features[:, :, None], float("-inf")).amax(3)
    found = torch.where(columns[:, None, None], inside[:, :, :, None], float("-inf")).amax(4)
    return torch.where(found == float("-inf"), 0, found)


class RoIPool(nn.Module):
    """`roi_pool` with its sizes."""

    def __init__(self, output_size: Any, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        """input: (N, C, H, W); rois: (K, 5) or a list of (L, 4)."""
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale})"
