"""Normalization, blur, noise, dtypes, kinds of images; boxes and points that are none taken away."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

import rushlight as torch
import rushlight.nn.functional as nnF
from rushlight_vision import tv_tensors
from rushlight_vision.pillow import is_image, pillow
from rushlight_vision.transforms import conversion, tones
from rushlight_vision.transforms.v2.functional._dtypes import to_dtype_image
from rushlight_vision.transforms.v2.functional._meta import _convert_bounding_box_format, format_of
from rushlight_vision.transforms.v2.functional._utils import (
    _dispatched,
    _images,
    _register_kernel_internal,
    is_pure_tensor,
)
from rushlight_vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, Image, KeyPoints, Mask

_ABSENT = "a kernel does it"


@_dispatched
def normalize(inpt: Any, mean: Any, std: Any, inplace: bool = False) -> Any:
    """(image - mean) / std, channel by channel."""
    raise AssertionError(_ABSENT)


@_images(normalize)
def normalize_image(
    image: torch.Tensor, mean: list[float], std: list[float], inplace: bool = False
) -> torch.Tensor:
    """A float tensor (..., C, H, W), normalised."""
    if not image.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {image.dtype}.")
    if image.ndim < 3:
        raise ValueError(f"Expected tensor to be a tensor image of size (..., C, H, W). Got {image.shape}.")
    if not (all(std) if isinstance(std, (tuple, list)) else isinstance(std, torch.Tensor) or std != 0):
        raise ValueError("std evaluated to zero, leading to division by zero.")
    means = torch.as_tensor(mean, dtype=image.dtype, device=image.device)
    spreads = torch.as_tensor(std, dtype=image.dtype, device=image.device)
    means = means.view(-1, 1, 1) if means.ndim == 1 else means
    spreads = spreads.view(-1, 1, 1) if spreads.ndim == 1 else spreads
    return (image.sub_(means) if inplace else image.sub(means)).div_(spreads)


@_dispatched
def gaussian_blur(inpt: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Smoothed by a Gaussian of `kernel_size` (x, y) pixels, `sigma` (x, y) wide."""
    raise AssertionError(_ABSENT)


def _gaussian_blur_pil(image: Any, kernel_size: Any, sigma: Any = None) -> Any:
    return tones.on_tensor(image, lambda x: gaussian_blur_image(x, kernel_size, sigma))


