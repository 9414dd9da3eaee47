"""Features of regions, each brought to one size: averages of samples (RoIAlign)."""

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


def _samples(start: Tensor, step: Tensor, cells: int, ratio: int) -> tuple[Tensor, Tensor]:
    """Places along one axis, (K, cells, samples), and how many of the samples of a region count, (K,)."""
    count = torch.full_like(start, ratio) if ratio > 0 else torch.ceil(step)
    most = int(count.max()) if len(count) else 0
    place = (torch.arange(most, device=start.device) + 0.5) / count.clamp(min=1)[:, None]
    cell = start[:, None] + torch.arange(cells, device=start.device) * step[:, None]
    return cell[:, :, None] + (place * step[:, None])[:, None], count


def _weights(place: Tensor, size: int, count: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two pixels beside each place of an axis, and their weights: 0 far outside, and beyond `count`."""
    counted = torch.arange(place.shape[2], device=place.device) < count[:, None, None]
    used = (place >= -1) & (place <= size) & counted
    place = place.clamp(min=0)
    low = place.floor().long().clamp(max=size - 1)
    place = torch.where(low >= size - 1, low.to(place), place)
    high = (low + 1).clamp(max=size - 1)
    part = place - low
    return low, high, (1 - part) * used, part * used


def averages(
    features: Tensor,
    before: tuple[Tensor, ...],
    rois: Tensor,
    size: Any,
    scale: float,
    ratio: int,
    aligned: bool,
) -> Tensor:
    """Averages (K, C, *size) of samples of features (N, ..., H, W, C), of which `before` says which of the
    dims `...` each cell (size[0], 1, size[1], 1) looks at.
    """
    (height, width), space = size, features.shape[-3:-1]
    ends = rois[:, 1:] * scale - (0.5 if aligned else 0)
    sizes = ends[:, 2:] - ends[:, :2]
    if not aligned:
        sizes = sizes.clamp(min=1.0)
    step_x, step_y = sizes[:, 0] / width, sizes[:, 1] / height
    y, rows = _samples(ends[:, 1], step_y, height, ratio)
    x, columns = _samples(ends[:, 0], step_x, width, ratio)
    vertical = _weights(y, space[0], rows)
    horizontal = _weights(x, space[1], columns)
    image = rois[:, 0].long()[:, None, None, None, None]
    total: Any = 0
    for row, row_weight in (vertical[0::2], vertical[1::2]):
        for column, weight in (horizontal[0::2], horizontal[1::2]):
            # (K, height, samples, width, samples, C)
            found = features[(image, *before, row[:, :, :, None, None], column[:, None, None])]
            both = row_weight[:, :, :, None, None] * weight[:, None, None]
            total = total + (found * both[..., None]).sum((2, 4))
    result: Tensor = (
        (total / (rows * columns).clamp(min=1)[:, None, None, None]).permute(0, 3, 1, 2).contiguous()
    )
    return result


@wrap
def roi_align(
    input: Tensor,
    boxes: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Features (K, C, *output_size) of K boxes in (N, C, H, W): He et al., "Mask R-CNN", ICCV 2017.

    `boxes`: rows (image, x1, y1, x2, y2), or a list of (L, 4) for each image, which `spatial_scale` brings to
    the size of `input`; `sampling_ratio` samples a cell along each axis, or as many as it has pixels;
    `aligned` takes pixels' centres for their places.
    """
    rois, size = convert_boxes_to_roi_format(boxes).to(input), pair(output_size)
    return averages(input.permute(0, 2, 3, 1), (), rois, size, spatial_scale, sampling_ratio, aligned)


class RoIAlign(nn.Module):
    """`roi_align` with its sizes."""

    def __init__(
        self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = False
    ) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        """input: (N, C, H, W); rois: (K, 5) or a list of (L, 4)."""
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned})"
        )
