"""What transforms draw for one image, and how their options are checked and prepared.

Draws come from torch's generator in torchvision's order, so that a seed gives the same images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.conversion import get_dimensions
from rushlight_vision.transforms.geometry import pair

# --- options ------------------------------------------------------------------------------------


def degrees(given: Any) -> Any:
    """(low, high) of an angle, of which one number says both; four numbers for shears; None as it is."""
    if isinstance(given, (int, float)):
        if given < 0:
            raise ValueError("If degrees is a single number, it must be positive.")
        return [-float(given), float(given)]
    if given is not None and len(given) not in (2, 4):
        raise ValueError(f"degrees should be a sequence of length 2 (or 4 for shear), got {given}")
    return given if given is None else [float(d) for d in given]


def spread(given: Any) -> Any:
    """(least, most) of a Gaussian's width, of which one number says both."""
    if isinstance(given, (int, float)):
        if given <= 0:
            raise ValueError("If sigma is a single number, it must be positive.")
        return (given, given)
    if len(given) != 2:
        raise ValueError("sigma should be a single number or a list/tuple with length 2.")
    if not 0.0 < given[0] <= given[1]:
        raise ValueError("sigma values should be positive and of the form (min, max).")
    return given


def odd(given: Any) -> Any:
    """A kernel's two sizes, which are odd."""
    sizes = pair(given, "Kernel size should be a tuple/list of two integers")
    if any(n <= 0 or n % 2 == 0 for n in sizes):
        raise ValueError("Kernel size value should be an odd and positive number.")
    return sizes


def two(given: Any, name: str) -> list[float]:
    """A number for both directions, or one for each."""
    if not isinstance(given, (float, Sequence)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(given)}")
    found = [given] * 2 if isinstance(given, float) else list(given)
    if len(found) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(found)}")
    return [float(v) for v in found]


def factors(given: Any, name: str) -> tuple[float, float] | None:
    """The range that a colour's factor is drawn from; None where nothing changes."""
    middle, least, most = (0.0, -0.5, 0.5) if name == "hue" else (1.0, 0, math.inf)
    if isinstance(given, (int, float)):
        if given < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low = middle - given
        given = (low if name == "hue" else max(low, 0.0), middle + given)
    low, high = (float(v) for v in given)
    if not least <= low <= high <= most:
        raise ValueError(f"{name} values should be between {(least, most)}, but got {[low, high]}.")
    return None if low == high == middle else (low, high)


# --- numbers ------------------------------------------------------------------------------------


def uniform(low: float, high: float) -> float:
    """A number between two."""
    return float(torch.empty(1).uniform_(float(low), float(high)).item())


def place(h: int, w: int, th: int, tw: int) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a window anywhere in an image."""
    top, left = (int(torch.randint(0, most + 1, size=(1,)).item()) for most in (h - th, w - tw))
    return top, left, th, tw


def sized(area: int, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int]:
    """Two sides by a share of the area and their ratio (first to second)."""
    part = area * uniform(*scale)
    aspect = torch.exp(torch.empty(1).uniform_(*torch.log(torch.tensor(ratio)).tolist())).item()
    return round(math.sqrt(part * aspect)), round(math.sqrt(part / aspect))


def displacement(alpha: Any, sigma: Any, size: Any, blur: Any = F.gaussian_blur) -> Any:
    """(1, H, W, 2): smooth noise, in halves of the sides."""
    parts = []
    for strength, width, side in zip(alpha, sigma, size[::-1]):
        noise = torch.rand([1, 1, *size]) * 2 - 1
        if width > 0.0:
            reach = int(8 * width + 1)
            noise = blur(noise, [reach + (reach % 2 == 0)] * 2, sigma)
        parts.append(noise * strength / side)
    return torch.concat(parts, 1).permute([0, 2, 3, 1])


def window(img: Any, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
    """(top, left, height, width); after ten failures the largest window in the middle that fits."""
    _, h, w = get_dimensions(img)
    return window_of(h, w, scale, ratio)


def window_of(h: int, w: int, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
    """`window` for an image of a size."""
    for _ in range(10):
        wide, tall = sized(h * w, scale, ratio)
        if 0 < wide <= w and 0 < tall <= h:
            return place(h, w, tall, wide)
    tall = round(w / min(ratio)) if w / h < min(ratio) else h
    wide = round(h * max(ratio)) if w / h > max(ratio) else w
    return (h - tall) // 2, (w - wide) // 2, tall, wide


def motion(degrees: Any, translate: Any, scale_ranges: Any, shears: Any, img_size: Any) -> tuple[Any, ...]:
    """(angle, shifts in pixels, scale, shears) for an image of (width, height)."""
    angle = uniform(*degrees)
    shift = tuple(round(uniform(-t * n, t * n)) for t, n in zip(translate or (), img_size))
    scale = 1.0 if scale_ranges is None else uniform(*scale_ranges)
    shear = [uniform(*shears[k : k + 2]) for k in range(0, len(shears or ()), 2)]
    return angle, shift or (0, 0), scale, (*shear, 0.0, 0.0)[:2]


def corners(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
    """The corners of an image (x, y), clockwise from the top left, and where they come to."""
    reach = [int(distortion_scale * (n // 2)) for n in (width, height)]

    def drawn(n: int, by: int, far: bool) -> int:
        low, high = (n - by - 1, n) if far else (0, by + 1)
        return int(torch.randint(low, high, size=(1,)).item())

    sides = ((False, False), (True, False), (True, True), (False, True))
    ends = [[drawn(width, reach[0], right), drawn(height, reach[1], low)] for right, low in sides]
    return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends


def erasure(img: Any, scale: Any, ratio: Any, value: Any = None) -> tuple[Any, ...]:
    """(top, left, height, width, value); the image itself where no window fits after ten draws."""
    c, h, w = get_dimensions(img)
    return erasure_of(c, h, w, scale, ratio, value) or (0, 0, h, w, img)


def erasure_of(c: int, h: int, w: int, scale: Any, ratio: Any, value: Any) -> tuple[Any, ...] | None:
    """`erasure` for an image of a size; None where no window fits."""
    for _ in range(10):
        tall, wide = sized(h * w, scale, ratio)
        if tall < h and wide < w:
            noise = torch.empty([c, tall, wide]).normal_() if value is None else None
            fill = torch.tensor(value)[:, None, None] if noise is None else noise
            return *place(h, w, tall, wide), fill
    return None
