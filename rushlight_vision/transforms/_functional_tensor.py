"""The functions of transforms.functional on tensors, by the name under which other packages import them."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight_vision.transforms.colors import *  # noqa: F403
from rushlight_vision.transforms.colors import _blend as _blend, _hsv, _rgb
from rushlight_vision.transforms.conversion import *  # noqa: F403
from rushlight_vision.transforms.conversion import most as _max_value  # noqa: F401
from rushlight_vision.transforms.geometry import *  # noqa: F403
from rushlight_vision.transforms.tones import *  # noqa: F403
from rushlight_vision.transforms.tones import weights
from rushlight_vision.transforms.warping import *  # noqa: F403


def _is_tensor_a_torch_image(x: Any) -> bool:
    """Whether a tensor has the dims of an image."""
    found: bool = x.ndim >= 2
    return found


def _assert_image_tensor(img: Any) -> None:
    """TypeError for a tensor that is no image."""
    if not _is_tensor_a_torch_image(img):
        raise TypeError("Tensor is not a torch image.")


def _assert_channels(img: Any, permitted: list[int]) -> None:
    """TypeError for an image of another number of channels."""
    count = 1 if img.ndim == 2 else img.shape[-3]
    if count not in permitted:
        raise TypeError(f"Input image tensor permitted channel values are {permitted}, but found {count}")


def _rgb2hsv(img: Any) -> Any:
    """Hue, saturation and value (..., 3, H, W) of floats in [0, 1]."""
    return torch.stack(_hsv(img), -3)


def _hsv2rgb(img: Any) -> Any:
    """Red, green and blue (..., 3, H, W) of hue, saturation and value."""
    return _rgb(*img.unbind(-3))


def _get_gaussian_kernel1d(kernel_size: int, sigma: float, dtype: Any, device: Any) -> Any:
    """(kernel_size,) of weights."""
    return weights(kernel_size, sigma, dtype, device)


def _get_gaussian_kernel2d(kernel_size: list[int], sigma: list[float], dtype: Any, device: Any) -> Any:
    """(height, width) of weights, for sizes and widths (x, y)."""
    across, down = (weights(n, s, dtype, device) for n, s in zip(kernel_size, sigma))
    return torch.mm(down[:, None], across[None, :])
