"""Sizes of what samples hold, formats of boxes, and boxes and points kept on their canvas."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import conversion
from rushlight_vision.transforms.v2.functional._clamping import clamped_rotated
from rushlight_vision.transforms.v2.functional._utils import (
    PIL,
    _dispatched,
    _register_kernel_internal,
    is_pure_tensor,
)
from rushlight_vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

# --- sizes --------------------------------------------------------------------------------------


@_dispatched
def get_dimensions(inpt: Any) -> list[int]:
    """[channels, height, width]."""
    raise AssertionError("a kernel does it")


@_dispatched
def get_num_channels(inpt: Any) -> int:
    """How many channels there are."""
    raise AssertionError("a kernel does it")


@_dispatched
def get_size(inpt: Any) -> list[int]:
    """[height, width]; of boxes and points, their canvas."""
    raise AssertionError("a kernel does it")


@_dispatched
def get_num_frames(inpt: Any) -> int:
    """How many frames a video has."""
    raise AssertionError("a kernel does it")


def get_dimensions_image(image: torch.Tensor) -> list[int]:
    """[channels, height, width] of a tensor (..., H, W)."""
    height, width = get_size_image(image)
    return [get_num_channels_image(image), height, width]


def get_num_channels_image(image: Any) -> int:
    """The channels of a tensor (..., H, W)."""
    if image.ndim < 2:
        raise TypeError(f"Input tensor should have at least two dimensions, but got {image.ndim}")
    channels: int = image.shape[-3] if image.ndim > 2 else 1
    return channels


def get_size_image(image: Any) -> list[int]:
    """[height, width] of a tensor (..., H, W)."""
    if image.ndim < 2:
        raise TypeError(f"Input tensor should have at least two dimensions, but got {image.ndim}")
    return list(image.shape[-2:])


def get_size_bounding_boxes(bounding_box: Any) -> list[int]:
    """[height, width] of the canvas."""
    return list(bounding_box.canvas_size)


def get_num_frames_video(video: Any) -> int:
    """The frames of a tensor (..., T, C, H, W)."""
    count: int = video.shape[-4]
    return count


def _get_size_image_pil(image: Any) -> list[int]:
    return [image.height, image.width]


get_dimensions_video, get_num_channels_video = get_dimensions_image, get_num_channels_image
get_size_video = get_size_mask = get_size_image
get_size_keypoints = get_size_bounding_boxes
get_image_num_channels = get_num_channels
for _functional, _kinds, _kernel in (
    (get_dimensions, (torch.Tensor, tv_tensors.Image, tv_tensors.Video), get_dimensions_image),
    (get_dimensions, (PIL,), conversion.get_dimensions),
    (get_num_channels, (torch.Tensor, tv_tensors.Image, tv_tensors.Video), get_num_channels_image),
    (get_num_channels, (PIL,), conversion.get_image_num_channels),
    (get_size, (torch.Tensor, tv_tensors.Image, tv_tensors.Video, tv_tensors.Mask), get_size_image),
    (get_size, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints), get_size_bounding_boxes),
    (get_size, (PIL,), _get_size_image_pil),
    (get_num_frames, (torch.Tensor, tv_tensors.Video), get_num_frames_video),
):
    for _kind in _kinds:
        _register_kernel_internal(_functional, _kind, tv_tensor_wrapper=False)(_kernel)

# --- formats ------------------------------------------------------------------------------------


def format_of(given: BoundingBoxFormat | str) -> BoundingBoxFormat:
    """A format, also from its name."""
    return BoundingBoxFormat[given.upper()] if isinstance(given, str) else given


def _halves(sizes: Any) -> Any:
    return sizes.div(2, rounding_mode=None if sizes.is_floating_point() else "floor")


def _to_xyxy(boxes: Any, old: BoundingBoxFormat) -> Any:
    first, second = boxes[..., :2], boxes[..., 2:]
    if old is BoundingBoxFormat.XYWH:
        return torch.cat([first, first + second], -1)
    if old is BoundingBoxFormat.CXCYWH:
        exact = boxes if boxes.is_floating_point() else boxes.float()
        low = exact[..., :2] - exact[..., 2:] / 2
        return torch.cat([low, low + exact[..., 2:]], -1).to(boxes.dtype)
    return boxes


def _from_xyxy(boxes: Any, new: BoundingBoxFormat) -> Any:
    low, sizes = boxes[..., :2], boxes[..., 2:] - boxes[..., :2]
    if new is BoundingBoxFormat.XYWH:
        return torch.cat([low, sizes], -1)
    if new is BoundingBoxFormat.CXCYWH:
        return torch.cat([_halves(low * 2 + sizes), sizes], -1)
    return boxes


def _turned(boxes: Any) -> tuple[Any, ...]:
    """Width, height, cosine and sine of boxes (..., 5)."""
    radians = boxes[..., 4].mul(torch.pi).div(180.0)
    return boxes[..., 2], boxes[..., 3], radians.cos(), radians.sin()


def _to_xywhr(boxes: Any, old: BoundingBoxFormat) -> Any:
    if old is BoundingBoxFormat.CXCYWHR:
        w, h, cos, sin = _turned(boxes)
        x = boxes[..., 0] - w / 2 * cos - h / 2 * sin
        y = boxes[..., 1] + w / 2 * sin - h / 2 * cos
        return torch.cat([torch.stack([x, y], -1), boxes[..., 2:]], -1)
    if old is BoundingBoxFormat.XYXYXYXY:
        exact = boxes if boxes.dtype in (torch.float32, torch.float64) else boxes.float()
        x1, y1, x2, y2, x3, y3 = exact[..., :6].unbind(-1)
        radians = torch.atan2(y1 - y2, x2 - x1)
        width = ((x2 - x1).pow(2) + (y2 - y1).pow(2)).sqrt()
        height = ((x3 - x2).pow(2) + (y3 - y2).pow(2)).sqrt()
        return torch.stack([x1, y1, width, height, radians / torch.pi * 180.0], -1).to(boxes.dtype)
    return boxes


def _from_xywhr(boxes: Any, new: BoundingBoxFormat) -> Any:
    x, y = boxes[..., 0], boxes[..., 1]
    w, h, cos, sin = _turned(boxes)
    if new is BoundingBoxFormat.CXCYWHR:
        cx = x + w / 2 * cos + h / 2 * sin
        cy = y - w / 2 * sin + h / 2 * cos
        return torch.cat([torch.stack([cx, cy], -1), boxes[..., 2:]], -1)
    if new is BoundingBoxFormat.XYXYXYXY:
        right, down = (w * cos, -w * sin), (h * sin, h * cos)
        corners = [x, y, x + right[0], y + right[1]]
        corners += [x + (right[0] + down[0]), y + (right[1] + down[1]), x + down[0], y + down[1]]
        return torch.stack(corners, -1)
    return boxes


def _convert_bounding_box_format(
    bounding_boxes: Any, old_format: Any, new_format: Any, inplace: bool = False
) -> Any:
    """Plain boxes of one format in another; inplace: written over the old ones where their shape stays."""
    if new_format is old_format:
        return bounding_boxes
    rotated = is_rotated_bounding_format(old_format)
    if rotated is not is_rotated_bounding_format(new_format):
        raise ValueError("Cannot convert between rotated and unrotated bounding boxes.")
    if (old_format, new_format) == (BoundingBoxFormat.XYWH, BoundingBoxFormat.CXCYWH):
        sizes = bounding_boxes[..., 2:]
        found = torch.cat([bounding_boxes[..., :2] + _halves(sizes), sizes], -1)
    elif rotated:
        found = _from_xywhr(_to_xywhr(bounding_boxes, old_format), new_format)
    else:
        found = _from_xyxy(_to_xyxy(bounding_boxes, old_format), new_format)
    return bounding_boxes.copy_(found) if inplace and found.shape == bounding_boxes.shape else found


def convert_bounding_box_format(
    inpt: Any, old_format: Any = None, new_format: Any = None, inplace: bool = False
) -> Any:
    """Boxes in another format; a plain tensor needs `old_format`. ValueError between turned and others."""
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    new = format_of(new_format)
    if is_pure_tensor(inpt):
        if old_format is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return _convert_bounding_box_format(inpt, format_of(old_format), new, inplace)
    if not isinstance(inpt, tv_tensors.BoundingBoxes):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if old_format is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    found = _convert_bounding_box_format(inpt.as_subclass(torch.Tensor), inpt.format, new, inplace)
    return tv_tensors.wrap(found, like=inpt, format=new)


# --- kept on the canvas -------------------------------------------------------------------------


def _clamped(boxes: Any, format: BoundingBoxFormat, canvas_size: Any, mode: str | None) -> Any:
    if mode is None:
        return boxes.clone()
    if is_rotated_bounding_format(format):
        corners = _convert_bounding_box_format(boxes, format, BoundingBoxFormat.XYXYXYXY)
        kept = clamped_rotated(corners.reshape(-1, 8), canvas_size, mode)
        return _convert_bounding_box_format(kept, BoundingBoxFormat.XYXYXYXY, format).reshape(boxes.shape)
    exact = boxes if boxes.is_floating_point() else boxes.float()
    corners = _convert_bounding_box_format(exact, format, BoundingBoxFormat.XYXY).clone()
    corners[..., 0::2].clamp_(min=0, max=canvas_size[1])
    corners[..., 1::2].clamp_(min=0, max=canvas_size[0])
    return _convert_bounding_box_format(corners, BoundingBoxFormat.XYXY, format).to(boxes.dtype)


def clamp_bounding_boxes(
    inpt: Any, format: Any = None, canvas_size: Any = None, clamping_mode: str | None = "auto"
) -> Any:
    """Boxes cut where they reach beyond the canvas; a plain tensor needs format, canvas_size and mode
    ("soft", "hard" or None; "auto" is what the boxes say).
    """
    if clamping_mode not in (None, "soft", "hard", "auto"):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError(
                "For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed."
            )
        return _clamped(inpt, format_of(format), canvas_size, clamping_mode)
    if not isinstance(inpt, tv_tensors.BoundingBoxes):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
    mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    found = _clamped(inpt.as_subclass(torch.Tensor), inpt.format, inpt.canvas_size, mode)
    return tv_tensors.wrap(found, like=inpt)


def clamp_keypoints(inpt: Any, canvas_size: Any = None) -> Any:
    """Points moved to the nearest pixel of the canvas; a plain tensor needs `canvas_size`."""
    if is_pure_tensor(inpt):
        if canvas_size is None:
            raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
        most = torch.tensor([canvas_size[1] - 1, canvas_size[0] - 1], device=inpt.device)
        exact = inpt if inpt.is_floating_point() else inpt.float()
        return torch.minimum(exact.clamp(min=0), most.to(exact.dtype)).to(inpt.dtype)
    if not isinstance(inpt, tv_tensors.KeyPoints):
        raise TypeError(
            f"Input can either be a plain tensor or a keypoints tv_tensor, but got {type(inpt)} instead."
        )
    if canvas_size is not None:
        raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
    return tv_tensors.wrap(clamp_keypoints(inpt.as_subclass(torch.Tensor), inpt.canvas_size), like=inpt)
