"""Regions aligned from the level of a pyramid that suits their size."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.ops._utils import convert_boxes_to_roi_format
from rushlight_vision.ops.boxes import box_area
from rushlight_vision.ops.roi_align import roi_align


class LevelMapper:
    """The level for each box: Lin et al., "Feature Pyramid Networks", CVPR 2017, equation 1."""

    def __init__(
        self,
        k_min: int,
        k_max: int,
        canonical_scale: int = 224,
        canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min, self.k_max = k_min, k_max
        self.s0, self.lvl0, self.eps = canonical_scale, canonical_level, eps

    def __call__(self, boxlists: list[Tensor]) -> Tensor:
        """Levels, counted from k_min, of all boxes of lists of (L, 4)."""
        s = torch.sqrt(torch.cat([box_area(boxes) for boxes in boxlists]))
        found = torch.floor(
            self.lvl0 + torch.log2(s / self.s0) + torch.tensor(self.eps, dtype=s.dtype, device=s.device)
        )
        return torch.clamp(found, min=self.k_min, max=self.k_max).to(torch.int64) - self.k_min


def initLevelMapper(
    k_min: int, k_max: int, canonical_scale: int = 224, canonical_level: int = 4, eps: float = 1e-6
) -> LevelMapper:
    """A LevelMapper."""
    return LevelMapper(k_min, k_max, canonical_scale, canonical_level, eps)


def _scale(feature: Tensor, original: tuple[int, ...]) -> float:
    """By which power of two a feature map is smaller than the image."""
    scales = [
        2 ** float(torch.tensor(float(n) / float(whole)).log2().round())
        for n, whole in zip(feature.shape[-2:], original, strict=True)
    ]
    return scales[0]


class MultiScaleRoIAlign(nn.Module):
    """RoIAlign over several levels, which are known by name."""

    def __init__(
        self,
        featmap_names: list[str],
        output_size: Any,
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = (output_size,) * 2 if isinstance(output_size, int) else tuple(output_size)
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level

    def _set_scales(
        self, features: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> tuple[list[float], LevelMapper]:
        """The scale of each level, and which level a box belongs to: what the first images say."""
        if self.scales is not None and self.map_levels is not None:
            return self.scales, self.map_levels
        if not image_shapes:
            raise ValueError("images list should not be empty")
        original = tuple(max(sizes) for sizes in zip(*image_shapes, strict=True))
        self.scales = [_scale(feature, original) for feature in features]
        first, last = (int(-math.log2(scale)) for scale in (self.scales[0], self.scales[-1]))
        self.map_levels = LevelMapper(first, last, self.canonical_scale, self.canonical_level)
        return self.scales, self.map_levels

    def forward(
        self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> Tensor:
        """x: levels (N, C, H, W) by name, the finest first; boxes: (L, 4) for each image, in pixels of
        images, whose sizes are `image_shapes`. Gives (K, C, *output_size), K boxes of all images.
        """
        features = [v for k, v in x.items() if k in self.featmap_names]
        scales, mapper = self._set_scales(features, image_shapes)
        rois = convert_boxes_to_roi_format(boxes)
        if len(features) == 1:
            return roi_align(features[0], rois, self.output_size, scales[0], self.sampling_ratio)
        levels = mapper(boxes)
        parts, order = [], []
        for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
            at = torch.where(levels == level)[0]
            order.append(at)
            parts.append(roi_align(feature, rois[at], self.output_size, scale, self.sampling_ratio))
        return torch.cat(parts)[torch.cat(order).argsort()]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, "
            f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})"
        )
