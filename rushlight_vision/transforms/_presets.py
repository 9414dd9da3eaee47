"""The transforms that weights were trained with."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.transforms import InterpolationMode, functional as F

_IMAGES = (
    "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` image ``torch.Tensor`` "
    "objects. "
)


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

    def describe(self) -> str:
        """What is taken, and what becomes of it."""
        return (
            f"{_IMAGES}The images are resized to ``resize_size={self.resize_size}`` using "
            f"``interpolation={self.interpolation}``. Finally the values are first rescaled to "
            f"``[0.0, 1.0]`` and then normalized using ``mean={self.mean}`` and ``std={self.std}``."
        )

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

    def describe(self) -> str:
        """What is taken, and what becomes of it."""
        return (
            f"{_IMAGES}The images are resized to ``resize_size={self.resize_size}`` using "
            f"``interpolation={self.interpolation}``, followed by a central crop of "
            f"``crop_size={self.crop_size}``. Finally the values are first rescaled to ``[0.0, 1.0]`` "
            f"and then normalized using ``mean={self.mean}`` and ``std={self.std}``."
        )


def _floats(img: Any) -> Tensor:
    """An image as floats of [0, 1]."""
    img = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
    found: Tensor = F.convert_image_dtype(img, torch.float)
    return found


class ObjectDetection(nn.Module):
    """Floats of [0, 1]: detectors themselves do the rest."""

    def forward(self, img: Any) -> Tensor:
        """img: an image of Pillow, or a tensor (..., C, H, W)."""
        return _floats(img)

    def describe(self) -> str:
        """What is taken, and what becomes of it."""
        return f"{_IMAGES}The images are rescaled to ``[0.0, 1.0]``."

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class OpticalFlow(nn.Module):
    """Floats of [-1, 1], of two images."""

    def forward(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor]:
        """Both: an image of Pillow, or a tensor (..., 3, H, W)."""
        one, other = (
            F.normalize(_floats(img), mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5]).contiguous()
            for img in (img1, img2)
        )
        return one, other

    def describe(self) -> str:
        """What is taken, and what becomes of it."""
        return f"{_IMAGES}The images are rescaled to ``[-1.0, 1.0]``."

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VideoClassification(nn.Module):
    """The centre of every frame, resized, as floats that are normalised; channels before time."""

    shown = ("crop_size", "resize_size", "mean", "std", "interpolation")

    def __init__(
        self,
        *,
        crop_size: tuple[int, int],
        resize_size: tuple[int] | tuple[int, int],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: Any = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size, self.resize_size = list(crop_size), list(resize_size)
        self.mean, self.std, self.interpolation = list(mean), list(std), interpolation

    def forward(self, vid: Tensor) -> Tensor:
        """vid: (N, T, C, H, W), or (T, C, H, W); gives (N, C, T, H, W), or (C, T, H, W)."""
        if vid.ndim == 4:
            return self.forward(vid[None])[0]
        n, t, c, h, w = vid.shape
        frames = F.resize(
            vid.view(-1, c, h, w), self.resize_size, interpolation=self.interpolation, antialias=False
        )
        frames = F.convert_image_dtype(F.center_crop(frames, self.crop_size), torch.float)
        frames = F.normalize(frames, mean=self.mean, std=self.std)
        found: Tensor = frames.view(n, t, c, *self.crop_size).permute(0, 2, 1, 3, 4)
        return found

    def describe(self) -> str:
        """What is taken, and what becomes of it."""
        return (
            "Accepts batched ``(B, T, C, H, W)`` and single ``(T, C, H, W)`` video frame ``torch.Tensor`` "
            f"objects. The frames are resized to ``resize_size={self.resize_size}`` using "
            f"``interpolation={self.interpolation}``, followed by a central crop of "
            f"``crop_size={self.crop_size}``. Finally the values are first rescaled to ``[0.0, 1.0]`` and "
            f"then normalized using ``mean={self.mean}`` and ``std={self.std}``. Finally the output "
            "dimensions are permuted to ``(..., C, T, H, W)`` tensors."
        )

    def __repr__(self) -> str:
        return (
            "\n".join([f"{type(self).__name__}(", *(f"    {n}={getattr(self, n)}" for n in self.shown)])
            + "\n)"
        )
