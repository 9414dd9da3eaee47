"""The functions of transforms.functional, and v2's names beside them."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms.conversion import convert_image_dtype, get_dimensions, most, pil_to_tensor
from rushlight_vision.transforms.functional import *  # noqa: F403
from rushlight_vision.transforms.geometry import hflip, vflip
from rushlight_vision.tv_tensors import Image

horizontal_flip, vertical_flip = hflip, vflip


def get_size(inpt: Any) -> list[int]:
    """[height, width]."""
    return get_dimensions(inpt)[1:]


def to_image(inpt: Any) -> Any:
    """tv_tensors.Image of a PIL image, an array (H, W[, C]) or a tensor (..., C, H, W)."""
    if isinstance(inpt, torch.Tensor):
        return Image(inpt)
    array = torch.from_numpy(inpt) if not is_image(inpt) else pil_to_tensor(inpt).movedim(0, -1)
    return Image((array if array.ndim == 3 else array[:, :, None]).permute(2, 0, 1))


def to_dtype(inpt: Any, dtype: Any = torch.float32, scale: bool = False) -> Any:
    """Another dtype; scale: values follow the dtype's range."""
    if not scale:
        return inpt.to(dtype)
    if dtype.is_floating_point and not inpt.is_floating_point():
        return inpt.to(dtype).mul_(1.0 / most(inpt.dtype))  # v1 divides: the last bit may differ
    return convert_image_dtype(inpt, dtype)
