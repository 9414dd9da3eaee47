"""The transforms that weights were trained with."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.transforms import InterpolationMode, functional as F


class ImageClassification(nn.Module):
    """Resize, cut the centre, make floats of [0, 1], normalise."""

    def __init__(self, *, crop_size: int, resize_size: int = 256,
                 mean: tuple[float, ...] = (0.485, 0.456, 0.406),
                 std: tuple[float, ...] = (0.229, 0.224, 0.225),
                 interpolation: Any = InterpolationMode.BILINEAR, antialias: bool = True) -> None:
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img: Any) -> Tensor:
        """img: an image of Pillow, or a tensor (..., C, H, W)."""
        img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        img = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img, torch.float), mean=self.mean, std=self.std)

    def __repr__(self) -> str:
        shown = ("crop_size", "resize_size", "mean", "std", "interpolation")
        return "\n    ".join([f"{type(self).__name__}(", *(f"{n}={getattr(self, n)}" for n in shown)]) + "\n)"
