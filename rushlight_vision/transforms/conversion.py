"""What images are, and the ways between Pillow's images, arrays and tensors."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.pillow import checked_image, image_of, is_image


class InterpolationMode(Enum):
    """How values between pixels are found."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


PILLOWS = {
    "nearest": 0,
    "lanczos": 1,
    "bilinear": 2,
    "bicubic": 3,
    "box": 4,
    "hamming": 5,
    "nearest-exact": 0,
}


def mode_of(interpolation: InterpolationMode) -> InterpolationMode:
    """An InterpolationMode, also from Pillow's number for it."""
    if isinstance(interpolation, int):
        return InterpolationMode(list(PILLOWS)[interpolation])
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow "
            f"integer constant, got {type(interpolation)}"
        )
    return interpolation


def get_dimensions(img: Tensor) -> list[int]:
    """[channels, height, width]; TypeError for what is neither image nor tensor."""
    if not isinstance(img, Tensor):
        image = checked_image(img)
        return [len(image.getbands()), image.height, image.width]
    if img.ndim < 2:
        raise TypeError("Tensor is not a torch image.")
    return [1 if img.ndim == 2 else img.shape[-3], img.shape[-2], img.shape[-1]]


def get_image_size(img: Tensor) -> list[int]:
    """[width, height]."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Tensor) -> int:
    """How many channels an image has."""
    return get_dimensions(img)[0]


def to_tensor(pic: Any) -> Any:
    """(C, H, W) of a PIL image or an array (H, W[, C]); bytes become floats in [0, 1]."""
    if not (is_image(pic) or isinstance(pic, np.ndarray)):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    array = np.array(pic)
    if array.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    if is_image(pic) and pic.mode == "1":
        array = array.astype(np.uint8) * 255
    tensor = torch.from_numpy(np.ascontiguousarray(np.atleast_3d(array).transpose(2, 0, 1)))
    return tensor.to(torch.get_default_dtype()).div(255) if tensor.dtype is torch.uint8 else tensor


def pil_to_tensor(pic: Any) -> Any:
    """(C, H, W) of a PIL image, with its values as they are."""
    if not is_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return torch.from_numpy(np.atleast_3d(np.array(pic))).permute(2, 0, 1)


# The modes for images of several channels, and of one by its dtype: the first is the default.
_MODES = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
_GREY = {"uint8": ("L",), "int16": ("I;16",), "uint16": ("I;16",), "int32": ("I",), "float32": ("F",)}


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """The PIL image of a tensor ([C, ]H, W) or array (H, W[, C]) with at most 4 channels."""
    if not isinstance(pic, (torch.Tensor, np.ndarray)):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if isinstance(pic, torch.Tensor):
        pic = pic.mul(255).to(torch.uint8) if pic.is_floating_point() and mode != "F" else pic
        pic = (pic if pic.ndim == 2 else pic.movedim(0, -1)).numpy(force=True)
    array = np.atleast_3d(pic)
    channels, name = array.shape[-1], array.dtype.name
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    modes = _GREY.get(name) if channels == 1 else _MODES[channels] if name == "uint8" else None
    if modes is None:
        raise TypeError(f"Input type {name} is not supported")
    if mode is not None and mode not in modes:
        raise ValueError(
            f"Only modes {list(modes)} are supported for {channels}D inputs"
            if channels > 1
            else f"Incorrect mode ({mode}) supplied for input type {name}. Should be {modes[0]}"
        )
    return image_of(array, mode or modes[0])


def nearest(number: float) -> int:
    """The whole number next to another; the even one of two."""
    found = round(number)  # in scripts, a float
    return int(found)


def floating(dtype: torch.dtype) -> bool:
    """Whether numbers of a dtype have fractions."""
    return torch.empty([0], dtype=dtype).is_floating_point()


def most(dtype: torch.dtype) -> int:
    """The value of white."""
    if dtype == torch.uint8:
        return 255
    if dtype == torch.int8:
        return 127
    if dtype == torch.int16:
        return 32767
    if dtype == torch.uint16:
        return 65535
    if dtype == torch.int32:
        return 2147483647
    if dtype == torch.int64:
        return 9223372036854775807
    return 1


def convert_image_dtype(image: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """The image in another dtype, with its values scaled to that dtype's range."""
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    new, old = most(dtype), most(image.dtype)
    if image.dtype == dtype:
        return image
    if floating(dtype):
        return image.to(dtype) if image.is_floating_point() else image.to(dtype) / old
    if image.is_floating_point():
        if dtype == torch.int64 or (dtype == torch.int32 and image.dtype == torch.float32):
            raise RuntimeError(f"The cast from {image.dtype} to {dtype} cannot be performed safely.")
        return image.mul(new + 1.0 - 1e-3).to(dtype)
    if old > new:
        return torch.div(image, (old + 1) // (new + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((new + 1) // (old + 1))


def normalize(tensor: Tensor, mean: list[float], std: list[float], inplace: bool = False) -> Tensor:
    """(tensor - mean) / std by channels of a float (..., C, H, W)."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = "
            f"{tensor.size()}"
        )
    means = torch.as_tensor(mean, dtype=tensor.dtype, device=tensor.device).view(-1, 1, 1)
    spreads = torch.as_tensor(std, dtype=tensor.dtype, device=tensor.device).view(-1, 1, 1)
    if (spreads == 0).any():
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
        )
    return (tensor if inplace else tensor.clone()).sub_(means).div_(spreads)
