"""Boxes, masks and points drawn into images; flows as colours (torchvision.utils)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import rushlight as torch
from rushlight_vision.pillow import image_of, pillow


def _check_image(image: Any, channels: Sequence[int], name: str) -> None:
    if not isinstance(image, torch.Tensor):
        raise TypeError(f"{name}, got {type(image)}")
    if image.dtype is not torch.uint8 and not image.is_floating_point():
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3:
        raise ValueError("Pass individual images, not batches")
    if image.shape[0] not in channels:
        raise ValueError(
            "Only grayscale and RGB images are supported"
            if 1 in channels
            else "Pass an RGB image. Other Image formats are not supported"
        )


def _in_bytes(image: Any) -> Any:
    """The RGB image of Pillow to draw in."""
    from rushlight_vision.transforms.v2.functional import to_dtype_image

    image = image.as_subclass(torch.Tensor) if type(image) is not torch.Tensor else image
    shades = to_dtype_image(image, torch.uint8, scale=True)
    return image_of(shades.permute(1, 2, 0).numpy(force=True), "RGB")


def _as_before(drawn: Any, dtype: Any) -> Any:
    from rushlight_vision.transforms.v2.functional import pil_to_tensor, to_dtype_image

    return to_dtype_image(pil_to_tensor(drawn), dtype, scale=True)


def _parse_colors(colors: Any, *, num_objects: int, dtype: Any = torch.uint8) -> list[Any]:
    """A colour (r, g, b) for each: of one for all, of a list, or of a palette."""
    if colors is None:
        steps = (2**25 - 1, 2**15 - 1, 2**21 - 1)
        colors = [tuple(k * step % 255 for step in steps) for k in range(num_objects)]
    elif isinstance(colors, list):
        if len(colors) < num_objects:
            raise ValueError(
                "Number of colors must be equal or larger than the number of objects, "
                f"but got {len(colors)} < {num_objects}."
            )
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        colors = [colors] * num_objects
    found = [pillow("ImageColor").getrgb(c) if isinstance(c, str) else c for c in colors]
    return [tuple(v / 255 for v in c) for c in found] if dtype.is_floating_point else found


@torch.no_grad()
def draw_bounding_boxes(
    image: Any,
    boxes: Any,
    labels: list[str | None] | None = None,
    colors: Any = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Any = None,
    label_background_colors: Any = None,
    fill_labels: bool = False,
) -> Any:
    """(3, H, W) of `image` (1 or 3, H, W) with boxes (N, 4), x1 y1 x2 y2, or (N, 8), four corners, drawn in
    it; fill: transparently filled; font: a file of a TrueType font.
    """
    _check_image(image, (1, 3), "Tensor expected")
    if boxes.shape[-1] == 4 and ((boxes[:, 0] > boxes[:, 2]).any() or (boxes[:, 1] > boxes[:, 3]).any()):
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert to convert "
            "them"
        )
    count = len(boxes)
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    texts = [None] * count if labels is None else labels
    if len(texts) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(texts)}) mismatch. "
            "Please specify labels for each box."
        )
    lines = _parse_colors(colors, num_objects=count)
    inks, papers = lines, lines
    if label_colors or fill_labels:
        inks = _parse_colors(label_colors or "black", num_objects=count)
    if fill_labels and label_background_colors:
        papers = _parse_colors(label_background_colors, num_objects=count)
    drawn = _in_bytes(torch.tile(image, (3, 1, 1)) if image.shape[0] == 1 else image)
    draw = pillow("ImageDraw").Draw(drawn, "RGBA" if fill else None)
    letters = _font(font, font_size)
    rows = boxes.to(torch.int64).tolist()
    for row, line, text, ink, paper in zip(rows, lines, texts, inks, papers):
        _outline(draw, row, tuple(line), width, bool(fill))
        if text is not None:
            place = (row[0] + width + 1, row[1] + width + 1)
            if fill_labels:
                left, top, right, bottom = draw.textbbox(place, text, font=letters)
                draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=tuple(paper))
            draw.text(place, text, fill=tuple(ink), font=letters)
    return _as_before(drawn, image.dtype)


def _font(font: str | None, font_size: int | None) -> Any:
    if font is not None:
        return pillow("ImageFont").truetype(font=font, size=font_size or 10)
    if font_size is not None:
        warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=3)
    return pillow("ImageFont").load_default()


def _outline(draw: Any, row: list[int], line: tuple[int, ...], width: int, fill: bool) -> None:
    inside = (*line, 100) if fill else None
    if len(row) == 4:
        draw.rectangle(row, width=width, outline=line, fill=inside)
        return
    if inside is not None:
        draw.polygon(row, fill=inside)
    draw.line([*row, *row[:2]], width=width, fill=line)


@torch.no_grad()
def draw_segmentation_masks(image: Any, masks: Any, alpha: float = 0.8, colors: Any = None) -> Any:
    """`image` (3, H, W) blended by alpha with a colour in each mask (H, W) or (N, H, W) of bool; black where
    masks overlap.
    """
    _check_image(image, (3,), "The image must be a tensor")
    masks = masks[None] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype is not torch.bool:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if len(masks) == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    painted = image.detach().clone()
    for mask, colour in zip(masks, _parse_colors(colors, num_objects=len(masks), dtype=image.dtype)):
        painted[:, mask] = torch.tensor(colour, dtype=image.dtype, device=image.device)[:, None]
    painted[:, masks.sum(0) > 1] = 0
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@torch.no_grad()
def draw_keypoints(
    image: Any,
    keypoints: Any,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Any = None,
    radius: int = 2,
    width: int = 3,
    visibility: Any = None,
) -> Any:
    """`image` (3, H, W) with points (instances, K, 2) as discs, and lines between pairs of their numbers."""
    _check_image(image, (3,), "The image must be a tensor")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    seen = torch.ones(keypoints.shape[:-1], dtype=torch.bool) if visibility is None else visibility
    seen = seen.squeeze(-1) if seen.ndim == 3 else seen
    if seen.ndim != 2:
        raise ValueError(f"visibility must be of shape (num_instances, K). Got ndim={seen.ndim}")
    if seen.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. "
            f"Got visibility.shape={seen.shape!r} and keypoints.shape={keypoints.shape!r}"
        )
    drawn = _in_bytes(image)
    draw = pillow("ImageDraw").Draw(drawn)
    for points, shown in zip(keypoints.to(torch.int64).tolist(), seen.bool().tolist()):
        for (x, y), visible in zip(points, shown):
            if visible:
                around = [x - radius, y - radius, x + radius, y + radius]
                draw.ellipse(around, fill=colors, outline=None, width=0)
        for start, end in connectivity or ():
            if shown[start] and shown[end]:
                draw.line((tuple(points[start]), tuple(points[end])), width=width)
    return _as_before(drawn, image.dtype)


# --- flows --------------------------------------------------------------------------------------

# How many colours lie between red, yellow, green, cyan, blue, magenta and red again, and which channel rises
# or falls there, beside one that is full.
_WHEEL = (
    (15, 1, 0, True),
    (6, 0, 1, False),
    (4, 2, 1, True),
    (11, 1, 2, False),
    (13, 0, 2, True),
    (6, 2, 0, False),
)


def _wheel() -> Any:
    """(55, 3) of 0 to 255."""
    parts = []
    for count, changing, full, rises in _WHEEL:
        ramp = np.floor(255 * np.arange(count) / count)
        part = np.zeros((count, 3), np.float32)
        part[:, full], part[:, changing] = 255, ramp if rises else 255 - ramp
        parts.append(part)
    return torch.from_numpy(np.concatenate(parts))


@torch.no_grad()
def flow_to_image(flow: Any) -> Any:
    """uint8 ([N, ]3, H, W): a flow ([N, ]2, H, W) of float32 as hue (direction) and saturation (length)."""
    if flow.dtype is not torch.float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    batch = flow[None] if flow.ndim == 3 else flow
    if batch.ndim != 4 or batch.shape[1] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {flow.shape}.")
    longest = batch.pow(2).sum(1).sqrt().max()
    batch = batch / (longest + torch.finfo(flow.dtype).eps)
    wheel = _wheel().to(flow.device) / 255.0
    length = batch.pow(2).sum(1).sqrt()[..., None]
    place = (torch.atan2(-batch[:, 1], -batch[:, 0]) / torch.pi + 1) / 2 * (len(wheel) - 1)
    first = place.floor().to(torch.long)
    part = (place - first)[..., None]
    colour = (1 - part) * wheel[first] + part * wheel[(first + 1) % len(wheel)]
    found = (255 * (1 - length * (1 - colour))).floor().to(torch.uint8).permute(0, 3, 1, 2)
    return found[0] if flow.ndim == 3 else found
