"""What transforms draw for one image, and how their options are checked and prepared.

Draws come from torch's generator in torchvision's order, so that a seed gives the same images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.conversion import get_dimensions, nearest
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


def happens(p: float) -> bool:
    """Whether what has probability p is to be done."""
    return bool(torch.rand(1) < p)


def place(h: int, w: int, th: int, tw: int) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a window anywhere in an image."""
    top = int(torch.randint(0, h - th + 1, size=(1,)).item())
    left = int(torch.randint(0, w - tw + 1, size=(1,)).item())
    return top, left, th, tw


def sized(area: int, scale: list[float], ratio: list[float]) -> tuple[int, int]:
    """Two sides by a share of the area and their ratio (first to second)."""
    part = area * uniform(scale[0], scale[1])
    bounds: list[float] = torch.log(torch.tensor(ratio)).tolist()
    aspect = float(torch.exp(torch.empty(1).uniform_(bounds[0], bounds[1])).item())
    return nearest(math.sqrt(part * aspect)), nearest(math.sqrt(part / aspect))


def reach_of(sigma: float) -> int:
    """The odd number of pixels over which noise is smoothed, sigma wide."""
    reach = int(8 * sigma + 1)
    return reach + 1 if reach % 2 == 0 else reach


def displacement(alpha: list[float], sigma: list[float], size: list[int]) -> Tensor:
    """(1, H, W, 2): smooth noise, in halves of the sides."""
    parts: list[Tensor] = []
    for i in range(2):
        noise = torch.rand([1, 1, size[0], size[1]]) * 2 - 1
        if sigma[i] > 0.0:
            reach = reach_of(sigma[i])
            noise = F.gaussian_blur(noise, [reach, reach], sigma)
        parts.append(noise * alpha[i] / size[1 - i])
    return torch.concat(parts, 1).permute([0, 2, 3, 1])


def window(img: Tensor, scale: list[float], ratio: list[float]) -> tuple[int, int, int, int]:
    """(top, left, height, width); after ten failures the largest window in the middle that fits."""
    _, h, w = get_dimensions(img)
    return window_of(h, w, scale, ratio)


def window_of(h: int, w: int, scale: list[float], ratio: list[float]) -> tuple[int, int, int, int]:
    """`window` for an image of a size."""
    for _ in range(10):
        wide, tall = sized(h * w, scale, ratio)
        if 0 < wide <= w and 0 < tall <= h:
            return place(h, w, tall, wide)
    least, most = min(ratio), max(ratio)
    tall = nearest(w / least) if w / h < least else h
    wide = nearest(h * most) if w / h > most else w
    return (h - tall) // 2, (w - wide) // 2, tall, wide


def motion(
    degrees: list[float],
    translate: list[float] | None,
    scale_ranges: list[float] | None,
    shears: list[float] | None,
    img_size: list[int],
) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
    """(angle, shifts in pixels, scale, shears) for an image of (width, height)."""
    angle = uniform(degrees[0], degrees[1])
    across, down = 0, 0
    if translate is not None:
        reach = translate[0] * img_size[0], translate[1] * img_size[1]
        across = nearest(uniform(-reach[0], reach[0]))
        down = nearest(uniform(-reach[1], reach[1]))
    scale = 1.0
    if scale_ranges is not None:
        scale = uniform(scale_ranges[0], scale_ranges[1])
    first, second = 0.0, 0.0
    if shears is not None:
        first = uniform(shears[0], shears[1])
        if len(shears) == 4:
            second = uniform(shears[2], shears[3])
    return angle, (across, down), scale, (first, second)


def between(low: int, high: int) -> int:
    """A whole number from low up to high, which does not occur."""
    return int(torch.randint(low, high, size=(1,)).item())


def corners(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
    """The corners of an image (x, y), clockwise from the top left, and where they come to."""
    across = int(distortion_scale * (width // 2))
    down = int(distortion_scale * (height // 2))
    ends = [
        [between(0, across + 1), between(0, down + 1)],
        [between(width - across - 1, width), between(0, down + 1)],
        [between(width - across - 1, width), between(height - down - 1, height)],
        [between(0, across + 1), between(height - down - 1, height)],
    ]
    return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends


def erasure(
    img: Tensor, scale: list[float], ratio: list[float], value: list[float] | None = None
) -> tuple[int, int, int, int, Tensor]:
    """(top, left, height, width, value); the image itself where no window fits after ten draws."""
    c, h, w = get_dimensions(img)
    found = erasure_of(c, h, w, scale, ratio, value)
    return (0, 0, h, w, img) if found is None else found


def erasure_of(
    c: int, h: int, w: int, scale: list[float], ratio: list[float], value: list[float] | None
) -> tuple[int, int, int, int, Tensor] | None:
    """`erasure` for an image of a size; None where no window fits."""
    for _ in range(10):
        tall, wide = sized(h * w, scale, ratio)
        if tall < h and wide < w:
            if value is None:
                fill = torch.empty([c, tall, wide]).normal_()
            else:
                fill = torch.tensor(value)[:, None, None]
            top, left, height, width = place(h, w, tall, wide)
            return top, left, height, width, fill
    return None
