"""Boxes to start from, at every place of every feature map."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models.detection.image_list import ImageList


class AnchorGenerator(nn.Module):
    """Boxes of each size and shape around each place; sizes in pixels of the images, shapes as height over
    width, a tuple of each for every feature map.
    """

    def __init__(self, sizes: Any = ((128, 256, 512),), aspect_ratios: Any = ((0.5, 1.0, 2.0),)) -> None:
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((s,) for s in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes, self.aspect_ratios = sizes, aspect_ratios
        self.cell_anchors = [self.generate_anchors(*both) for both in zip(sizes, aspect_ratios, strict=False)]

    def generate_anchors(
        self, scales: Any, aspect_ratios: Any, dtype: Any = torch.float32, device: Any = "cpu"
    ) -> Tensor:
        """Boxes (shapes * sizes, 4) around the place (0, 0), in whole pixels."""
        scales = torch.as_tensor(scales, dtype=dtype, device=device)
        heights = torch.sqrt(torch.as_tensor(aspect_ratios, dtype=dtype, device=device))
        ws = ((1 / heights)[:, None] * scales).view(-1)
        hs = (heights[:, None] * scales).view(-1)
        return (torch.stack([-ws, -hs, ws, hs], dim=1) / 2).round()

    def set_cell_anchors(self, dtype: Any, device: Any) -> None:
        """The boxes around (0, 0) in another dtype and on another device."""
        self.cell_anchors = [anchors.to(dtype=dtype, device=device) for anchors in self.cell_anchors]

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes a place of each feature map has."""
        return [len(s) * len(a) for s, a in zip(self.sizes, self.aspect_ratios, strict=False)]

    def grid_anchors(self, grid_sizes: list[Any], strides: list[Any]) -> list[Tensor]:
        """All boxes, (places * boxes, 4) for each feature map, its places `strides` pixels apart."""
        torch._assert(
            len(grid_sizes) == len(strides) == len(self.cell_anchors),
            "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different "
            "sizes and aspect ratios. There needs to be a match between the number of feature maps passed "
            "and the number of sizes / aspect ratios specified.",
        )
        found = []
        for size, stride, base in zip(grid_sizes, strides, self.cell_anchors, strict=True):
            axes = [
                torch.arange(0, n, dtype=torch.int32, device=base.device) * step
                for n, step in zip(size, stride, strict=True)
            ]
            y, x = (t.reshape(-1) for t in torch.meshgrid(*axes, indexing="ij"))
            shifts = torch.stack((x, y, x, y), dim=1)
            found.append((shifts.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4))
        return found

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        """For each image all boxes of all its feature maps (N, C, H, W), (L, 4)."""
        sizes = [feature.shape[-2:] for feature in feature_maps]
        image_size, first = image_list.tensors.shape[-2:], feature_maps[0]
        strides = [[image_size[i] // size[i] for i in (0, 1)] for size in sizes]
        self.set_cell_anchors(first.dtype, first.device)
        anchors = self.grid_anchors(sizes, strides)
        return [torch.cat(anchors) for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The boxes of SSD (Liu et al., ECCV 2016, section 2.2): sizes as parts of the image, squares of two
    sizes and boxes of each shape and its inverse.
    """

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios, self.steps, self.clip = aspect_ratios, steps, clip
        count = len(aspect_ratios)
        if scales is None and count > 1:
            part = max_ratio - min_ratio
            scales = [min_ratio + part * k / (count - 1.0) for k in range(count)] + [1.0]
        self.scales = [min_ratio, max_ratio] if scales is None else scales
        self._wh_pairs = self._generate_wh_pairs(count)

    def _generate_wh_pairs(
        self, num_outputs: int, dtype: Any = torch.float32, device: Any = "cpu"
    ) -> list[Tensor]:
        found = []
        for k in range(num_outputs):
            own = self.scales[k]
            between = math.sqrt(own * self.scales[k + 1])
            pairs = [[own, own], [between, between]]
            for ratio in self.aspect_ratios[k]:
                root = math.sqrt(ratio)
                width, height = own * root, own / root
                pairs += [[width, height], [height, width]]
            found.append(torch.as_tensor(pairs, dtype=dtype, device=device))
        return found

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes a place of each feature map has."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _grid_default_boxes(self, grid_sizes: list[Any], image_size: Any, dtype: Any) -> Tensor:
        """Centres and sizes (L, 4), as parts of the image."""
        found = []
        for k, size in enumerate(grid_sizes):
            steps = self.steps
            places = size if steps is None else [image_size[i] / steps[k] for i in (0, 1)]
            axes = [(torch.arange(0, n) + 0.5) / place for n, place in zip(size, places, strict=True)]
            y, x = (t.reshape(-1) for t in torch.meshgrid(*(t.to(dtype) for t in axes), indexing="ij"))
            pairs = self._wh_pairs[k].clamp(min=0, max=1) if self.clip else self._wh_pairs[k]
            centres = torch.stack((x, y) * len(pairs), dim=-1).reshape(-1, 2)
            found.append(torch.cat((centres, pairs.repeat(size[0] * size[1], 1)), dim=1))
        return torch.cat(found, dim=0)

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        """For each image all boxes of all its feature maps (N, C, H, W), (L, 4) in pixels."""
        sizes = [feature.shape[-2:] for feature in feature_maps]
        image_size, first = image_list.tensors.shape[-2:], feature_maps[0]
        boxes = self._grid_default_boxes(sizes, image_size, dtype=first.dtype).to(first.device)
        whole = torch.tensor([image_size[1], image_size[0]], device=boxes.device)
        half = 0.5 * boxes[:, 2:]
        corners = torch.cat([(boxes[:, :2] - half) * whole, (boxes[:, :2] + half) * whole], -1)
        return [corners.clone() for _ in image_list.image_sizes]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, "
            f"scales={self.scales}, steps={self.steps})"
        )
