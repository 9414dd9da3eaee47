"""Averages of samples of regions' cells, each cell from channels of its own (position-sensitive RoIAlign)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.fx.wrapping import wrap
from rushlight_vision.ops._utils import convert_boxes_to_roi_format, pair
from rushlight_vision.ops.roi_align import averages


@wrap
def ps_roi_align(
    input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1
) -> Tensor:
    """Features (K, C / (h * w), h, w) of K boxes in (N, C, H, W): Li et al., "Light-Head R-CNN", 2017.

    `boxes`, `spatial_scale` and `sampling_ratio` as in `roi_align`; `output_size` is h and w.
    """
    rois, size = convert_boxes_to_roi_format(boxes).to(input), pair(output_size)
    if input.shape[1] % (size[0] * size[1]):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    features = input.unflatten(1, (-1, *size)).permute(0, 2, 3, 4, 5, 1)
    down, right = (torch.arange(n, device=input.device) for n in size)
    own = (down[:, None, None, None], right[:, None])
    return averages(features, own, rois, size, spatial_scale, sampling_ratio, True)


class PSRoIAlign(nn.Module):
    """`ps_roi_align` with its sizes."""

    def __init__(self, output_size: int, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        """input: (N, C, H, W); rois: (K, 5) or a list of (L, 4)."""
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio})"
        )
