"""Sizes, windows, borders: the geometry of images that keeps the axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from rushlight_vision.pillow import is_image, palette_kept, pillow
from rushlight_vision.transforms.conversion import PILLOWS, InterpolationMode, get_dimensions, mode_of


def in_floats(img: Any, compute: Callable[[Any], Any]) -> Any:
    """compute(a batch of float images), in the shape, dtype and rounding of the image given."""
    batch = img.reshape(-1, *img.shape[-3:]) if img.ndim > 2 else img[None, None]
    floating = img.dtype in (torch.float32, torch.float64)
    found = compute(batch if floating else batch.float())
    if not img.is_floating_point():
        found = found.round()
        if img.dtype is torch.uint8:
            found = found.clamp(0, 255)
    shape = img.shape[:-3] + found.shape[1:] if img.ndim > 2 else found.shape[2:]
    return found.to(img.dtype).reshape(shape)


def resized(height: int, width: int, size: Any, max_size: int | None = None) -> list[int]:
    """[height, width] of the result: `size` itself, or its shorter side as one number says."""
    sides: list[int] = [size] if isinstance(size, int) else list(size)
    if len(sides) == 2:
        return sides
    short, long = sorted((height, width))
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
    img: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """The image of `size` (height, width); one number is the length of the shorter side."""
    mode, (_, height, width) = mode_of(interpolation).value, get_dimensions(img)
    new = resized(height, width, size, max_size)
    if new == [height, width]:
        return img
    if is_image(img):
        return img.resize(new[::-1], PILLOWS[mode])
    smooth = mode in ("bilinear", "bicubic")
    return in_floats(
        img,
        lambda x: F.interpolate(
            x, new, mode=mode, align_corners=False if smooth else None, antialias=bool(antialias) and smooth
        ),
    )


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A window of the image; zeros where it reaches beyond."""
    if is_image(img):
        return img.crop((left, top, left + width, top + height))
    _, h, w = get_dimensions(img)
    beyond = [max(-left, 0), max(-top, 0), max(left + width - w, 0), max(top + height - h, 0)]
    found = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    return pad(found, beyond) if any(beyond) else found


def center_crop(img: Any, output_size: Any) -> Any:
    """The window (height, width) in the middle."""
    size = pair(output_size)
    _, h, w = get_dimensions(img)
    missing = [max(size[1] - w, 0), max(size[0] - h, 0)]
    if any(missing):
        img = pad(img, [n // 2 for n in missing] + [(n + 1) // 2 for n in missing])
        _, h, w = get_dimensions(img)
    return crop(img, round((h - size[0]) / 2.0), round((w - size[1]) / 2.0), *size)


def five_crop(img: Any, size: Any) -> tuple[Any, ...]:
    """The windows (height, width) in the corners, from the top left row by row, and the one in the middle."""
    (height, width), (_, h, w) = pair(size), get_dimensions(img)
    if width > w or height > h:
        raise ValueError(f"Requested crop size {(height, width)} is bigger than input size {(h, w)}")
    corners = [crop(img, top, left, height, width) for top in (0, h - height) for left in (0, w - width)]
    return (*corners, center_crop(img, (height, width)))


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> tuple[Any, ...]:
    """`five_crop` of the image and of its mirror image."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A window, resized."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    return img.transpose(0) if is_image(img) else img.flip(-1)


def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    return img.transpose(1) if is_image(img) else img.flip(-2)


def pair(size: Any, error: str = "Please provide only two dimensions (h, w) for size.") -> tuple[Any, ...]:
    """(h, w) of a number, or of one or two of them; ValueError(error) for others."""
    size = (size,) if isinstance(size, int) else tuple(size)
    if len(size) not in (1, 2):
        raise ValueError(error)
    found: tuple[Any, ...] = size * 2 if len(size) == 1 else size
    return found


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Borders of 1, 2 (left and right, top and bottom) or 4 (left, top, right, bottom) widths."""
    widths = [padding] if isinstance(padding, int) else list(padding)
    if len(widths) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(widths)} element tuple"
        )
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    left, top, right, bottom = widths * (4 // len(widths))
    if padding_mode == "constant":
        if is_image(img):
            return pillow("ImageOps").expand(img, (left, top, right, bottom), fills(img, fill))
        fill = fill[0] if isinstance(fill, (list, tuple)) else fill
        return F.pad(img, (left, right, top, bottom), value=fill or 0)
    _, h, w = get_dimensions(img)
    mode: Any = padding_mode
    rows, columns = (
        np.pad(np.arange(n), (max(a, 0), max(b, 0)), mode)[max(-a, 0) :][: n + a + b]
        for n, a, b in ((h, top, bottom), (w, left, right))
    )
    if is_image(img):
        return palette_kept(img, np.asarray(img)[rows][:, columns])
    down, across = (torch.from_numpy(n).to(img.device) for n in (rows, columns))
    return img[..., down[:, None], across]


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


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """A tensor image with a window overwritten by v."""
    if not isinstance(img, torch.Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
