"""torchvision.io: an image file as a tensor, read by Pillow. Videos are not here."""

from __future__ import annotations

import enum
import io
from typing import Any

import rushlight as torch
from rushlight_vision.pillow import pillow
from rushlight_vision.transforms.functional import pil_to_tensor


class ImageReadMode(enum.Enum):
    """Which channels are wanted: Pillow's name of them."""

    UNCHANGED = None
    GRAY = "L"
    GRAY_ALPHA = "LA"
    RGB = "RGB"
    RGB_ALPHA = "RGBA"


def decode_image(
    input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Any:
    """uint8 (channels, height, width) of an image: its file's bytes as a uint8 tensor, or the file's path."""
    source = io.BytesIO(input.numpy().tobytes()) if isinstance(input, torch.Tensor) else input
    image = pillow().open(source)
    if apply_exif_orientation:
        image = pillow("ImageOps").exif_transpose(image)
    wanted = (ImageReadMode[mode] if isinstance(mode, str) else mode).value
    return pil_to_tensor(image if wanted is None else image.convert(wanted))


read_image = decode_image
