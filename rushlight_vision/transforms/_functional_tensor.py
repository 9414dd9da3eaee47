"""The functions of transforms.functional on tensors, by the name under which other packages import them."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.transforms.colors import *  # noqa: F403
from rushlight_vision.transforms.colors import _blend as _blend, _hsv, _rgb
from rushlight_vision.transforms.conversion import *  # noqa: F403
from rushlight_vision.transforms.conversion import most as _max_value  # noqa: F401
from rushlight_vision.transforms.geometry import *  # noqa: F403
from rushlight_vision.transforms.tones import *  # noqa: F403
from rushlight_vision.transforms.tones import weights
from rushlight_vision.transforms.warping import *  # noqa: F403


def _is_tensor_a_torch_image(x: Tensor) -> bool:
    """Whether a tensor has the dims of an image."""
    return x.ndim >= 2


def _assert_image_tensor(img: Tensor) -> None:
    """TypeError for a tensor that is no image."""
    if not _is_tensor_a_torch_image(img):
        raise TypeError("Tensor is not a torch image.")


def _assert_channels(img: Tensor, permitted: list[int]) -> None:
    """TypeError for an image of another number of channels."""
    count = 1 if img.ndim == 2 else img.shape[-3]
    if count not in permitted:
        raise TypeError(f"Input image tensor permitted channel values are {permitted}, but found {count}")


def _rgb2hsv(img: Tensor) -> Tensor:
    """Hue, saturation and value (..., 3, H, W) of floats in [0, 1]."""
    return torch.stack(_hsv(img), -3)


def _hsv2rgb(img: Tensor) -> Tensor:
    """Red, green and blue (..., 3, H, W) of hue, saturation and value."""
    h, s, v = img.unbind(-3)
    return _rgb(h, s, v)


def _get_gaussian_kernel1d(
    kernel_size: int, sigma: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """(kernel_size,) of weights."""
    return weights(kernel_size, sigma, dtype, device)


def _get_gaussian_kernel2d(
    kernel_size: list[int], sigma: list[float], dtype: torch.dtype, device: torch.device
) -> Tensor:
    """(height, width) of weights, for sizes and widths (x, y)."""
    across = weights(kernel_size[0], sigma[0], dtype, device)
    down = weights(kernel_size[1], sigma[1], dtype, device)
    return torch.mm(down[:, None], across[None, :])
