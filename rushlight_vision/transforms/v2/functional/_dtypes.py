"""Values of one dtype's range in another's."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.transforms.conversion import floating, most


def value_bits(dtype: torch.dtype) -> int:
    """How many bits a whole number's value has; TypeError for other dtypes."""
    if dtype == torch.uint8:
        return 8
    if dtype == torch.int8:
        return 7
    if dtype == torch.int16:
        return 15
    if dtype == torch.uint16:
        return 16
    if dtype == torch.int32:
        return 31
    if dtype == torch.int64:
        return 63
    raise TypeError(f"Number of value bits is only defined for integer dtypes, but got {dtype}.")


def to_dtype_image(image: Tensor, dtype: torch.dtype = torch.float32, scale: bool = False) -> Tensor:
    """A tensor in another dtype; scale: white stays white, whatever the dtype's greatest value is."""
    if image.dtype == dtype:
        return image
    if not scale or (image.is_floating_point() and floating(dtype)):
        return image.to(dtype)
    if image.is_floating_point():
        unsafe = image.dtype == torch.float32 and dtype in [torch.int32, torch.int64]
        if unsafe or (image.dtype == torch.float64 and dtype == torch.int64):
            raise RuntimeError(f"The conversion from {image.dtype} to {dtype} cannot be performed safely.")
        return image.mul(float(most(dtype)) + 1.0 - 1e-3).to(dtype)
    if floating(dtype):
        return image.to(dtype).mul_(1.0 / most(image.dtype))
    old, new = value_bits(image.dtype), value_bits(dtype)
    if old > new:
        by = old - new
        return (image / (1 << by)).to(dtype) if image.dtype == torch.uint16 else (image >> by).to(dtype)
    by = new - old
    return image.to(dtype) * (1 << by) if dtype == torch.uint16 else image.to(dtype) << by


to_dtype_video = to_dtype_image


def convert_image_dtype(image: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor in another dtype, its values scaled."""
    return to_dtype_image(image, dtype, scale=True)
