"""Sizes, windows, borders, turns: an image, and the mask, boxes and points that belong to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.nn.functional as nnF
from rushlight import Tensor
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import geometry as v1
from rushlight_vision.transforms.conversion import PILLOWS, InterpolationMode, mode_of, nearest
from rushlight_vision.transforms.v2.functional import _boxes
from rushlight_vision.transforms.v2.functional._meta import clamp_bounding_boxes, format_of
from rushlight_vision.transforms.v2.functional._utils import (
    _dispatched,
    _images,
    _on_mask,
    _register_kernel_internal,
)
from rushlight_vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask

_NEAREST, _BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR
_ABSENT = "a kernel does it"
_MODES = {mode.value: mode for mode in InterpolationMode}


def _check_interpolation(interpolation: InterpolationMode) -> InterpolationMode:
    """A mode, also from its name or from Pillow's number for it."""
    if isinstance(interpolation, str):
        if interpolation not in _MODES:
            raise ValueError(
                f"Invalid interpolation mode: '{interpolation}'. Supported string values are: {list(_MODES)}."
            )
        return _MODES[interpolation]
    if not isinstance(interpolation, (int, InterpolationMode)):
        raise ValueError(
            "Argument interpolation should be an `InterpolationMode` or a corresponding Pillow integer "
            f"constant, but got {interpolation}."
        )
    return mode_of(interpolation)


def _following(
    functional: Callable[..., Any], boxes: Callable[..., Any], points: Callable[..., Any], *ignored: str
) -> None:
    """Registers how boxes and points follow: kernels that give (numbers, canvas) from (numbers, canvas, ...).

    ignored: arguments that only pixels need.
    """

    def for_boxes(inpt: Any, **given: Any) -> Any:
        taken = {name: value for name, value in given.items() if name not in ignored}
        found, canvas = boxes(
            inpt.as_subclass(torch.Tensor), inpt.format, inpt.canvas_size, inpt.clamping_mode, **taken
        )
        return tv_tensors.wrap(found, like=inpt, canvas_size=canvas)

    def for_points(inpt: Any, **given: Any) -> Any:
        taken = {name: value for name, value in given.items() if name not in ignored}
        found, canvas = points(inpt.as_subclass(torch.Tensor), inpt.canvas_size, **taken)
        return tv_tensors.wrap(found, like=inpt, canvas_size=canvas)

    _register_kernel_internal(functional, BoundingBoxes, tv_tensor_wrapper=False)(for_boxes)
    _register_kernel_internal(functional, KeyPoints, tv_tensor_wrapper=False)(for_points)


def _masked(functional: Callable[..., Any], kernel: Callable[..., Any], *ignored: str) -> None:
    """Registers how masks follow."""

    def for_mask(mask: Any, **given: Any) -> Any:
        return kernel(mask, **{name: value for name, value in given.items() if name not in ignored})

    _register_kernel_internal(functional, Mask)(for_mask)


# --- mirror images ------------------------------------------------------------------------------


@_dispatched
def horizontal_flip(inpt: Any) -> Any:
    """Left and right exchanged."""
    raise AssertionError(_ABSENT)


@_dispatched
def vertical_flip(inpt: Any) -> Any:
    """Top and bottom exchanged."""
    raise AssertionError(_ABSENT)


@_images(horizontal_flip, v1.hflip)
def horizontal_flip_image(image: Any) -> Any:
    """A tensor (..., H, W) with left and right exchanged."""
    return image.flip(-1)


@_images(vertical_flip, v1.vflip)
def vertical_flip_image(image: Any) -> Any:
    """A tensor (..., H, W) with top and bottom exchanged."""
    return image.flip(-2)


def horizontal_flip_bounding_boxes(bounding_boxes: Any, format: Any, canvas_size: Any) -> Any:
    """Boxes of the mirror image."""
    return _boxes.flipped(bounding_boxes, format, canvas_size, across=True)


def vertical_flip_bounding_boxes(bounding_boxes: Any, format: Any, canvas_size: Any) -> Any:
    """Boxes of the image upside down."""
    return _boxes.flipped(bounding_boxes, format, canvas_size, across=False)


def _flipped_points(points: Any, at: int, last: int) -> Any:
    found = points.clone()
    found[..., at] = last - points[..., at]
    return found


