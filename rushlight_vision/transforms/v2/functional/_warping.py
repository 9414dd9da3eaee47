"""Turns, shears, changes of perspective, elastic displacements: of images and of what belongs to them."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as nnF
from rushlight import Tensor
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import tones, warping as v1
from rushlight_vision.transforms.conversion import InterpolationMode
from rushlight_vision.transforms.v2.functional import _boxes
from rushlight_vision.transforms.v2.functional._geometry import _check_interpolation, _following, _masked
from rushlight_vision.transforms.v2.functional._meta import (
    _convert_bounding_box_format,
    clamp_bounding_boxes,
    format_of,
)
from rushlight_vision.transforms.v2.functional._utils import _dispatched, _images, _on_mask

_NEAREST = InterpolationMode.NEAREST
_ABSENT = "a kernel does it"


def _batch(image: Tensor) -> Tensor:
    """The batch (N, C, H, W) of floats that an image is computed as."""
    batch = image.reshape([-1, image.shape[-3], image.shape[-2], image.shape[-1]])
    return batch if image.is_floating_point() else batch.float()


def _read(
    image: Tensor, batch: Tensor, grid: Tensor, interpolation: InterpolationMode, fill: list[float] | None
) -> Tensor:
    """A tensor (..., C, H, W) of that batch read at places (1, h, w, 2), with `fill` beyond it."""
    mode = _check_interpolation(interpolation).value
    if mode not in ["nearest", "bilinear"]:
        raise ValueError(f"Interpolation mode '{mode}' is unsupported with Tensor input")
    shape = list(image.shape)
    shape[-2], shape[-1] = grid.shape[1], grid.shape[2]
    if image.numel() == 0:
        return image.reshape(shape)
    both = batch if fill is None else torch.cat((batch, torch.ones_like(batch[:, :1])), 1)
    places = grid.expand([len(batch), -1, -1, -1])
    found = nnF.grid_sample(both, places, mode=mode, padding_mode="zeros", align_corners=False)
    if fill is not None:
        inside = found[:, -1:]
        found = found[:, :-1]
        colour = v1.colours(fill, found)
        if colour.shape[1] not in [1, image.shape[-3]]:
            raise ValueError(
                "The number of elements in 'fill' cannot broadcast to match the number of channels of the "
                f"image ({colour.shape[1]} != {image.shape[-3]})"
            )
        nearest = mode == "nearest"
        found = torch.where(inside < 0.5, colour, found) if nearest else (found - colour) * inside + colour
    found = found if image.is_floating_point() else found.round_().to(image.dtype)
    return found.reshape(shape)


# --- affine maps --------------------------------------------------------------------------------


def _shears(
    angle: float, translate: list[float], scale: float, shear: list[float], center: list[float] | None
) -> list[float]:
    """The two shears; TypeError or ValueError for arguments that are none of an affine map."""
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, (int, float, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    found = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
    found = found * 2 if len(found) == 1 else found
    if len(found) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {found}")
    return found


@_dispatched
def affine(
    inpt: Any,
    angle: float,
    translate: list[float],
    scale: float,
    shear: Any,
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Any = None,
) -> Any:
    """Turned clockwise by `angle` degrees about the centre, scaled, sheared and shifted in pixels."""
    raise AssertionError(_ABSENT)


def _affine_pil(image: Any, angle: Any, translate: Any, scale: float, shear: Any, **how: Any) -> Any:
    shears = _shears(angle, translate, scale, shear, how.get("center"))
    mode = _check_interpolation(how.pop("interpolation", _NEAREST))
    return v1.affine(image, angle, translate, scale, shears, mode, **how)


@_images(affine, _affine_pil)
def affine_image(
    image: Tensor,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: list[float] | None = None,
    center: list[float] | None = None,
) -> Tensor:
    """A tensor (..., C, H, W), turned, scaled, sheared and shifted."""
    shears = _shears(angle, translate, scale, shear, center)
    h, w = image.shape[-2], image.shape[-1]
    matrix = v1.inverse_matrix(v1.from_middle(image, center), angle, translate, scale, shears)
    batch = _batch(image)
    return _read(image, batch, v1.affine_places(batch, matrix, w, h), interpolation, fill)


@_on_mask
def affine_mask(
    mask: Any,
    angle: float,
    translate: list[float],
    scale: float,
    shear: Any,
    fill: Any = None,
    center: Any = None,
) -> Any:
    """A mask (..., H, W), turned, scaled, sheared and shifted."""
    return affine_image(mask, angle, translate, scale, shear, _NEAREST, fill, center)


def _boxes_affine(
    boxes: Any, format: Any, canvas: Any, mode: Any, *how: Any, center: Any, expand: bool = False
) -> tuple[Any, Any]:
    if boxes.numel() == 0:
        return boxes, canvas
    angle, translate, scale, shear = how
    shears = _shears(angle, translate, scale, shear, center)
    moved, new = _boxes.affine_map(canvas, angle, translate, scale, shears, center, expand)
    exact = boxes if boxes.is_floating_point() else boxes.float()
    return _boxes.by_corners(exact, format, new, mode, moved).to(boxes.dtype), new


def _points_affine(points: Any, canvas: Any, *how: Any, center: Any, expand: bool = False) -> tuple[Any, Any]:
    if points.numel() == 0:
        return points, canvas
    angle, translate, scale, shear = how
    shears = _shears(angle, translate, scale, shear, center)
    moved, new = _boxes.affine_map(canvas, angle, translate, scale, shears, center, expand)
    exact = points if points.is_floating_point() else points.float()
    return moved(exact.reshape(-1, 2)).reshape(points.shape).to(points.dtype), new


def affine_bounding_boxes(
    bounding_boxes: Any,
    format: Any,
    canvas_size: Any,
    angle: float,
    translate: list[float],
    scale: float,
    shear: Any,
    center: Any = None,
    clamping_mode: str | None = "soft",
) -> Any:
    """Boxes, turned, scaled, sheared and shifted: those around the new corners."""
    how = (angle, translate, scale, shear)
    return _boxes_affine(bounding_boxes, format, canvas_size, clamping_mode, *how, center=center)[0]


def affine_keypoints(
    keypoints: Any,
    canvas_size: Any,
    angle: float,
    translate: list[float],
    scale: float,
    shear: Any,
    center: Any = None,
) -> tuple[Any, Any]:
    """(points, canvas), turned, scaled, sheared and shifted."""
    return _points_affine(keypoints, canvas_size, angle, translate, scale, shear, center=center)


affine_video = affine_image
_masked(affine, affine_mask, "interpolation")
_following(
    affine,
    lambda boxes, format, canvas, mode, angle, translate, scale, shear, center=None: _boxes_affine(
        boxes, format, canvas, mode, angle, translate, scale, shear, center=center
    ),
    lambda points, canvas, **how: affine_keypoints(points, canvas, **how),
    "interpolation",
    "fill",
)


@_dispatched
def rotate(
    inpt: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """Turned counter-clockwise by `angle` degrees; expand: as large as the result needs."""
    raise AssertionError(_ABSENT)


def _rotate_pil(image: Any, angle: float, interpolation: Any = _NEAREST, **how: Any) -> Any:
    return v1.rotate(image, angle, _check_interpolation(interpolation), **how)


@_images(rotate, _rotate_pil)
def rotate_image(
    image: Tensor,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: list[float] | None = None,
    fill: list[float] | None = None,
) -> Tensor:
    """A tensor (..., C, H, W), turned; by whole quarters exactly."""
    angle = angle % 360
    h, w = image.shape[-2], image.shape[-1]
    if center is None:
        if angle == 0:
            return image.clone()
        if angle == 180 or ((angle == 90 or angle == 270) and (expand or h == w)):
            return torch.rot90(image, int(angle) // 90, [-2, -1])
    matrix = v1.inverse_matrix(v1.from_middle(image, center), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    wide, tall = v1.extent(matrix, w, h) if expand else (w, h)
    batch = _batch(image)
    return _read(image, batch, v1.affine_places(batch, matrix, wide, tall), interpolation, fill)


@_on_mask
def rotate_mask(mask: Any, angle: float, expand: bool = False, center: Any = None, fill: Any = None) -> Any:
    """A mask (..., H, W), turned."""
    return rotate_image(mask, angle, _NEAREST, expand, center, fill)


def rotate_bounding_boxes(
    bounding_boxes: Any,
    format: Any,
    canvas_size: Any,
    angle: float,
    expand: bool = False,
    center: Any = None,
    clamping_mode: str | None = "soft",
) -> tuple[Any, Any]:
    """(boxes, canvas), turned."""
    how = (-angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return _boxes_affine(
        bounding_boxes, format, canvas_size, clamping_mode, *how, center=center, expand=expand
    )


def rotate_keypoints(
    keypoints: Any, canvas_size: Any, angle: float, expand: bool = False, center: Any = None
) -> tuple[Any, Any]:
    """(points, canvas), turned."""
    how = (-angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return _points_affine(keypoints, canvas_size, *how, center=center, expand=expand)


rotate_video = rotate_image
_masked(rotate, rotate_mask, "interpolation")
_following(
    rotate,
    lambda boxes, format, canvas, mode, **how: rotate_bounding_boxes(
        boxes, format, canvas, **how, clamping_mode=mode
    ),
    lambda points, canvas, **how: rotate_keypoints(points, canvas, **how),
    "interpolation",
    "fill",
)

# --- perspective --------------------------------------------------------------------------------


@_dispatched
def perspective(
    inpt: Any,
    startpoints: Any,
    endpoints: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
    coefficients: Any = None,
) -> Any:
    """Seen from elsewhere: four corners (x, y) come to others; or by the eight coefficients of that."""
    raise AssertionError(_ABSENT)


def _coefficients(
    startpoints: list[list[int]] | None, endpoints: list[list[int]] | None, coefficients: list[float] | None
) -> list[float]:
    if coefficients is None:
        if startpoints is None or endpoints is None:
            raise ValueError(
                "Either the startpoints/endpoints or the coefficients must have non `None` values."
            )
        return v1.perspective_coefficients(startpoints, endpoints)
    if startpoints is not None and endpoints is not None:
        raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined concurrently.")
    if len(coefficients) != 8:
        raise ValueError("Argument coefficients should have 8 float values")
    return coefficients


def _perspective_pil(
    image: Any,
    startpoints: Any,
    endpoints: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
    coefficients: Any = None,
) -> Any:
    matrix = _coefficients(startpoints, endpoints, coefficients)
    return v1.perspective_of_image(image, matrix, _check_interpolation(interpolation), fill)


@_images(perspective, _perspective_pil)
def perspective_image(
    image: Tensor,
    startpoints: list[list[int]] | None,
    endpoints: list[list[int]] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: list[float] | None = None,
    coefficients: list[float] | None = None,
) -> Tensor:
    """A tensor (..., C, H, W), seen from elsewhere."""
    matrix = _coefficients(startpoints, endpoints, coefficients)
    batch = _batch(image)
    return _read(image, batch, v1.perspective_places(batch, matrix), interpolation, fill)


@_on_mask
def perspective_mask(
    mask: Any, startpoints: Any, endpoints: Any, fill: Any = None, coefficients: Any = None
) -> Any:
    """A mask (..., H, W), seen from elsewhere."""
    return perspective_image(mask, startpoints, endpoints, _NEAREST, fill, coefficients)


def perspective_bounding_boxes(
    bounding_boxes: Any,
    format: Any,
    canvas_size: Any,
    startpoints: Any,
    endpoints: Any,
    coefficients: Any = None,
    clamping_mode: str | None = "soft",
) -> Any:
    """Boxes seen from elsewhere: those around the new corners."""
    if bounding_boxes.numel() == 0:
        return bounding_boxes
    moved = _boxes.perspective_map(_coefficients(startpoints, endpoints, coefficients))
    found = _boxes.by_corners(bounding_boxes, format, canvas_size, clamping_mode, moved)
    return found.to(bounding_boxes.dtype)


def perspective_keypoints(
    keypoints: Any, canvas_size: Any, startpoints: Any, endpoints: Any, coefficients: Any = None
) -> Any:
    """Points seen from elsewhere."""
    if keypoints.numel() == 0:
        return keypoints
    moved = _boxes.perspective_map(_coefficients(startpoints, endpoints, coefficients))
    return moved(keypoints.reshape(-1, 2)).to(keypoints.dtype).reshape(keypoints.shape)


perspective_video = perspective_image
_masked(perspective, perspective_mask, "interpolation")
_following(
    perspective,
    lambda boxes, format, canvas, mode, **how: (
        perspective_bounding_boxes(boxes, format, canvas, **how, clamping_mode=mode),
        canvas,
    ),
    lambda points, canvas, **how: (perspective_keypoints(points, canvas, **how), canvas),
    "interpolation",
    "fill",
)

# --- elastic displacements ----------------------------------------------------------------------


@_dispatched
def elastic(
    inpt: Any, displacement: Any, interpolation: Any = InterpolationMode.BILINEAR, fill: Any = None
) -> Any:
    """Read at places moved by `displacement` (1, H, W, 2), in halves of the image's sides."""
    raise AssertionError(_ABSENT)


