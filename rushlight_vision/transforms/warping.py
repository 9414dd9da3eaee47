"""Turning, shifting, scaling and shearing of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms.conversion import PILLOWS, InterpolationMode, get_dimensions, mode_of
from rushlight_vision.transforms.geometry import fills, in_floats
from rushlight_vision.transforms.tones import on_tensor


def inverse_matrix(
    centre: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """From the result's places to the image's, row by row: the inverse of T C RotateScaleShear C^-1."""
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a, c = math.cos(turn - sy) / math.cos(sy), math.sin(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    m = [x / scale for x in (d, -b, 0.0, -c, a, 0.0)]
    x, y = -centre[0] - translate[0], -centre[1] - translate[1]
    m[2] += m[0] * x + m[1] * y + centre[0]
    m[5] += m[3] * x + m[4] * y + centre[1]
    return m


def forward_matrix(
    centre: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
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
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    inverted: bool = True,
) -> list[float]:
    """`inverse_matrix`, or `forward_matrix` for inverted=False."""
    make = inverse_matrix if inverted else forward_matrix
    return make(center, angle, translate, scale, shear)


def from_middle(img: Any, center: Any) -> list[float]:
    """The centre as tensors are sampled: (0, 0) is the middle of the image."""
    return [0.0, 0.0] if center is None else [c - n * 0.5 for c, n in zip(center, img.shape[:-3:-1])]


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Any = None,
) -> Any:
    """Turned clockwise by `angle` degrees about the centre, scaled, sheared and shifted in pixels."""
    mode, (_, h, w) = mode_of(interpolation), get_dimensions(img)
    shears = [shear, 0.0] if isinstance(shear, (int, float)) else [*shear, *shear][:2]
    if len(translate) != 2:
        raise ValueError(f"Argument translate should be a sequence of length 2, got {translate}")
    if scale <= 0.0:
        raise ValueError(f"Argument scale should be positive, got {scale}")
    if is_image(img):
        matrix = inverse_matrix(center or [w * 0.5, h * 0.5], angle, translate, scale, shears)
        return img.transform((w, h), 0, matrix, PILLOWS[mode.value], fillcolor=fills(img, fill))
    matrix = inverse_matrix(from_middle(img, center), angle, translate, scale, shears)
    return _sampled(img, matrix, w, h, mode, fill)


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Any:
    """Turned counter-clockwise by `angle` degrees; expand: as large as the result needs."""
    mode, (_, h, w) = mode_of(interpolation), get_dimensions(img)
    if is_image(img):
        return img.rotate(angle, PILLOWS[mode.value], expand, center, fillcolor=fills(img, fill))
    matrix = inverse_matrix(from_middle(img, center), -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    width, height = extent(matrix, w, h) if expand else (w, h)
    return _sampled(img, matrix, width, height, mode, fill)


def extent(matrix: Sequence[float], w: int, h: int) -> tuple[int, ...]:
    """(width, height) that hold all corners after turning."""
    corners = torch.tensor([[x, y, 1.0] for x in (-0.5 * w, 0.5 * w) for y in (-0.5 * h, 0.5 * h)])
    places = corners @ torch.tensor(matrix).reshape(2, 3).T + torch.tensor([w * 0.5, h * 0.5])
    low, high = ((v / 1e-4).trunc_() * 1e-4 for v in (places.amin(0), places.amax(0)))
    return tuple(int(n) for n in (high.ceil() - low.floor()).tolist())


def _sampled(img: Any, matrix: Sequence[float], w: int, h: int, mode: InterpolationMode, fill: Any) -> Any:
    """The image read at matrix @ place, with (0, 0) in the middle, for an (h, w) of places."""
    return _read(img, lambda x: affine_places(x, matrix, w, h), mode, fill)


def affine_places(x: Any, matrix: Sequence[float], w: int, h: int) -> Any:
    """(1, h, w, 2): where in x a result of (h, w) is read, in halves of x's sides from its middle."""
    half = torch.tensor([0.5 * x.shape[-1], 0.5 * x.shape[-2]], dtype=x.dtype, device=x.device)
    theta = torch.tensor(matrix, dtype=x.dtype, device=x.device).reshape(2, 3).T / half
    columns, rows = (
        torch.linspace(-n * 0.5 + 0.5, n * 0.5 - 0.5, n, dtype=x.dtype, device=x.device) for n in (w, h)
    )
    places = torch.stack((columns.expand(h, w), rows[:, None].expand(h, w)), -1).view(h * w, 2)
    return torch.addmm(theta[2], places, theta[:2]).view(1, h, w, 2)


