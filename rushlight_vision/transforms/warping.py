"""Turning, shifting, scaling and shearing of images."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor
from rushlight_vision.pillow import checked_image
from rushlight_vision.transforms.conversion import PILLOWS, InterpolationMode, get_dimensions, mode_of
from rushlight_vision.transforms.geometry import batch_of, fills, image_like
from rushlight_vision.transforms.tones import on_tensor


def inverse_matrix(
    centre: list[float], angle: float, translate: list[float], scale: float, shear: list[float]
) -> list[float]:
    """From the result's places to the image's, row by row: the inverse of T C RotateScaleShear C^-1."""
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a, c = math.cos(turn - sy) / math.cos(sy), math.sin(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    m = [x / scale for x in [d, -b, 0.0, -c, a, 0.0]]
    x, y = -centre[0] - translate[0], -centre[1] - translate[1]
    m[2] += m[0] * x + m[1] * y + centre[0]
    m[5] += m[3] * x + m[4] * y + centre[1]
    return m


def forward_matrix(
    centre: list[float], angle: float, translate: list[float], scale: float, shear: list[float]
) -> list[float]:
    """From the image's places to the result's, row by row: T C RotateScaleShear C^-1."""
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a, c = math.cos(turn - sy) / math.cos(sy), math.sin(turn - sy) / math.cos(sy)
    b, d = -(a * math.tan(sx) + math.sin(turn)), math.cos(turn) - c * math.tan(sx)
    m = [a * scale, b * scale, 0.0, c * scale, d * scale, 0.0]
    m[2] = centre[0] + translate[0] - m[0] * centre[0] - m[1] * centre[1]
    m[5] = centre[1] + translate[1] - m[3] * centre[0] - m[4] * centre[1]
    return m


def any_matrix(
    center: list[float],
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    inverted: bool = True,
) -> list[float]:
    """`inverse_matrix`, or `forward_matrix` for inverted=False."""
    if inverted:
        return inverse_matrix(center, angle, translate, scale, shear)
    return forward_matrix(center, angle, translate, scale, shear)


def from_middle(img: Tensor, center: list[float] | None) -> list[float]:
    """The centre as tensors are sampled: (0, 0) is the middle of the image."""
    if center is None:
        return [0.0, 0.0]
    return [center[0] - img.shape[-1] * 0.5, center[1] - img.shape[-2] * 0.5]


def in_fractions(numbers: list[int] | None) -> list[float] | None:
    """Whole numbers as others; None as it is."""
    return None if numbers is None else [1.0 * n for n in numbers]


def affine(
    img: Tensor,
    angle: float,
    translate: list[int],
    scale: float,
    shear: list[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: list[float] | None = None,
    center: list[int] | None = None,
) -> Tensor:
    """Turned clockwise by `angle` degrees about the centre, scaled, sheared and shifted in pixels."""
    mode = mode_of(interpolation)
    _, h, w = get_dimensions(img)
    shears = two_shears(shear)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    shift = [1.0 * t for t in translate]
    if not isinstance(img, Tensor):
        matrix = inverse_matrix(center or [w * 0.5, h * 0.5], angle, shift, scale, shears)
        return img.transform((w, h), 0, matrix, PILLOWS[mode.value], fillcolor=fills(img, fill))
    middle = from_middle(img, in_fractions(center))
    return _sampled(img, inverse_matrix(middle, angle, shift, scale, shears), w, h, mode, fill)


def two_shears(shear: list[float]) -> list[float]:
    """The two shears: a number says the first, a list of one both; TypeError, ValueError for others."""
    if isinstance(shear, (int, float)):
        return [shear, 0.0]
    if not isinstance(shear, (list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if len(shear) not in [1, 2]:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    return [shear[0], shear[-1]]


def rotate(
    img: Tensor,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: list[int] | None = None,
    fill: list[float] | None = None,
) -> Tensor:
    """Turned counter-clockwise by `angle` degrees; expand: as large as the result needs."""
    mode = mode_of(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    _, h, w = get_dimensions(img)
    if not isinstance(img, Tensor):
        return img.rotate(angle, PILLOWS[mode.value], expand, center, fillcolor=fills(img, fill))
    matrix = inverse_matrix(from_middle(img, in_fractions(center)), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    width, height = extent(matrix, w, h) if expand else (w, h)
    return _sampled(img, matrix, width, height, mode, fill)


def extent(matrix: list[float], w: int, h: int) -> tuple[int, int]:
    """(width, height) that hold all corners after turning."""
    right, low = 0.5 * w, 0.5 * h
    corners = torch.tensor([[-right, -low, 1.0], [-right, low, 1.0], [right, -low, 1.0], [right, low, 1.0]])
    places = corners @ torch.tensor(matrix).reshape(2, 3).T + torch.tensor([right, low])
    first = (places.amin(0) / 1e-4).trunc_() * 1e-4
    last = (places.amax(0) / 1e-4).trunc_() * 1e-4
    size = last.ceil() - first.floor()
    return int(size[0]), int(size[1])


def _sampled(
    img: Tensor, matrix: list[float], w: int, h: int, mode: InterpolationMode, fill: list[float] | None
) -> Tensor:
    """The image read at matrix @ place, with (0, 0) in the middle, for an (h, w) of places."""
    batch = batch_of(img)
    return _read(img, batch, affine_places(batch, matrix, w, h), _plain(mode), fill)


def affine_places(x: Tensor, matrix: list[float], w: int, h: int) -> Tensor:
    """(1, h, w, 2): where in x a result of (h, w) is read, in halves of x's sides from its middle."""
    half = torch.tensor([0.5 * x.shape[-1], 0.5 * x.shape[-2]], dtype=x.dtype, device=x.device)
    theta = torch.tensor(matrix, dtype=x.dtype, device=x.device).reshape(2, 3).T / half
    columns = torch.linspace(-w * 0.5 + 0.5, w * 0.5 - 0.5, w, dtype=x.dtype, device=x.device)
    rows = torch.linspace(-h * 0.5 + 0.5, h * 0.5 - 0.5, h, dtype=x.dtype, device=x.device)
    places = torch.stack((columns.expand([h, w]), rows[:, None].expand([h, w])), -1).view([h * w, 2])
    return torch.addmm(theta[2], places, theta[:2]).view([1, h, w, 2])


