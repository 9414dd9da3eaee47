"""Transforms of images (torchvision.transforms); `v2` works on whole samples."""

from __future__ import annotations

from rushlight._engine.lazy import lazy_names

_POLICIES = ("AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide")
__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomTransforms",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
    "TrivialAugmentWide",
]
__getattr__, __dir__ = lazy_names(
    globals(),
    {
        **dict.fromkeys(__all__, "transforms"),
        **dict.fromkeys(_POLICIES, "autoaugment"),
        **dict.fromkeys(
            (
                "_functional_pil",
                "_functional_tensor",
                "_presets",
                "autoaugment",
                "functional",
                "transforms",
                "v2",
            ),
            ".",
        ),
    },
)