def _read(img: Any, grid: Any, mode: InterpolationMode, fill: Any) -> Any:
    """The image read at the places (1, H, W, 2) that grid(batch of images) says; `fill` beyond it."""
    if mode.value not in ("nearest", "bilinear"):
        raise ValueError(
            f"interpolation mode {mode.value!r} isn't supported with tensors; use nearest or bilinear"
        )

    def sample(x: Any) -> Any:
        places = grid(x)
        places = places.expand(len(x), *places.shape[1:])
        both = x if fill is None else torch.cat((x, torch.ones_like(x[:, :1])), 1)
        found = F.grid_sample(both, places, mode=mode.value, padding_mode="zeros", align_corners=False)
        if fill is None:
            return found
        colours = list(fill) if isinstance(fill, (list, tuple)) else [float(fill)]
        colour = torch.tensor(colours, dtype=x.dtype, device=x.device).view(1, -1, 1, 1)
        found, inside = found[:, :-1], found[:, -1:]
        if mode is InterpolationMode.NEAREST:
            return torch.where(inside < 0.5, colour, found)
        return found * inside + (1.0 - inside) * colour

    return in_floats(img, sample)


def perspective_coefficients(startpoints: Any, endpoints: Any) -> list[float]:
    """Eight numbers a to h: a result's (x, y) is read at (ax + by + c, dx + ey + f) / (gx + hy + 1)."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and "
            f"{len(endpoints)} endpoints."
        )
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    wanted = torch.tensor(startpoints, dtype=torch.float64).view(8)
    found = torch.linalg.lstsq(torch.tensor(rows, dtype=torch.float64), wanted, driver="gels").solution
    result: list[float] = found.to(torch.float32).tolist()
    return result


def perspective(
    img: Any,
    startpoints: Any,
    endpoints: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Seen from elsewhere: the four corners `startpoints` (x, y), from the top left clockwise, come to
    `endpoints`.
    """
    mode = mode_of(interpolation)
    matrix = perspective_coefficients(startpoints, endpoints)
    if is_image(img):
        return perspective_of_image(img, matrix, mode, fill)
    return _read(img, lambda x: perspective_places(x, matrix), mode, fill)


def perspective_of_image(img: Any, matrix: Sequence[float], mode: InterpolationMode, fill: Any) -> Any:
    """An image of Pillow read where the eight coefficients say."""
    return img.transform(img.size, 2, list(matrix), PILLOWS[mode.value], fillcolor=fills(img, fill))


def perspective_places(x: Any, matrix: Sequence[float]) -> Any:
    """(1, h, w, 2): where in x a result of its size is read, in halves of its sides from its middle."""
    h, w = x.shape[-2:]
    columns, rows = (torch.linspace(0.5, n - 0.5, n, dtype=x.dtype, device=x.device) for n in (w, h))
    ones = torch.ones(h, w, dtype=x.dtype, device=x.device)
    places = torch.stack((columns.expand(h, w), rows[:, None].expand(h, w), ones), -1)
    half = torch.tensor([0.5 * w, 0.5 * h], dtype=x.dtype, device=x.device)
    above = torch.tensor(matrix[:6], dtype=x.dtype, device=x.device).view(2, 3).T / half
    below = torch.tensor([[*matrix[6:], 1.0]] * 2, dtype=x.dtype, device=x.device).T
    flat = places.view(1, h * w, 3)
    return (flat.bmm(above[None]) / flat.bmm(below[None]) - 1.0).view(1, h, w, 2)


def same_places(h: int, w: int, like: Any) -> Any:
    """(1, h, w, 2): each place itself, in halves of the sides from the middle."""
    columns, rows = (
        torch.linspace((1 - n) / n, (n - 1) / n, n, dtype=like.dtype, device=like.device) for n in (w, h)
    )
    return torch.stack((columns.expand(h, w), rows[:, None].expand(h, w)), -1)[None]


def elastic_transform(
    img: Any, displacement: Any, interpolation: Any = InterpolationMode.BILINEAR, fill: Any = None
) -> Any:
    """Read at places moved by `displacement` (1, H, W, 2), in halves of the image's sides."""
    if not isinstance(displacement, torch.Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    mode, (_, h, w) = mode_of(interpolation), get_dimensions(img)
    if displacement.shape != (1, h, w, 2):
        raise ValueError(
            f"Argument displacement shape should be {(1, h, w, 2)}, but given {displacement.shape}"
        )
    places = same_places(h, w, displacement.float()) + displacement
    return on_tensor(img, lambda tensor: _read(tensor, lambda x: places.to(x), mode, fill))
