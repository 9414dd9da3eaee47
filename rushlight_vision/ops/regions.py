"""Features of regions, each brought to one size: averages of samples (RoIAlign), maxima (RoIPool)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn


def _rows(boxes: Any) -> Tensor:
    """Boxes as rows (image, x1, y1, x2, y2)."""
    if not isinstance(boxes, (list, tuple)):
        torch._assert(
            boxes.dim() == 2 and boxes.shape[1] == 5, "The boxes tensor shape is not correct as Tensor[K, 5]"
        )
        rows: Tensor = boxes
        return rows
    torch._assert(
        all(b.dim() == 2 and b.shape[1] == 4 for b in boxes),
        "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]",
    )
    counts = [torch.full_like(b[:, :1], float(i)) for i, b in enumerate(boxes)]
    return torch.cat([torch.cat(counts), torch.cat(list(boxes))], 1)


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


def _samples(start: Tensor, step: Tensor, cells: int, ratio: int) -> tuple[Tensor, Tensor]:
    """Places along one axis, (K, cells, samples), and how many of the samples of a region count, (K,)."""
    count = torch.full_like(start, ratio) if ratio > 0 else torch.ceil(step)
    most = int(count.max()) if len(count) else 0
    place = (torch.arange(most) + 0.5) / count.clamp(min=1)[:, None]
    cell = start[:, None] + torch.arange(cells) * step[:, None]
    return cell[:, :, None] + (place * step[:, None])[:, None], count


def _weights(place: Tensor, size: int, count: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two pixels beside each place of an axis, and their weights: 0 far outside, and beyond `count`."""
    used = (place >= -1) & (place <= size) & (torch.arange(place.shape[2]) < count[:, None, None])
    place = place.clamp(min=0)
    low = place.floor().long().clamp(max=size - 1)
    place = torch.where(low >= size - 1, low.to(place), place)
    high = (low + 1).clamp(max=size - 1)
    part = place - low
    return low, high, (1 - part) * used, part * used


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
    rois, (height, width) = _rows(boxes).to(input), _pair(output_size)
    ends = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0)
    sizes = ends[:, 2:] - ends[:, :2]
    step_x, step_y = (sizes if aligned else sizes.clamp(min=1.0)).div(torch.tensor([width, height])).unbind(1)
    y, rows = _samples(ends[:, 1], step_y, height, sampling_ratio)
    x, columns = _samples(ends[:, 0], step_x, width, sampling_ratio)
    vertical = _weights(y, input.shape[2], rows)
    horizontal = _weights(x, input.shape[3], columns)
    image = rois[:, 0].long()[:, None, None, None, None]
    total: Any = 0
    for row, row_weight in (vertical[0::2], vertical[1::2]):
        for column, weight in (horizontal[0::2], horizontal[1::2]):
            # (K, height, samples, width, samples, C)
            found = input.permute(0, 2, 3, 1)[image, row[:, :, :, None, None], column[:, None, None]]
            both = row_weight[:, :, :, None, None] * weight[:, None, None]
            total = total + (found * both[..., None]).sum((2, 4))
    result: Tensor = (
        (total / (rows * columns).clamp(min=1)[:, None, None, None]).permute(0, 3, 1, 2).contiguous()
    )
    return result


def _cells(start: Tensor, size: Tensor, cells: int, limit: int) -> Tensor:
    """Which pixels of an axis a cell holds, (K, cells, limit)."""
    step = size / cells
    at = torch.arange(cells)
    low = (torch.floor(at * step[:, None]) + start[:, None]).clamp(0, limit)
    high = (torch.ceil((at + 1) * step[:, None]) + start[:, None]).clamp(0, limit)
    pixel = torch.arange(limit)
    return (pixel >= low[..., None]) & (pixel < high[..., None])


def roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Maxima (K, C, *output_size) of the cells of K boxes in (N, C, H, W), 0 of empty ones; Girshick, "Fast
    R-CNN", ICCV 2015, section 2.1. `boxes` as in `roi_align`.
    """
    rois, (height, width) = _rows(boxes), _pair(output_size)
    places = rois[:, 1:] * spatial_scale
    ends = places.trunc() + places.sign() * (places.frac().abs() >= 0.5)  # halves go away from zero
    sizes = (ends[:, 2:] - ends[:, :2] + 1).clamp(min=1)
    rows = _cells(ends[:, 1], sizes[:, 1], height, input.shape[2])
    columns = _cells(ends[:, 0], sizes[:, 0], width, input.shape[3])
    features = input[rois[:, 0].long()]
    inside = torch.where(rows[:, None, :, :, None], features[:, :, None], float("-inf")).amax(3)
    found = torch.where(columns[:, None, None], inside[:, :, :, None], float("-inf")).amax(4)
    return torch.where(found == float("-inf"), 0, found)


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
