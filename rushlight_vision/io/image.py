"""Image files as tensors (channels, height, width), read and written by Pillow."""

from __future__ import annotations

import enum
import io
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.pillow import pillow
from rushlight_vision.transforms.conversion import pil_to_tensor, to_pil_image


class ImageReadMode(enum.Enum):
    """Which channels are wanted; UNCHANGED: those of the file."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


_MODES = {0: None, 1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def read_file(path: Any) -> Any:
    """The bytes of a file, as uint8 (N,); RuntimeError where there is none."""
    try:
        with open(path, "rb") as file:
            return torch.from_numpy(np.frombuffer(file.read(), np.uint8).copy())
    except OSError as error:
        raise RuntimeError(f"[Errno {error.errno}] {error.strerror}: '{path}'") from error


def write_file(filename: Any, data: Any) -> None:
    """Write uint8 (N,) as a file's bytes."""
    if data.dtype is not torch.uint8 or data.ndim != 1:
        raise RuntimeError(f"expected uint8 (N,), got {data.dtype} {tuple(data.shape)}")
    with open(filename, "wb") as file:
        file.write(data.cpu().numpy().tobytes())


def _decoded(input: Any, mode: Any, apply_exif_orientation: bool, *formats: str) -> Any:
    """The image in a file's bytes, of one of the formats (default: of any)."""
    if not isinstance(input, torch.Tensor) or input.dtype is not torch.uint8 or input.ndim != 1:
        raise RuntimeError(
            "expected the bytes of an image's file as a uint8 tensor (N,), got "
            f"{(input.dtype, tuple(input.shape)) if isinstance(input, torch.Tensor) else type(input)}"
        )
    wanted = _MODES[(ImageReadMode[mode.upper()] if isinstance(mode, str) else mode).value]
    try:
        image = pillow().open(io.BytesIO(input.cpu().numpy().tobytes()), formats=formats or None)
        image.load()
    except OSError as error:
        raise RuntimeError(f"the bytes are no image of {' or '.join(formats) or 'a known format'}") from error
    if apply_exif_orientation:
        image = pillow("ImageOps").exif_transpose(image)
    if wanted is None and image.mode == "P":
        wanted = "RGBA" if "transparency" in image.info else "RGB"
    if wanted is None and image.mode == "1":
        wanted = "L"
    return pil_to_tensor(image if wanted is None or image.mode == wanted else image.convert(wanted))


def decode_image(
    input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Any:
    """uint8 (channels, height, width) of an image: its file's bytes as a uint8 tensor, or the file's path."""
    data = input if isinstance(input, torch.Tensor) else read_file(input)
    return _decoded(data, mode, apply_exif_orientation)


def read_image(path: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Any:
    """uint8 (channels, height, width) of an image's file."""
    return decode_image(read_file(path), mode, apply_exif_orientation)


def decode_png(input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Any:
    """The image in a PNG file's bytes."""
    return _decoded(input, mode, apply_exif_orientation, "PNG")


def decode_jpeg(
    input: Any,
    mode: Any = ImageReadMode.UNCHANGED,
    device: Any = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    """The image in a JPEG file's bytes, or those in a list of such."""
    if isinstance(input, list):
        if not input:
            raise ValueError("Input list must contain at least one element")
        if not all(isinstance(data, torch.Tensor) for data in input):
            raise ValueError("All elements of the input list must be tensors.")
        return [decode_jpeg(data, mode, device, apply_exif_orientation) for data in input]
    found = _decoded(input, mode, apply_exif_orientation, "JPEG")
    return found if str(device) == "cpu" else found.to(device)


def decode_gif(input: Any) -> Any:
    """The frames (N, 3, H, W) of a GIF file's bytes; (3, H, W) of a single one."""
    image = pillow().open(io.BytesIO(input.cpu().numpy().tobytes()), formats=("GIF",))
    frames = []
    for k in range(image.n_frames):
        image.seek(k)
        frames.append(pil_to_tensor(image.convert("RGB")))
    return torch.stack(frames) if len(frames) > 1 else frames[0]


def decode_webp(input: Any, mode: Any = ImageReadMode.UNCHANGED) -> Any:
    """The image in a WebP file's bytes."""
    return _decoded(input, mode, False, "WEBP")


def decode_avif(input: Any, mode: Any = ImageReadMode.UNCHANGED) -> Any:
    """The image in an AVIF file's bytes, where Pillow has been built with that."""
    return _decoded(input, mode, False, "AVIF")


def decode_heic(input: Any, mode: Any = ImageReadMode.UNCHANGED) -> Any:
    """RuntimeError: Pillow alone reads no HEIC."""
    raise RuntimeError(
        "HEIC is not read by Pillow alone: open the file with the package pillow-heif and pass the image to "
        "torchvision.transforms.functional.pil_to_tensor"
    )


def _checked(input: Any) -> Any:
    """RuntimeError for what is no uint8 image of 1 or 3 channels."""
    if input.dtype is not torch.uint8:
        raise RuntimeError("Input tensor dtype should be uint8")
    if input.ndim != 3:
        raise RuntimeError("Input data should be a 3-dimensional tensor")
    if input.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {input.shape[0]}")
    return to_pil_image(input.cpu())


def _encoded(image: Any, format: str, **options: Any) -> Any:
    held = io.BytesIO()
    image.save(held, format, **options)
    return torch.from_numpy(np.frombuffer(held.getvalue(), np.uint8).copy())


def encode_png(input: Any, compression_level: int = 6) -> Any:
    """uint8 (N,): a PNG file's bytes of uint8 (1 or 3, H, W), packed at a level of 0 to 9."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return _encoded(_checked(input), "PNG", compress_level=compression_level)


def encode_jpeg(input: Any, quality: int = 75) -> Any:
    """uint8 (N,): a JPEG file's bytes of uint8 (1 or 3, H, W), or of each in a list; quality: 1 to 100."""
    if not 1 <= quality <= 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, list):
        if not input:
            raise ValueError("encode_jpeg requires at least one input tensor when a list is passed")
        return [encode_jpeg(image, quality) for image in input]
    return _encoded(_checked(input), "JPEG", quality=quality)


def write_png(input: Any, filename: Any, compression_level: int = 6) -> None:
    """Write uint8 (1 or 3, H, W) as a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Any, filename: Any, quality: int = 75) -> None:
    """Write uint8 (1 or 3, H, W) as a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))
