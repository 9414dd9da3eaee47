"""Transforms of images (torchvision.transforms); `v2` works on whole samples."""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomAffine",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomOrder",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToTensor",
]
__getattr__, __dir__ = lazy_names(
    globals(),
    {**dict.fromkeys(__all__, "transforms"), **dict.fromkeys(("functional", "transforms", "v2"), ".")},
)