def _plain(interpolation: InterpolationMode) -> InterpolationMode:
    """The mode, if tensors are read so at places between pixels; ValueError for others."""
    if interpolation.value not in ["nearest", "bilinear"]:
        raise ValueError(f"Resampling mode '{interpolation.value}' is unsupported with Tensor input")
    return interpolation


def _read(
    img: Tensor, x: Tensor, places: Tensor, interpolation: InterpolationMode, fill: list[float] | None
) -> Tensor:
    """The image, whose batch is x, read at the places (1, H, W, 2); `fill` beyond it."""
    mode = interpolation.value
    places = places.expand([len(x), places.shape[1], places.shape[2], 2])
    both = x if fill is None else torch.cat((x, torch.ones_like(x[:, :1])), 1)
    found = F.grid_sample(both, places, mode=mode, padding_mode="zeros", align_corners=False)
    if fill is not None:
        colour = colours(fill, x)
        inside = found[:, -1:]
        found = found[:, :-1]
        if mode == "nearest":
            found = torch.where(inside < 0.5, colour, found)
        else:
            found = found * inside + (1.0 - inside) * colour
    return image_like(img, found)


def colours(fill: list[float], like: Tensor) -> Tensor:
    """(1, C, 1, 1): what is beyond an image, one number or one for each channel."""
    numbers = [float(fill)] if isinstance(fill, (int, float)) else [float(f) for f in fill]
    return torch.tensor(numbers, dtype=like.dtype, device=like.device).view(1, -1, 1, 1)


