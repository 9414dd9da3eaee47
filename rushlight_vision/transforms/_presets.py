"""The transforms that weights were trained with."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.transforms import InterpolationMode, functional as F


class SemanticSegmentation(nn.Module):
    """Resize, make floats of [0, 1], normalise."""

    shown: tuple[str, ...] = ("resize_size", "mean", "std", "interpolation")

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def resized(self, img: Any) -> Any:
        """The image at the size that the network takes."""
        if self.resize_size is None:
            return img
        return F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)

    def forward(self, img: Any) -> Tensor:
        """img: an image of Pillow, or a tensor (..., C, H, W)."""
        img = self.resized(img)
        img = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        found: Tensor = F.normalize(F.convert_image_dtype(img, torch.float), mean=self.mean, std=self.std)
        return found

    def __repr__(self) -> str:
        return (
            "\n    ".join([f"{type(self).__name__}(", *(f"{n}={getattr(self, n)}" for n in self.shown)])
            + "\n)"
        )


class ImageClassification(SemanticSegmentation):
    """The same for the centre alone."""

    shown = ("crop_size", *SemanticSegmentation.shown)

    def __init__(self, *, crop_size: int, resize_size: int = 256, **kwargs: Any) -> None:
        super().__init__(resize_size=resize_size, **kwargs)
        self.crop_size = [crop_size]

    def resized(self, img: Any) -> Any:
        """The centre of the image, resized."""
        return F.center_crop(super().resized(img), self.crop_size)
