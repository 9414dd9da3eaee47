"""Values of one dtype's range in another's."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight_vision.transforms.conversion import most

_BITS = {
    torch.uint8: 8,
    torch.int8: 7,
    torch.int16: 15,
    torch.uint16: 16,
    torch.int32: 31,
    torch.int64: 63,
}


def value_bits(dtype: Any) -> int:
    """How many bits a whole number's value has; TypeError for other dtypes."""
    if dtype not in _BITS:
        raise TypeError(f"Number of value bits is only defined for integer dtypes, but got {dtype}.")
    return _BITS[dtype]


def to_dtype_image(image: Any, dtype: Any = torch.float32, scale: bool = False) -> Any:
    """A tensor in another dtype; scale: white stays white, whatever the dtype's greatest value is."""
    if image.dtype is dtype:
        return image
    if not scale or (image.is_floating_point() and dtype.is_floating_point):
        return image.to(dtype)
    if image.is_floating_point():
        unsafe = {torch.float32: (torch.int32, torch.int64), torch.float64: (torch.int64,)}
        if dtype in unsafe.get(image.dtype, ()):
            raise RuntimeError(f"The conversion from {image.dtype} to {dtype} cannot be performed safely.")
        return image.mul(float(most(dtype)) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype).mul_(1.0 / most(image.dtype))
    old, new = value_bits(image.dtype), value_bits(dtype)
    if old > new:
        wide = image.dtype is torch.uint16
        return (image / 2 ** (old - new)).to(dtype) if wide else (image >> (old - new)).to(dtype)
    return image.to(dtype) * 2 ** (new - old) if dtype is torch.uint16 else image.to(dtype) << (new - old)


to_dtype_video = to_dtype_image


def convert_image_dtype(image: Any, dtype: Any = torch.float32) -> Any:
    """A tensor in another dtype, its values scaled."""
    return to_dtype_image(image, dtype, scale=True)
