"""What policies of augmentation are made of: operations of a magnitude, and which magnitudes they have.

A space has for each operation a function (bins, height, width) that gives its magnitudes from weak to strong
(None: it has none), and whether a magnitude may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import Tensor

Magnitudes = Callable[[int, int, int], "Tensor | None"]
Space = dict[str, tuple[Magnitudes, bool]]
Operation = Callable[[Any, float, dict[str, Any]], Any]

_SHIFT = 150.0 / 331.0  # the greatest shift of the policies learned, as a part of the image
_COLOURS = ("Brightness", "Color", "Contrast", "Sharpness")


def operations(F: Any) -> dict[str, Operation]:
    """What operations do, (image, magnitude, interpolation and fill), by the functions of a module.

    Solarize's magnitude is the threshold itself.
    """

    def sheared(image: Any, degrees: list[float], how: dict[str, Any]) -> Any:
        return F.affine(image, angle=0.0, translate=[0, 0], scale=1.0, shear=degrees, center=[0, 0], **how)

    def moved(image: Any, pixels: list[int], how: dict[str, Any]) -> Any:
        return F.affine(image, angle=0.0, translate=pixels, scale=1.0, shear=[0.0, 0.0], **how)

    return {
        "Identity": lambda image, by, how: image,
        "ShearX": lambda image, by, how: sheared(image, [math.degrees(math.atan(by)), 0.0], how),
        "ShearY": lambda image, by, how: sheared(image, [0.0, math.degrees(math.atan(by))], how),
        "TranslateX": lambda image, by, how: moved(image, [int(by), 0], how),
        "TranslateY": lambda image, by, how: moved(image, [0, int(by)], how),
        "Rotate": lambda image, by, how: F.rotate(image, angle=by, **how),
        "Brightness": lambda image, by, how: F.adjust_brightness(image, brightness_factor=1.0 + by),
        "Color": lambda image, by, how: F.adjust_saturation(image, saturation_factor=1.0 + by),
        "Contrast": lambda image, by, how: F.adjust_contrast(image, contrast_factor=1.0 + by),
        "Sharpness": lambda image, by, how: F.adjust_sharpness(image, sharpness_factor=1.0 + by),
        "Posterize": lambda image, by, how: F.posterize(image, bits=int(by)),
        "Solarize": lambda image, by, how: F.solarize(image, threshold=by),
        "AutoContrast": lambda image, by, how: F.autocontrast(image),
        "Equalize": lambda image, by, how: F.equalize(image),
        "Invert": lambda image, by, how: F.invert(image),
    }


def _up_to(most: float) -> tuple[Magnitudes, bool]:
    return lambda bins, height, width: torch.linspace(0.0, most, bins), True


def _across(times: float, over: float) -> tuple[Magnitudes, bool]:
    return lambda bins, height, width: torch.linspace(0.0, times * width / over, bins), True


def _down(times: float, over: float) -> tuple[Magnitudes, bool]:
    return lambda bins, height, width: torch.linspace(0.0, times * height / over, bins), True


def _bits(kept: int, fewer: int) -> tuple[Magnitudes, bool]:
    return lambda bins, height, width: (kept - torch.arange(bins) / ((bins - 1) / fewer)).round().int(), False


def _threshold(bins: int, height: int, width: int) -> Tensor:
    """Parts of the range of an image's values."""
    return torch.linspace(1.0, 0.0, bins)


def _no_magnitudes(bins: int, height: int, width: int) -> None:
    return None


_NONE: tuple[Magnitudes, bool] = (_no_magnitudes, False)
_GEOMETRY: Space = {
    "ShearX": _up_to(0.3),
    "ShearY": _up_to(0.3),
    "TranslateX": _across(_SHIFT, 1.0),
    "TranslateY": _down(_SHIFT, 1.0),
    "Rotate": _up_to(30.0),
}
_TONES: Space = {"Solarize": (_threshold, False), "AutoContrast": _NONE, "Equalize": _NONE}
_LEARNED: Space = {
    **_GEOMETRY,
    **dict.fromkeys(_COLOURS, _up_to(0.9)),
    "Posterize": _bits(8, 4),
    **_TONES,
}
AUTO: Space = {**_LEARNED, "Invert": _NONE}
RANDOM: Space = {"Identity": _NONE, **_LEARNED}
WIDE: Space = {
    "Identity": _NONE,
    "ShearX": _up_to(0.99),
    "ShearY": _up_to(0.99),
    "TranslateX": _up_to(32.0),
    "TranslateY": _up_to(32.0),
    "Rotate": _up_to(135.0),
    **dict.fromkeys(_COLOURS, _up_to(0.99)),
    "Posterize": _bits(8, 6),
    **_TONES,
}
# AugMix's operations but those that its test set has, and all.
PARTLY_MIXED: Space = {
    **_GEOMETRY,
    "TranslateX": _across(1.0, 3.0),
    "TranslateY": _down(1.0, 3.0),
    "Posterize": _bits(4, 4),
    **_TONES,
}
MIXED: Space = {**PARTLY_MIXED, **dict.fromkeys(_COLOURS, _up_to(0.9))}
