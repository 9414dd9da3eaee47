"""Brightness, contrast, saturation, hue and grey."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.pillow import checked_image, image_of, pillow
from rushlight_vision.transforms.conversion import convert_image_dtype, most


def _blend(img: Tensor, other: Tensor, factor: float) -> Tensor:
    factor = float(factor)  # bytes times a whole number would stay bytes
    return (factor * img + (1.0 - factor) * other).clamp(0, most(img.dtype)).to(img.dtype)


def _enhanced(kind: str, img: Any, factor: float) -> Any:
    return getattr(pillow("ImageEnhance"), kind)(checked_image(img)).enhance(factor)


def not_negative(factor: float, name: str) -> None:
    """ValueError for a factor below zero."""
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def of_colours(img: Tensor) -> None:
    """TypeError for an image of other than 1 or 3 channels."""
    channels = img.shape[-3] if img.ndim > 2 else 1
    if channels not in [1, 3]:
        raise TypeError(f"Input image tensor permitted channel values are [1, 3], but found {channels}")


def adjust_brightness(img: Tensor, brightness_factor: float) -> Tensor:
    """Blend with black: 0 gives black, 1 the image, 2 twice its brightness."""
    if not isinstance(img, Tensor):
        return _enhanced("Brightness", img, brightness_factor)
    not_negative(brightness_factor, "brightness_factor")
    of_colours(img)
    return (float(brightness_factor) * img).clamp(0, most(img.dtype)).to(img.dtype)


def adjust_contrast(img: Tensor, contrast_factor: float) -> Tensor:
    """Blend with the image's mean grey."""
    if not isinstance(img, Tensor):
        return _enhanced("Contrast", img, contrast_factor)
    not_negative(contrast_factor, "contrast_factor")
    of_colours(img)
    grey = rgb_to_grayscale(img) if img.shape[-3] == 3 else img
    grey = grey if grey.is_floating_point() else grey.float()
    return _blend(img, grey.mean((-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Tensor, saturation_factor: float) -> Tensor:
    """Blend with the grey image."""
    if not isinstance(img, Tensor):
        return _enhanced("Color", img, saturation_factor)
    not_negative(saturation_factor, "saturation_factor")
    of_colours(img)
    return img if img.shape[-3] == 1 else _blend(img, rgb_to_grayscale(img), saturation_factor)


def _turned(img: Any, hue_factor: float) -> Any:
    if img.mode in ("L", "1", "I", "F"):
        return img
    hsv = np.array(img.convert("HSV"))
    hsv[..., 0] += np.uint8(int(hue_factor * 255) % 256)
    return image_of(hsv, "HSV").convert(img.mode)


def adjust_hue(img: Tensor, hue_factor: float) -> Tensor:
    """Turn the hue by a factor in [-0.5, 0.5] of the circle."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if not isinstance(img, Tensor):
        return _turned(checked_image(img), hue_factor)
    of_colours(img)
    if img.shape[-3] == 1 or img.numel() == 0:
        return img
    h, s, v = _hsv(convert_image_dtype(img, torch.float32))
    return convert_image_dtype(_rgb((h + hue_factor) % 1.0, s, v), img.dtype)


def _hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r, g, b = img.unbind(-3)
    top, least = img.amax(-3), img.amin(-3)
    same, spread = top == least, top - least
    one = torch.ones_like(top)
    saturation = spread / torch.where(same, one, top)
    over = torch.where(same, one, spread)
    red, green, blue = (top - r) / over, (top - g) / over, (top - b) / over
    hue = torch.where(top == r, blue - green, torch.where(top == g, 2.0 + red - blue, 4.0 + green - red))
    return torch.fmod(hue / 6.0 + 1.0, 1.0), saturation, top


def _rgb(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    sixth = torch.floor(h * 6.0)
    part = h * 6.0 - sixth
    p = (v * (1.0 - s)).clamp(0.0, 1.0)
    q = (v * (1.0 - s * part)).clamp(0.0, 1.0)
    t = (v * (1.0 - s * (1.0 - part))).clamp(0.0, 1.0)
    # Which of (v, q, p, t) red, green and blue are in each sixth of the circle.
    sixths = torch.tensor([[0, 1, 2, 2, 3, 0], [3, 0, 0, 1, 2, 2], [2, 2, 3, 0, 0, 1]], device=h.device)
    which = sixths[:, sixth.to(torch.int64) % 6].movedim(0, -3)
    return torch.stack((v, q, p, t), -3).gather(-3, which)


def rgb_to_grayscale(img: Tensor, num_output_channels: int = 1) -> Tensor:
    """Luma, in 1 or 3 equal channels."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if not isinstance(img, Tensor):
        grey = checked_image(img).convert("L")
        return grey if num_output_channels == 1 else pillow().merge("RGB", [grey] * 3)
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    of_colours(img)
    if img.shape[-3] == 3:
        r, g, b = img.unbind(-3)
        img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    if num_output_channels == 1:
        return img
    shape = list(img.shape)
    shape[-3] = 3
    return img.expand(shape)


to_grayscale = rgb_to_grayscale
