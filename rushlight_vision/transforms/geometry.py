"""Sizes, windows, borders: the geometry of images that keeps the axes."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor
from rushlight_vision.pillow import checked_image, palette_kept, pillow
from rushlight_vision.transforms.conversion import (
    PILLOWS,
    InterpolationMode,
    get_dimensions,
    mode_of,
    nearest,
)


def batch_of(img: Tensor) -> Tensor:
    """The batch (N, C, H, W) of floats that an image is computed as."""
    batch = (
        img.reshape([-1, img.shape[-3], img.shape[-2], img.shape[-1]]) if img.ndim > 2 else img[None, None]
    )
    return batch if img.dtype in [torch.float32, torch.float64] else batch.float()


def image_like(img: Tensor, found: Tensor) -> Tensor:
    """What was computed of `batch_of` an image, in the dims, dtype and rounding of that image."""
    if not img.is_floating_point():
        found = found.round()
        if img.dtype == torch.uint8:
            found = found.clamp(0, 255)
    shape = img.shape[:-3] + found.shape[1:] if img.ndim > 2 else found.shape[2:]
    return found.to(img.dtype).reshape(shape)


def resized(height: int, width: int, size: list[int], max_size: int | None = None) -> list[int]:
    """[height, width] of the result: `size` itself, or its shorter side as one number says."""
    sides = [size] if isinstance(size, int) else list(size)
    if len(sides) == 2:
        return sides
    short, long = min(height, width), max(height, width)
    new_short, new_long = sides[0], int(sides[0] * long / short)
    if max_size is not None:
        if max_size <= sides[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for "
                f"the smaller edge size = {sides}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return [new_long, new_short] if width <= height else [new_short, new_long]


def resize(
    img: Tensor,
    size: list[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Tensor:
    """The image of `size` (height, width); one number is the length of the shorter side."""
    mode = mode_of(interpolation).value
    _, height, width = get_dimensions(img)
    new = resized(height, width, size, max_size)
    if new == [height, width]:
        return img
    if not isinstance(img, Tensor):
        return img.resize(new[::-1], PILLOWS[mode])
    smooth = mode in ["bilinear", "bicubic"]
    found = F.interpolate(
        batch_of(img),
        new,
        mode=mode,
        align_corners=False if smooth else None,
        antialias=smooth and antialias is not None and antialias,
    )
    return image_like(img, found)


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A window of the image; zeros where it reaches beyond."""
    if not isinstance(img, Tensor):
        return checked_image(img).crop((left, top, left + width, top + height))
    _, h, w = get_dimensions(img)
    beyond = [max(-left, 0), max(-top, 0), max(left + width - w, 0), max(top + height - h, 0)]
    found = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    return pad(found, beyond) if max(beyond) > 0 else found


def center_crop(img: Tensor, output_size: list[int]) -> Tensor:
    """The window (height, width) in the middle."""
    size = sides_of(output_size)
    _, h, w = get_dimensions(img)
    across, down = max(size[1] - w, 0), max(size[0] - h, 0)
    if across > 0 or down > 0:
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        _, h, w = get_dimensions(img)
    return crop(img, nearest((h - size[0]) / 2.0), nearest((w - size[1]) / 2.0), size[0], size[1])