def perspective_coefficients(startpoints: list[list[int]], endpoints: list[list[int]]) -> list[float]:
    """Eight numbers a to h: a result's (x, y) is read at (ax + by + c, dx + ey + f) / (gx + hy + 1)."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and "
            f"{len(endpoints)} endpoints."
        )
    rows: list[list[float]] = []
    for end, start in zip(endpoints, startpoints):
        x, y, u, v = float(end[0]), float(end[1]), float(start[0]), float(start[1])
        rows.append([x, y, 1.0, 0.0, 0.0, 0.0, -u * x, -u * y])
        rows.append([0.0, 0.0, 0.0, x, y, 1.0, -v * x, -v * y])
    wanted = torch.tensor(startpoints, dtype=torch.float64).view(8)
    found = torch.linalg.lstsq(torch.tensor(rows, dtype=torch.float64), wanted, driver="gels").solution
    result: list[float] = found.to(torch.float32).tolist()
    return result


def perspective(
    img: Tensor,
    startpoints: list[list[int]],
    endpoints: list[list[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: list[float] | None = None,
) -> Tensor:
    """Seen from elsewhere: the four corners `startpoints` (x, y), from the top left clockwise, come to
    `endpoints`.
    """
    mode = mode_of(interpolation)
    matrix = perspective_coefficients(startpoints, endpoints)
    if not isinstance(img, Tensor):
        return perspective_of_image(checked_image(img), matrix, mode, fill)
    batch = batch_of(img)
    return _read(img, batch, perspective_places(batch, matrix), _plain(mode), fill)


def perspective_of_image(img: Any, matrix: list[float], mode: InterpolationMode, fill: Any) -> Any:
    """An image of Pillow read where the eight coefficients say."""
    return img.transform(img.size, 2, list(matrix), PILLOWS[mode.value], fillcolor=fills(img, fill))


def perspective_places(x: Tensor, matrix: list[float]) -> Tensor:
    """(1, h, w, 2): where in x a result of its size is read, in halves of its sides from its middle."""
    h, w = x.shape[-2], x.shape[-1]
    columns = torch.linspace(0.5, w - 0.5, w, dtype=x.dtype, device=x.device)
    rows = torch.linspace(0.5, h - 0.5, h, dtype=x.dtype, device=x.device)
    ones = torch.ones([h, w], dtype=x.dtype, device=x.device)
    places = torch.stack((columns.expand([h, w]), rows[:, None].expand([h, w]), ones), -1)
    half = torch.tensor([0.5 * w, 0.5 * h], dtype=x.dtype, device=x.device)
    above = torch.tensor(matrix[:6], dtype=x.dtype, device=x.device).view(2, 3).T / half
    last = [matrix[6], matrix[7], 1.0]
    below = torch.tensor([last, last], dtype=x.dtype, device=x.device).T
    flat = places.view([1, h * w, 3])
    return (flat.bmm(above[None]) / flat.bmm(below[None]) - 1.0).view([1, h, w, 2])


def same_places(h: int, w: int, like: Tensor) -> Tensor:
    """(1, h, w, 2): each place itself, in halves of the sides from the middle."""
    columns = torch.linspace((1 - w) / w, (w - 1) / w, w, dtype=like.dtype, device=like.device)
    rows = torch.linspace((1 - h) / h, (h - 1) / h, h, dtype=like.dtype, device=like.device)
    return torch.stack((columns.expand([h, w]), rows[:, None].expand([h, w])), -1)[None]


def elastic_transform(
    img: Tensor,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: list[float] | None = None,
) -> Tensor:
    """Read at places moved by `displacement` (1, H, W, 2), in halves of the image's sides."""
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    mode = mode_of(interpolation)
    _, h, w = get_dimensions(img)
    if list(displacement.shape) != [1, h, w, 2]:
        raise ValueError(
            f"Argument displacement shape should be {(1, h, w, 2)}, but given {displacement.shape}"
        )
    places = same_places(h, w, displacement.float()) + displacement
    if not isinstance(img, Tensor):
        return on_tensor(img, lambda tensor: _displaced(tensor, places, mode, fill))
    return _displaced(img, places, mode, fill)


def _displaced(img: Tensor, places: Tensor, mode: InterpolationMode, fill: list[float] | None) -> Tensor:
    batch = batch_of(img)
    return _read(img, batch, places.to(batch), mode, fill)
