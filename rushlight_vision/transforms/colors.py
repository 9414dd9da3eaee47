"""Brightness, contrast, saturation, hue and grey."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.pillow import image_of, is_image, pillow
from rushlight_vision.transforms.conversion import convert_image_dtype, most


def _blend(img: Any, other: Any, factor: float) -> Any:
    factor = float(factor)  # bytes times a whole number would stay bytes
    return (factor * img + (1.0 - factor) * other).clamp(0, most(img.dtype)).to(img.dtype)


def _enhanced(kind: str, img: Any, factor: float, name: str, other: Any) -> Any:
    if is_image(img):
        return getattr(pillow("ImageEnhance"), kind)(img).enhance(factor)
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    return _blend(img, other(), factor)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Blend with black: 0 gives black, 1 the image, 2 twice its brightness."""
    return _enhanced("Brightness", img, brightness_factor, "brightness_factor", lambda: 0.0)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Blend with the image's mean grey."""

    def mean() -> Any:
        grey = rgb_to_grayscale(img)
        return (grey if grey.is_floating_point() else grey.float()).mean((-3, -2, -1), keepdim=True)

    return _enhanced("Contrast", img, contrast_factor, "contrast_factor", mean)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Blend with the grey image."""
    if isinstance(img, torch.Tensor) and img.shape[-3] == 1:
        return img
    return _enhanced("Color", img, saturation_factor, "saturation_factor", lambda: rgb_to_grayscale(img))


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turn the hue by a factor in [-0.5, 0.5] of the circle."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if is_image(img):
        if img.mode in ("L", "1", "I", "F"):
            return img
        hsv = np.array(img.convert("HSV"))
        hsv[..., 0] += np.uint8(int(hue_factor * 255) % 256)
        return image_of(hsv, "HSV").convert(img.mode)
    if img.shape[-3] == 1 or img.numel() == 0:
        return img
    h, s, v = _hsv(convert_image_dtype(img, torch.float32))
    return convert_image_dtype(_rgb((h + hue_factor) % 1.0, s, v), img.dtype)


def _hsv(img: Any) -> Any:
    r, g, b = img.unbind(-3)
    top, least = img.amax(-3), img.amin(-3)
    same, spread = top == least, top - least
    one = torch.ones_like(top)
    saturation = spread / torch.where(same, one, top)
    red, green, blue = ((top - c) / torch.where(same, one, spread) for c in (r, g, b))
    hue = torch.where(top == r, blue - green, torch.where(top == g, 2.0 + red - blue, 4.0 + green - red))
    return torch.fmod(hue / 6.0 + 1.0, 1.0), saturation, top


# Which of (v, q, p, t) red, green and blue are in each sixth of the circle.
_SIXTHS = ((0, 1, 2, 2, 3, 0), (3, 0, 0, 1, 2, 2), (2, 2, 3, 0, 0, 1))


def _rgb(h: Any, s: Any, v: Any) -> Any:
    sixth = torch.floor(h * 6.0)
    part = h * 6.0 - sixth
    p, q, t = ((v * (1.0 - x)).clamp(0.0, 1.0) for x in (s, s * part, s * (1.0 - part)))
    which = torch.tensor(_SIXTHS, device=h.device)[:, sixth.to(torch.int64) % 6].movedim(0, -3)
    return torch.stack((v, q, p, t), -3).gather(-3, which)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Luma, in 1 or 3 equal channels."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if is_image(img):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else pillow().merge("RGB", [grey] * 3)
    if img.shape[-3] == 3:
        r, g, b = img.unbind(-3)
        img = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    return img if num_output_channels == 1 else img.expand(*img.shape[:-3], 3, *img.shape[-2:])


to_grayscale = rgb_to_grayscale