def five_crop(img: Tensor, size: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The windows (height, width) in the corners, from the top left row by row, and the one in the middle."""
    height, width = sides_of(size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        raise ValueError(f"Requested crop size {(height, width)} is bigger than input size {(h, w)}")
    return (
        crop(img, 0, 0, height, width),
        crop(img, 0, w - width, height, width),
        crop(img, h - height, 0, height, width),
        crop(img, h - height, w - width, height, width),
        center_crop(img, [height, width]),
    )


Ten = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def ten_crop(img: Tensor, size: list[int], vertical_flip: bool = False) -> Ten:
    """`five_crop` of the image and of its mirror image."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def resized_crop(
    img: Tensor,
    top: int,
    left: int,
    height: int,
    width: int,
    size: list[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Tensor:
    """A window, resized."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Tensor) -> Tensor:
    """Left and right exchanged."""
    if not isinstance(img, Tensor):
        return checked_image(img).transpose(0)
    return img.flip(-1)


def vflip(img: Tensor) -> Tensor:
    """Top and bottom exchanged."""
    if not isinstance(img, Tensor):
        return checked_image(img).transpose(1)
    return img.flip(-2)


def pair(size: Any, error: str = "Please provide only two dimensions (h, w) for size.") -> tuple[Any, ...]:
    """(h, w) of a number, or of one or two of them; ValueError(error) for others."""
    size = (size,) if isinstance(size, int) else tuple(size)
    if len(size) not in (1, 2):
        raise ValueError(error)
    found: tuple[Any, ...] = size * 2 if len(size) == 1 else size
    return found


def sides_of(size: list[int]) -> list[int]:
    """[h, w] as `pair` finds them, in words that scripts have."""
    if isinstance(size, int):
        return [size, size]
    if len(size) not in [1, 2]:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return [size[0], size[-1]]


def borders(padding: list[int]) -> list[int]:
    """[left, top, right, bottom] of 1, 2 (left and right, top and bottom) or 4 widths."""
    if isinstance(padding, int):
        return [padding, padding, padding, padding]
    if len(padding) not in [1, 2, 4]:
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
        )
    return list(padding) * (4 // len(padding))


def places_beyond(n: int, before: int, after: int, mode: str) -> Tensor:
    """Which of n rows stands in each row of the result, with rows beyond the first and the last."""
    at = torch.arange(-before, n + after)
    if mode == "edge":
        return at.clamp(0, n - 1)
    period = 2 * n - 1 if mode == "symmetric" else max(2 * n - 2, 1)
    at = at % (2 * n) if mode == "symmetric" else at % period
    return torch.minimum(at, period - at)


def pad(img: Tensor, padding: list[int], fill: int | float = 0, padding_mode: str = "constant") -> Tensor:
    """Borders of 1, 2 (left and right, top and bottom) or 4 (left, top, right, bottom) widths."""
    left, top, right, bottom = borders(padding)
    if padding_mode not in ["constant", "edge", "reflect", "symmetric"]:
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    _, h, w = get_dimensions(img)
    if padding_mode == "constant":
        if not isinstance(img, Tensor):
            return pillow("ImageOps").expand(img, (left, top, right, bottom), fills(img, fill))
        return F.pad(img, [left, right, top, bottom], value=one_fill(fill))
    down = places_beyond(h, top, bottom, padding_mode)
    across = places_beyond(w, left, right, padding_mode)
    if not isinstance(img, Tensor):
        return palette_kept(img, np.asarray(img)[down.numpy()][:, across.numpy()])
    return img.index_select(-2, down.to(img.device)).index_select(-1, across.to(img.device))


def one_fill(fill: int | float) -> float | None:
    """The number that a border of a tensor is filled with; None for 0, which costs less."""
    if isinstance(fill, (list, tuple)):
        fill = fill[0]
    return float(fill) if fill is not None and fill != 0 else None


def fills(img: Any, fill: Any) -> Any:
    """The colour that Pillow wants for an image: one number for each band."""
    bands = len(img.getbands())
    fill = 0 if fill is None else fill
    if isinstance(fill, (list, tuple)):
        if len(fill) not in (1, bands):
            raise ValueError(
                "The number of elements in 'fill' does not match the number of channels of the "
                f"image ({len(fill)} != {bands})"
            )
        fill = tuple(fill) * (bands // len(fill))
    else:
        fill = (fill,) * bands
    fill = tuple(fill if img.mode == "F" else map(int, fill))
    return fill if bands > 1 else fill[0]


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """A tensor image with a window overwritten by v."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