@_images(gaussian_blur, _gaussian_blur_pil)
def gaussian_blur_image(
    image: torch.Tensor, kernel_size: list[int], sigma: list[float] | None = None
) -> torch.Tensor:
    """A tensor (..., C, H, W), smoothed; its borders are reflected."""
    sizes, sigmas = tones.blur_options(kernel_size, sigma)
    if image.numel() == 0:
        return image
    batch = image.reshape([-1, image.shape[-3], image.shape[-2], image.shape[-1]])
    batch = batch if image.is_floating_point() else batch.float()
    across, down = _weights(sizes[0], sigmas[0], batch), _weights(sizes[1], sigmas[1], batch)
    kernel = (down[:, None] * across).expand([batch.shape[1], 1, sizes[1], sizes[0]])
    beyond = [sizes[0] // 2, sizes[0] // 2, sizes[1] // 2, sizes[1] // 2]
    found = nnF.conv2d(nnF.pad(batch, beyond, mode="reflect"), kernel, groups=batch.shape[1])
    found = found if image.is_floating_point() else found.round_().to(image.dtype)
    return found.reshape(image.shape)


def _weights(count: int, sigma: float, like: torch.Tensor) -> torch.Tensor:
    reach = (count - 1) / (2.0 * math.sqrt(2.0))
    places = torch.linspace(-reach, reach, count, dtype=like.dtype, device=like.device)
    return torch.softmax(places.div(sigma).pow(2).neg(), 0)


@_dispatched
def gaussian_noise(inpt: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """Noise added, of a mean and width on values in [0, 1]; clip: kept in the range."""
    raise AssertionError(_ABSENT)


def _gaussian_noise_pil(image: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    raise ValueError("Gaussian Noise is not implemented for PIL images.")


@_images(gaussian_noise, _gaussian_noise_pil)
def gaussian_noise_image(image: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """A tensor of floats or bytes with noise added."""
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if image.is_floating_point():
        found = image + (mean + torch.randn_like(image) * sigma)
        return found.clamp(0, 1) if clip else found
    if image.dtype is not torch.uint8:
        raise ValueError(f"Input tensor is expected to be in uint8 or float dtype, got dtype={image.dtype}")
    noise = mean * 255 + torch.randn_like(image, dtype=torch.float32) * (sigma * 255)
    found = image + noise.to(torch.int16)
    return (found.clamp(0, 255) if clip else found).to(torch.uint8)


@_dispatched
def to_dtype(inpt: Any, dtype: Any = torch.float32, scale: bool = False) -> Any:
    """Another dtype; scale: values of images follow the dtype's range."""
    raise AssertionError(_ABSENT)


_images(to_dtype)(to_dtype_image)
for _kind in (KeyPoints, BoundingBoxes, Mask):

    @_register_kernel_internal(to_dtype, _kind, tv_tensor_wrapper=False)
    def _to_dtype_of_others(inpt: Any, dtype: Any = torch.float32, scale: bool = False) -> Any:
        return inpt.to(dtype)


# --- windows overwritten, compression -----------------------------------------------------------


@_dispatched
def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """A window overwritten by v."""
    raise AssertionError(_ABSENT)


def _erase_pil(image: Any, **window: Any) -> Any:
    return tones.on_tensor(image, lambda x: erase_image(x, **window))


@_images(erase, _erase_pil)
def erase_image(image: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """A tensor with a window overwritten by v."""
    image = image if inplace else image.clone()
    image[..., i : i + h, j : j + w] = v
    return image


@_dispatched
def jpeg(image: Any, quality: int) -> Any:
    """The image as JPEG of a quality (1 to 100) shows it."""
    raise AssertionError(_ABSENT)


def _jpeg_pil(image: Any, quality: int) -> Any:
    held = io.BytesIO()
    image.save(held, format="JPEG", quality=quality)
    return pillow().open(held).copy()


@_images(jpeg, _jpeg_pil)
def jpeg_image(image: Any, quality: int) -> Any:
    """A tensor (..., C, H, W) of bytes as JPEG of a quality shows it."""
    from rushlight_vision.io.image import decode_jpeg, encode_jpeg

    if image.numel() == 0:
        return image.clone()
    each = image.reshape(-1, *image.shape[-3:])
    shown = torch.stack([decode_jpeg(encode_jpeg(one.cpu(), quality)) for one in each])
    return shown.to(image.device).reshape(image.shape)


# --- kinds of images ----------------------------------------------------------------------------


def pil_to_tensor(pic: Any) -> Any:
    """(C, H, W) of a PIL image, with its values as they are."""
    return conversion.pil_to_tensor(pic)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """The PIL image of a tensor or array."""
    return conversion.to_pil_image(pic, mode)


def to_image(inpt: Any) -> Any:
    """tv_tensors.Image of a PIL image, an array (H, W[, C]) or a tensor (..., C, H, W)."""
    if isinstance(inpt, np.ndarray):
        return Image(torch.from_numpy(np.atleast_3d(inpt)).permute(2, 0, 1).contiguous())
    if is_image(inpt):
        return Image(conversion.pil_to_tensor(inpt))
    if isinstance(inpt, torch.Tensor):
        return Image(inpt)
    raise TypeError(
        f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead."
    )


def to_tensor(inpt: Any) -> Any:
    """(C, H, W) of a PIL image or an array; bytes become floats in [0, 1]."""
    return conversion.to_tensor(inpt)


def get_image_size(inpt: Any) -> list[int]:
    """[width, height]."""
    return conversion.get_image_size(inpt)


# --- what is no box, no point -------------------------------------------------------------------


def valid_boxes(
    boxes: Any, format: Any, canvas_size: Any, min_size: float = 1.0, min_area: float = 1.0
) -> Any:
    """(N,) of bool: which boxes lie on the canvas and are large enough."""
    known = format_of(format)
    rotated = tv_tensors.is_rotated_bounding_format(known)
    corners = BoundingBoxFormat.XYXYXYXY if rotated else BoundingBoxFormat.XYXY
    found = _convert_bounding_box_format(boxes.as_subclass(torch.Tensor), known, corners)
    if rotated:
        widths = ((found[:, 0] - found[:, 2]).pow(2) + (found[:, 1] - found[:, 3]).pow(2)).sqrt()
        # as torchvision measures it, which takes y2 for x2 and x3 for y2
        heights = ((found[:, 3] - found[:, 5]).pow(2) + (found[:, 4] - found[:, 6]).pow(2)).sqrt()
    else:
        widths, heights = found[:, 2] - found[:, 0], found[:, 3] - found[:, 1]
    large = (widths >= min_size) & (heights >= min_size) & (widths * heights >= min_area)
    within = (found[:, ::2] <= canvas_size[1]).all(1) & (found[:, 1::2] <= canvas_size[0]).all(1)
    return large & (found >= 0).all(1) & within


def sanitize_bounding_boxes(
    bounding_boxes: Any,
    format: Any = None,
    canvas_size: Any = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Any, Any]:
    """(those that lie on the canvas and are large enough, which those are)."""
    if is_pure_tensor(bounding_boxes):
        if format is None or canvas_size is None:
            raise ValueError(
                "format and canvas_size cannot be None if bounding_boxes is a pure tensor. "
                f"Got format={format} and canvas_size={canvas_size}."
                "Set those to appropriate values or pass bounding_boxes as a tv_tensors.BoundingBoxes object."
            )
        valid = valid_boxes(bounding_boxes, format, canvas_size, min_size, min_area)
        return bounding_boxes[valid], valid
    if not isinstance(bounding_boxes, BoundingBoxes):
        raise ValueError("bounding_boxes must be a tv_tensors.BoundingBoxes instance or a pure tensor.")
    if format is not None or canvas_size is not None:
        raise ValueError(
            "format and canvas_size must be None when bounding_boxes is a tv_tensors.BoundingBoxes instance. "
            f"Got format={format} and canvas_size={canvas_size}. "
            "Leave those to None or pass bounding_boxes as a pure tensor."
        )
    known, canvas = bounding_boxes.format, bounding_boxes.canvas_size
    valid = valid_boxes(bounding_boxes, known, canvas, min_size, min_area)
    return tv_tensors.wrap(bounding_boxes[valid], like=bounding_boxes), valid


def valid_points(points: Any, canvas_size: Any) -> Any:
    """(N,) of bool: which points (all of a row's, in more dims) lie on the canvas."""
    x, y = points[..., 0], points[..., 1]
    valid = (x >= 0) & (x < canvas_size[1]) & (y >= 0) & (y < canvas_size[0])
    return valid.flatten(1).all(1) if valid.ndim > 1 else valid


def sanitize_keypoints(key_points: Any, canvas_size: Any = None) -> tuple[Any, Any]:
    """(those that lie on the canvas, which those are)."""
    if is_pure_tensor(key_points):
        if canvas_size is None:
            raise ValueError(
                "canvas_size cannot be None if key_points is a pure tensor. "
                "Set it to an appropriate value or pass key_points as a tv_tensors.KeyPoints object."
            )
        valid = valid_points(key_points, canvas_size)
        return key_points[valid], valid
    if not isinstance(key_points, KeyPoints):
        raise ValueError("key_points must be a tv_tensors.KeyPoints instance or a pure tensor.")
    if canvas_size is not None:
        raise ValueError(
            "canvas_size must be None when key_points is a tv_tensors.KeyPoints instance. "
            f"Got canvas_size={canvas_size}. Leave it to None or pass key_points as a pure tensor."
        )
    valid = valid_points(key_points.as_subclass(torch.Tensor), key_points.canvas_size)
    return tv_tensors.wrap(key_points[valid], like=key_points), valid


# --- time ---------------------------------------------------------------------------------------


@_dispatched
def uniform_temporal_subsample(inpt: Any, num_samples: int) -> Any:
    """So many frames of a video, evenly spaced; some twice where it has fewer."""
    raise AssertionError(_ABSENT)


def uniform_temporal_subsample_video(video: Any, num_samples: int) -> Any:
    """So many frames of a tensor (..., T, C, H, W)."""
    last = video.shape[-4] - 1
    return video.index_select(
        -4, torch.linspace(0, last, num_samples, device=video.device).clamp(0, last).long()
    )


for _kind in (torch.Tensor, tv_tensors.Video):
    _register_kernel_internal(uniform_temporal_subsample, _kind)(uniform_temporal_subsample_video)

gaussian_blur_video, gaussian_noise_video = gaussian_blur_image, gaussian_noise_image
normalize_video, erase_video, jpeg_video = normalize_image, erase_image, jpeg_image