def _check_displacement(displacement: Tensor, h: int, w: int) -> None:
    if not isinstance(displacement, torch.Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    if list(displacement.shape) != [1, h, w, 2]:
        raise ValueError(
            f"Argument displacement shape should be {(1, h, w, 2)}, but given {displacement.shape}"
        )


def _elastic_pil(image: Any, **how: Any) -> Any:
    return tones.on_tensor(image, lambda x: elastic_image(x, **how))


@_images(elastic, _elastic_pil)
def elastic_image(
    image: Tensor,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: list[float] | None = None,
) -> Tensor:
    """A tensor (..., C, H, W), displaced."""
    h, w = image.shape[-2], image.shape[-1]
    _check_displacement(displacement, h, w)
    batch = _batch(image)
    return _read(image, batch, v1.same_places(h, w, batch) + displacement.to(batch), interpolation, fill)


@_on_mask
def elastic_mask(mask: Any, displacement: Any, fill: Any = None) -> Any:
    """A mask (..., H, W), displaced."""
    return elastic_image(mask, displacement, _NEAREST, fill)


def elastic_keypoints(keypoints: Any, canvas_size: Any, displacement: Any) -> Any:
    """Points, displaced as their pixels are."""
    _check_displacement(displacement, *canvas_size)
    if keypoints.numel() == 0:
        return keypoints
    moved = _boxes.elastic_map(canvas_size, displacement)
    return moved(keypoints.reshape(-1, 2)).to(keypoints.dtype).reshape(keypoints.shape)


def elastic_bounding_boxes(
    bounding_boxes: Any, format: Any, canvas_size: Any, displacement: Any, clamping_mode: str | None = "soft"
) -> Any:
    """Boxes, displaced as the pixels of their corners are (turned ones: of their middles)."""
    _check_displacement(displacement, *canvas_size)
    if bounding_boxes.numel() == 0:
        return bounding_boxes
    moved = _boxes.elastic_map(canvas_size, displacement)
    dtype, known = bounding_boxes.dtype, format_of(format)

    def by_pixels(points: Any) -> Any:
        return moved(points.ceil() if points.is_floating_point() else points).to(dtype)

    if not tv_tensors.is_rotated_bounding_format(known):
        return _boxes.by_corners(bounding_boxes, known, canvas_size, clamping_mode, by_pixels)
    between = tv_tensors.BoundingBoxFormat.CXCYWHR
    middles = _convert_bounding_box_format(bounding_boxes, known, between).reshape(-1, 5)
    found = torch.cat([by_pixels(middles[:, :2]), middles[:, 2:]], 1)
    found = clamp_bounding_boxes(found, between, canvas_size, clamping_mode)
    return _convert_bounding_box_format(found, between, known).reshape(bounding_boxes.shape)


elastic_video, elastic_transform = elastic_image, elastic
_masked(elastic, elastic_mask, "interpolation")
_following(
    elastic,
    lambda boxes, format, canvas, mode, displacement: (
        elastic_bounding_boxes(boxes, format, canvas, displacement, mode),
        canvas,
    ),
    lambda points, canvas, displacement: (elastic_keypoints(points, canvas, displacement), canvas),
    "interpolation",
    "fill",
)