def horizontal_flip_keypoints(keypoints: Any, canvas_size: Any) -> Any:
    """Points of the mirror image."""
    return _flipped_points(keypoints, 0, canvas_size[1] - 1)


def vertical_flip_keypoints(keypoints: Any, canvas_size: Any) -> Any:
    """Points of the image upside down."""
    return _flipped_points(keypoints, 1, canvas_size[0] - 1)


horizontal_flip_mask = horizontal_flip_video = horizontal_flip_image
vertical_flip_mask = vertical_flip_video = vertical_flip_image
hflip, vflip = horizontal_flip, vertical_flip
_masked(horizontal_flip, horizontal_flip_mask)
_masked(vertical_flip, vertical_flip_mask)
_following(
    horizontal_flip,
    lambda boxes, format, canvas, mode: (horizontal_flip_bounding_boxes(boxes, format, canvas), canvas),
    lambda points, canvas: (horizontal_flip_keypoints(points, canvas), canvas),
)
_following(
    vertical_flip,
    lambda boxes, format, canvas, mode: (vertical_flip_bounding_boxes(boxes, format, canvas), canvas),
    lambda points, canvas: (vertical_flip_keypoints(points, canvas), canvas),
)

# --- sizes --------------------------------------------------------------------------------------


def _new_size(canvas_size: list[int], size: list[int] | None, max_size: int | None) -> tuple[int, int]:
    """(height, width) of the result; size None: the longer side is max_size."""
    height, width = canvas_size[0], canvas_size[1]
    if size is None:
        if max_size is None:
            raise ValueError("size and max_size cannot both be None")
        short = int(max_size * min(height, width) / max(height, width))
        return (max_size, short) if width <= height else (short, max_size)
    if not isinstance(size, int) and max_size is not None and len(size) != 1:
        raise ValueError(
            "max_size should only be passed if size is None or specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1 in torchscript mode."
        )
    new = v1.resized(height, width, size, max_size)
    return new[0], new[1]


@_dispatched
def resize(
    inpt: Any,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """`size`: (height, width), the length of the shorter side, or None: the longer one is max_size."""
    raise AssertionError(_ABSENT)


def _resize_pil(
    image: Any, size: Any, interpolation: Any = _BILINEAR, max_size: int | None = None, antialias: Any = True
) -> Any:
    if antialias is False:
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.",
            stacklevel=2,
        )
    new = _new_size([image.height, image.width], size, max_size)
    if new == (image.height, image.width):
        return image
    return image.resize(new[::-1], PILLOWS[_check_interpolation(interpolation).value])


