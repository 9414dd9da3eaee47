"""Averages of regions' cells, each cell from channels of its own (position-sensitive RoIPool)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.fx.wrapping import wrap
from rushlight_vision.ops._utils import convert_boxes_to_roi_format, pair
from rushlight_vision.ops.roi_pool import cells, rounded


@wrap
def ps_roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Averages (K, C / (h * w), h, w) of the cells of K boxes in (N, C, H, W), 0 of empty ones: Dai et al.,
    "R-FCN", NeurIPS 2016, equation 1. `boxes` as in `roi_align`; `output_size` is h and w.
    """
    rois, (height, width) = convert_boxes_to_roi_format(boxes), pair(output_size)
    if input.shape[1] % (height * width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    ends = rounded(rois[:, 1:] * spatial_scale)
    sizes = (ends[:, 2:] - ends[:, :2]).clamp(min=1)
    # The last row and the last column are never part of a cell.
    rows = cells(ends[:, 1], sizes[:, 1], height, input.shape[2], input.shape[2] - 1).to(input)
    columns = cells(ends[:, 0], sizes[:, 0], width, input.shape[3], input.shape[3] - 1).to(input)
    features = input.unflatten(1, (-1, height, width))[rois[:, 0].long()]
    total = torch.einsum("kcijhw,kih,kjw->kcij", features, rows, columns)
    area = rows.sum(2)[:, None, :, None] * columns.sum(2)[:, None, None]
    return torch.where(area > 0, total / area.clamp(min=1), 0)


class PSRoIPool(nn.Module):
    """`ps_roi_pool` with its sizes."""

    def __init__(self, output_size: int, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        """input: (N, C, H, W); rois: (K, 5) or a list of (L, 4)."""
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale})"
