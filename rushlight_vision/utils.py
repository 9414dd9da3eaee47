"""Grids of images, their files, and what is drawn into them (torchvision.utils)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import rushlight as torch
from rushlight_vision.drawing import (
    draw_bounding_boxes,
    draw_keypoints,
    draw_segmentation_masks,
    flow_to_image,
)

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]


@torch.no_grad()
def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: Any = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Any:
    """(3, H, W): a batch (B, C, H, W), a list of images or one image, `nrow` to a row, borders between."""
    if not (
        isinstance(tensor, torch.Tensor)
        or (isinstance(tensor, list) and all(isinstance(t, torch.Tensor) for t in tensor))
    ):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    batch = torch.stack(tensor, 0) if isinstance(tensor, list) else tensor
    batch = batch[(None,) * (4 - batch.ndim)]
    if batch.shape[1] == 1:
        batch = batch.expand(-1, 3, -1, -1)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        batch = (
            _normal(batch, value_range)
            if not scale_each
            else torch.stack([_normal(t, value_range) for t in batch])
        )
    count, channels, height, width = batch.shape
    if count == 1:
        return batch.squeeze(0)
    columns, height, width = min(nrow, count), height + padding, width + padding
    rows = math.ceil(count / columns)
    grid = batch.new_full((channels, height * rows + padding, width * columns + padding), pad_value)
    for k in range(count):
        top, left = k // columns * height + padding, k % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = batch[k]
    return grid


def _normal(t: Any, value_range: Any) -> Any:
    """Values from a range (default: their own) in [0, 1]."""
    low, high = value_range or (float(t.min()), float(t.max()))
    return t.clamp(low, high).sub(low).div(max(high - low, 1e-5))


@torch.no_grad()
def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write a tensor of values in [0, 1] as an image file; several images as a grid, by make_grid."""
    from rushlight_vision.transforms.functional import to_pil_image

    grid = make_grid(tensor, **kwargs).mul(255).add(0.5).clamp(0, 255).to("cpu", torch.uint8)
    to_pil_image(grid).save(fp, format=format)


def _log_api_usage_once(obj: Any) -> None:
    """Nothing is counted here; packages call it."""


def _make_ntuple(x: Any, n: int) -> tuple[Any, ...]:
    """The values of x, or x itself n times."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n