@_images(resize, _resize_pil)
def resize_image(
    image: Tensor,
    size: list[int] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Tensor:
    """A tensor (..., C, H, W) at another size."""
    mode = _check_interpolation(interpolation).value
    smooth = mode in ["bilinear", "bicubic", "lanczos"]
    sharp = antialias is not None and antialias
    if mode == "lanczos" and not sharp:
        raise ValueError("InterpolationMode.LANCZOS requires antialias=True")
    height, width = _new_size([image.shape[-2], image.shape[-1]], size, max_size)
    shape = list(image.shape)
    if shape[-2] == height and shape[-1] == width:
        return image
    shape[-2], shape[-1] = height, width
    if image.numel() == 0:
        return image.reshape(shape)
    batch = image.reshape([-1, image.shape[-3], image.shape[-2], image.shape[-1]])
    taken = image.dtype in [torch.float32, torch.float64]
    if image.dtype == torch.uint8:  # bytes as they are: the CPU's kernels, and those that only pick
        taken = image.device.type == "cpu" or not smooth
    found = nnF.interpolate(
        batch if taken else batch.float(),
        (height, width),
        mode=mode,
        align_corners=False if smooth else None,
        antialias=sharp and smooth,
    )
    if not taken:
        if image.dtype == torch.uint8:
            found = found.clamp_(0, 255)
        found = (found if image.is_floating_point() else found.round_()).to(image.dtype)
    return found.reshape(shape)


@_on_mask
def resize_mask(
    mask: Any, size: Any, interpolation: Any = InterpolationMode.NEAREST, max_size: int | None = None
) -> Any:
    """A mask (..., H, W) at another size, by its nearest pixels."""
    mode = _check_interpolation(interpolation)
    exact = mode is InterpolationMode.NEAREST_EXACT
    return resize_image(mask, size, mode if exact else _NEAREST, max_size)


def resize_keypoints(
    keypoints: Any, size: Any, canvas_size: Any, max_size: int | None = None
) -> tuple[Any, Any]:
    """(points, canvas) at another size."""
    new = _new_size(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return keypoints, canvas_size
    ratios = torch.tensor([new[1] / canvas_size[1], new[0] / canvas_size[0]], device=keypoints.device)
    return keypoints.mul(ratios).to(keypoints.dtype), new


def resize_bounding_boxes(
    bounding_boxes: Any,
    canvas_size: Any,
    size: Any,
    max_size: int | None = None,
    format: Any = BoundingBoxFormat.XYXY,
    clamping_mode: str | None = "soft",
) -> tuple[Any, Any]:
    """(boxes, canvas) at another size."""
    new = _new_size(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return bounding_boxes, canvas_size
    ratios = torch.tensor([new[1] / canvas_size[1], new[0] / canvas_size[0]], device=bounding_boxes.device)
    if tv_tensors.is_rotated_bounding_format(format):
        found = _boxes.by_corners(bounding_boxes, format, new, clamping_mode, lambda points: points * ratios)
    else:
        found = bounding_boxes.mul(ratios.repeat(2))
    return found.to(bounding_boxes.dtype), new


resize_video = resize_image
_masked(resize, resize_mask, "antialias")
_following(
    resize,
    lambda boxes, format, canvas, mode, size, max_size=None: resize_bounding_boxes(
        boxes, canvas, size, max_size, format, mode
    ),
    lambda points, canvas, size, max_size=None: resize_keypoints(points, size, canvas, max_size),
    "antialias",
    "interpolation",
)

# --- windows ------------------------------------------------------------------------------------


@_dispatched
def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """A window; zeros where it reaches beyond."""
    raise AssertionError(_ABSENT)


@_images(crop, v1.crop)
def crop_image(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A window of a tensor (..., H, W)."""
    h, w = image.shape[-2:]
    right, bottom = left + width, top + height
    if left >= 0 and top >= 0 and right <= w and bottom <= h:
        return image[..., top:bottom, left:right]
    inside = image[..., max(top, 0) : bottom, max(left, 0) : right]
    beyond = [
        max(min(right, 0) - left, 0),
        max(right - max(w, left), 0),
        max(min(bottom, 0) - top, 0),
        max(bottom - max(h, top), 0),
    ]
    return nnF.pad(inside, beyond)


crop_mask = _on_mask(crop_image)


def crop_keypoints(keypoints: Any, top: int, left: int, height: int, width: int) -> tuple[Any, Any]:
    """(points, canvas) of the window."""
    corner = torch.tensor([left, top], dtype=keypoints.dtype, device=keypoints.device)
    return keypoints - corner, (height, width)


def crop_bounding_boxes(
    bounding_boxes: Any,
    format: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    clamping_mode: str | None = "soft",
) -> tuple[Any, Any]:
    """(boxes, canvas) of the window."""
    found = _boxes.shifted(bounding_boxes, format, -left, -top)
    if format_of(format) is BoundingBoxFormat.XYXYXYXY:
        found = _boxes.straightened(found)
    return clamp_bounding_boxes(found, format, (height, width), clamping_mode), (height, width)


crop_video = crop_image
_masked(crop, crop_mask)
_following(
    crop,
    lambda boxes, format, canvas, mode, **window: crop_bounding_boxes(
        boxes, format, **window, clamping_mode=mode
    ),
    lambda points, canvas, **window: crop_keypoints(points, **window),
)


@_dispatched
def center_crop(inpt: Any, output_size: Any) -> Any:
    """The window (height, width) in the middle."""
    raise AssertionError(_ABSENT)


def _central(canvas_size: list[int], output_size: list[int]) -> tuple[int, int, int, int]:
    """(top, left, height, width) of the middle."""
    if isinstance(output_size, (int, float)):
        height = width = int(output_size)
    else:
        sides = v1.sides_of(output_size)
        height, width = int(sides[0]), int(sides[1])
    top = nearest((canvas_size[0] - height) / 2.0)
    left = nearest((canvas_size[1] - width) / 2.0)
    return top, left, height, width


@_images(center_crop, v1.center_crop)
def center_crop_image(image: Tensor, output_size: list[int]) -> Tensor:
    """The middle of a tensor (..., H, W), with zeros where it is smaller."""
    _, _, height, width = _central([image.shape[-2], image.shape[-1]], output_size)
    if image.numel() == 0:
        shape = list(image.shape)
        shape[-2], shape[-1] = height, width
        return image.reshape(shape)
    x, y = max(width - image.shape[-1], 0), max(height - image.shape[-2], 0)
    if x > 0 or y > 0:
        image = nnF.pad(image, [x // 2, (x + 1) // 2, y // 2, (y + 1) // 2])
    top, left, height, width = _central([image.shape[-2], image.shape[-1]], [height, width])
    found: Tensor = crop_image(image, top, left, height, width)
    return found


center_crop_mask = _on_mask(center_crop_image)


def center_crop_keypoints(inpt: Any, canvas_size: Any, output_size: Any) -> tuple[Any, Any]:
    """(points, canvas) of the middle."""
    return crop_keypoints(inpt, *_central(canvas_size, output_size))


def center_crop_bounding_boxes(
    bounding_boxes: Any, format: Any, canvas_size: Any, output_size: Any, clamping_mode: str | None = "soft"
) -> tuple[Any, Any]:
    """(boxes, canvas) of the middle."""
    window = _central(canvas_size, output_size)
    return crop_bounding_boxes(bounding_boxes, format, *window, clamping_mode=clamping_mode)


center_crop_video = center_crop_image
_masked(center_crop, center_crop_mask)
_following(
    center_crop,
    lambda boxes, format, canvas, mode, output_size: center_crop_bounding_boxes(
        boxes, format, canvas, output_size, mode
    ),
    lambda points, canvas, output_size: center_crop_keypoints(points, canvas, output_size),
)


@_dispatched
def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A window, resized."""
    raise AssertionError(_ABSENT)


def _resized_crop_pil(
    image: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = _BILINEAR,
    antialias: Any = True,
) -> Any:
    return _resize_pil(v1.crop(image, top, left, height, width), size, interpolation, antialias=antialias)


@_images(resized_crop, _resized_crop_pil)
def resized_crop_image(
    image: Tensor,
    top: int,
    left: int,
    height: int,
    width: int,
    size: list[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Tensor:
    """A window of a tensor (..., C, H, W), resized."""
    window = crop_image(image, top, left, height, width)
    found: Tensor = resize_image(window, size, interpolation, antialias=antialias)
    return found


def resized_crop_mask(mask: Any, top: int, left: int, height: int, width: int, size: Any) -> Any:
    """A window of a mask, resized."""
    return resize_mask(crop_mask(mask, top, left, height, width), size)


def resized_crop_keypoints(
    keypoints: Any, top: int, left: int, height: int, width: int, size: Any
) -> tuple[Any, Any]:
    """(points, canvas) of a window, resized."""
    found, canvas = crop_keypoints(keypoints, top, left, height, width)
    return resize_keypoints(found, size, canvas)


def resized_crop_bounding_boxes(
    bounding_boxes: Any,
    format: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    clamping_mode: str | None = "soft",
) -> tuple[Any, Any]:
    """(boxes, canvas) of a window, resized."""
    found, canvas = crop_bounding_boxes(bounding_boxes, format, top, left, height, width, clamping_mode)
    return resize_bounding_boxes(found, canvas, size, format=format, clamping_mode=clamping_mode)


resized_crop_video = resized_crop_image
_masked(resized_crop, resized_crop_mask, "interpolation", "antialias")
_following(
    resized_crop,
    lambda boxes, format, canvas, mode, **window: resized_crop_bounding_boxes(
        boxes, format, **window, clamping_mode=mode
    ),
    lambda points, canvas, **window: resized_crop_keypoints(points, **window),
    "interpolation",
    "antialias",
)


@_dispatched
def five_crop(inpt: Any, size: Any) -> Any:
    """The windows (height, width) in the corners, row by row, and the one in the middle."""
    raise AssertionError(_ABSENT)


@_dispatched
def ten_crop(inpt: Any, size: Any, vertical_flip: bool = False) -> Any:
    """`five_crop` of the image and of its mirror image."""
    raise AssertionError(_ABSENT)


five_crop_image = five_crop_video = _images(five_crop, v1.five_crop)(v1.five_crop)
ten_crop_image = ten_crop_video = _images(ten_crop, v1.ten_crop)(v1.ten_crop)

# --- borders ------------------------------------------------------------------------------------


@_dispatched
def pad(inpt: Any, padding: Any, fill: Any = None, padding_mode: str = "constant") -> Any:
    """Borders of 1, 2 (left and right, top and bottom) or 4 (left, top, right, bottom) widths."""
    raise AssertionError(_ABSENT)


def _parse_pad_padding(padding: list[int]) -> list[int]:
    """[left, right, top, bottom]."""
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError(f"`padding` should be an integer or tuple or list of integers, but got {padding}")
    widths = [padding] if isinstance(padding, int) else list(padding)
    if len(widths) not in [1, 2, 4]:
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple or list. Found {len(widths)}")
    left, top, right, bottom = widths * (4 // len(widths))
    return [left, right, top, bottom]


@_images(pad, v1.pad)
def pad_image(
    image: Tensor, padding: list[int], fill: list[float] | None = None, padding_mode: str = "constant"
) -> Tensor:
    """A tensor (..., C, H, W) with borders; fill: a number, or one for each channel."""
    left, right, top, bottom = _parse_pad_padding(padding)
    if padding_mode not in ["constant", "edge", "reflect", "symmetric"]:
        raise ValueError(
            "`padding_mode` should be either `'constant'`, `'edge'`, `'reflect'` or `'symmetric'`, "
            f"but got `'{padding_mode}'`."
        )
    fills = [0.0]
    if fill is not None:
        fills = [float(fill)] if isinstance(fill, (int, float)) else [float(f) for f in fill]
    if len(fills) == 1:
        return v1.pad(image, [left, top, right, bottom], fills[0], padding_mode)
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
    found = nnF.pad(image, [left, right, top, bottom])
    colour = torch.tensor(fills).to(image.dtype).reshape(-1, 1, 1)
    h, w = found.shape[-2], found.shape[-1]
    found[..., : max(top, 0), :] = colour
    found[..., : max(left, 0)] = colour
    found[..., h - max(bottom, 0) :, :] = colour
    found[..., w - max(right, 0) :] = colour
    return found


def pad_mask(mask: Any, padding: Any, fill: Any = None, padding_mode: str = "constant") -> Any:
    """A mask with borders."""
    if isinstance(fill, (tuple, list)):
        raise ValueError("Non-scalar fill value is not supported")
    return _on_mask(pad_image)(mask, padding, fill, padding_mode)


def pad_keypoints(
    keypoints: Any, canvas_size: Any, padding: Any, padding_mode: str = "constant"
) -> tuple[Any, Any]:
    """(points, canvas) within the borders."""
    if padding_mode != "constant":
        raise ValueError(
            f"Padding mode '{padding_mode}' is not supported with KeyPoints (supported modes are constant)"
        )
    left, right, top, bottom = _parse_pad_padding(padding)
    canvas = (canvas_size[0] + top + bottom, canvas_size[1] + left + right)
    return keypoints + torch.tensor([left, top], dtype=keypoints.dtype, device=keypoints.device), canvas


def pad_bounding_boxes(
    bounding_boxes: Any,
    format: Any,
    canvas_size: Any,
    padding: Any,
    padding_mode: str = "constant",
    clamping_mode: str | None = "soft",
) -> tuple[Any, Any]:
    """(boxes, canvas) within the borders."""
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
    left, right, top, bottom = _parse_pad_padding(padding)
    canvas = (canvas_size[0] + top + bottom, canvas_size[1] + left + right)
    found = _boxes.shifted(bounding_boxes, format, left, top)
    return clamp_bounding_boxes(found, format, canvas, clamping_mode), canvas


pad_video = pad_image
_masked(pad, pad_mask)
_following(
    pad,
    lambda boxes, format, canvas, mode, padding, padding_mode="constant": pad_bounding_boxes(
        boxes, format, canvas, padding, padding_mode, mode
    ),
    lambda points, canvas, **border: pad_keypoints(points, canvas, **border),
    "fill",
)
