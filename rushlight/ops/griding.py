"""Sampling of images and volumes at the points of a grid: grid_sample, and affine_grid that makes grids.

Points are written with rows of the grid, so that the grid gets its gradient; a point between elements
is a weighted sum of gathered neighbours.
"""
from __future__ import annotations

import itertools
import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.ops.along import legacy
from rushlight.ops.machine import machine
from rushlight.ops.rowexpr import fetch
from rushlight.ops.rowkernels import BIG
from rushlight.ops.scalar import const, m, symbol
from rushlight.ops.table import ROWS, composite
from rushlight.ops.ways import Way, resolved

Array = np.ndarray[Any, Any]
_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
_WARNING = ("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify align_corners=True if the old behavior is desired. See the documentation of "
            "grid_sample for details.")


# --- points ---------------------------------------------------------------------------------------


class _Rows:
    """What points are computed by, of tensors; expressions have atoms. Whole numbers have no gradient."""

    def __getattr__(self, name: str) -> Any:
        return ROWS[name]

    def floor(self, x: Any) -> Any:
        """The whole part."""
        return x.detach().floor()


def _unnormalized(x: Any, size: Any, align: bool) -> Any:
    """From [-1, 1] to places of elements; align: -1 and 1 are the centers of the outermost ones."""
    return (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2


def _reflected(m: Any, x: Any, size: Any, align: bool) -> Any:
    low, span = (0.0, size - 1) if align else (-0.5, size)
    if size.__class__ is float and not span:
        return x * 0
    apart = m.abs(x - low)
    rest, turns = m.fmod(apart, span), m.floor(apart / span)
    return m.where(m.fmod(turns, 2.0) < 1, rest, span - rest) + low


def _inside(m: Any, x: Any, size: Any, padding: str, align: bool) -> Any:
    """Points brought into the image, as `padding` says."""
    if padding == "reflection":
        x = _reflected(m, x, size, align)
    if padding == "zeros":
        return x
    return m.hardtanh(m.where(m.isnan(x), 0.0, x), 0.0, size - 1)


def taps(m: Any, x: Any, size: Any, mode: str, padding: str, align: bool) -> list[tuple[Any, Any]]:
    """The places (whole numbers) that a dim's coordinates x in [-1, 1] read, each with its weight."""
    x = _unnormalized(x, size, align)
    if mode == "bicubic":
        return _cubic_taps(m, x, size, padding, align)
    x = _inside(m, x, size, padding, align)
    if mode == "nearest":
        return [(m.round(x), 1.0)]
    low = m.floor(x)
    part = x - low
    return [(low, 1 - part), (low + 1, part)]


def _cubic_taps(m: Any, x: Any, size: Any, padding: str, align: bool, a: float = -0.75) -> list[Any]:
    """Keys' cubic convolution over four neighbours."""
    low = m.floor(x)
    part = x - low

    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    weights = (far(part + 1), near(part), near(1 - part), far(2 - part))
    return [(_inside(m, low + k, size, padding, align), w) for k, w in zip((-1, 0, 1, 2), weights, strict=True)]


# --- values ---------------------------------------------------------------------------------------


def _gathered(flat: Any, places: list[Any], sizes: Any) -> Any:
    """The values (N, C, P) at whole places, one (N, P) tensor a dim; 0 outside of the image."""
    index, valid = None, None
    for place, size in zip(places, sizes, strict=True):
        place = place.detach()
        within = (place >= 0) & (place <= size - 1)
        whole = place.long().clamp(0, size - 1)
        index = whole if index is None else index * size + whole
        valid = within if valid is None else valid & within
    values = flat.gather(-1, index.unsqueeze(1).expand(-1, flat.shape[1], -1))
    return values.masked_fill(~valid.unsqueeze(1), 0)


def _weighted(flat: Any, taps: list[list[tuple[Any, Any]]], sizes: Any) -> Any:
    """The sum over all combinations of each dim's (place, weight)."""
    total = None
    for chosen in itertools.product(*taps):
        values = _gathered(flat, [place for place, _ in chosen], sizes)
        weight = chosen[0][1]
        for _, other in chosen[1:]:
            weight = weight * other
        part = values * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total


def _sampled(input: Any, grid: Any, mode: str, padding: str, align: bool) -> Any:
    _check(input._a, grid._a, mode)
    kept, sizes = input.dtype, input.shape[2:]
    if kept.itemsize < 4:
        input, grid = input.float(), grid.float()
    flat = input.reshape(*input.shape[:2], -1)
    points = grid.reshape(grid.shape[0], -1, len(sizes))
    # A point is (x, y, z), the dims are (depth, height, width).
    read = [taps(_Rows(), points.select(-1, len(sizes) - 1 - i), float(n), mode, padding, align)
            for i, n in enumerate(sizes)]
    if mode == "nearest":
        places = [place for (place, _), in read]
        # The grid takes part in the graph with a gradient of 0.
        found = _gathered(flat, places, sizes) + places[0].sgn().unsqueeze(1) * 0
    else:
        found = _weighted(flat, read, sizes)
    return found.reshape(*input.shape[:2], *grid.shape[1:-1]).to(kept)


# --- rows -----------------------------------------------------------------------------------------


def _check(input: Array, grid: Array, mode: str) -> None:
    shapes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
                           f"but got {shapes}")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected scalar type {legacy(input)} but found "
                           f"{legacy(grid)}; input and grid must have the same dtype")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got "
                           f"{shapes}")
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, "
                           f"but got grid with sizes {list(grid.shape)}")
    if 0 in input.shape[2:]:
        raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                           f"has sizes {list(input.shape)}")
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if dt.from_numpy_dtype(input.dtype).category != dt.FLOATING:
        raise NotImplementedError(f"\"grid_sampler_{input.ndim - 2}d_cpu_kernel_impl\" not implemented for "
                                  f"'{legacy(input)}'")


@composite(where=("aten",), planned=True)
def _grid_sample(input, grid, mode: "str", padding: "str", align: "bool"):
    """grid_sample."""
    return _sampled(input, grid, mode, padding, align)


@_grid_sample.kernel
@resolved
def _(input: Array, grid: Array, *how: Any) -> Way:
    _check(input, grid, how[0])
    sizes, of, points = input.shape[2:], input.dtype, math.prod(grid.shape[1:-1])
    kernel = _kernel(of.name, len(sizes), *how) if of.char in "fd" and input.flags.c_contiguous else None
    if kernel is None or not (input.size and kernel.compile_now()) or 1 in sizes and how[1] == "reflection":
        return NotImplemented
    lead, shape = input.shape[:2], (*input.shape[:2], *grid.shape[1:-1])
    offsets = np.arange(math.prod(lead)).reshape(*lead, 1) * (math.prod(sizes) * of.itemsize)
    extents, run = [np.array(n, np.int32) for n in sizes], kernel.large if math.prod(shape) >= BIG else kernel.fn

    def sample(input: Array, grid: Array) -> Array:
        at = grid.reshape(lead[0], 1, points, len(sizes))
        found: Array = run(offsets + machine("team", "pointer")(input),
                           *[at[..., i] for i in range(len(sizes) - 1, -1, -1)], *extents)
        return found.reshape(shape)
    return sample


@lru_cache(maxsize=None)
def _kernel(of: str, dims: int, *how: Any) -> Any:
    """The sum of what a point reads: of addresses of channels, coordinates dim by dim, and sizes."""
    base, found = symbol("base"), [(const(0), const(True), const(1.0))]
    names = [f"{what}{i}" for what in "xn" for i in range(dims)]
    for i in range(dims):
        size = symbol(f"n{i}")
        extent, read = m.cast(size, arg=of), []
        for place, weight in taps(m, symbol(f"x{i}"), extent, *how):
            within = (place >= 0) & (place <= extent - 1)
            read.append((m.cast(m.where(within, place, 0.0), arg="int32"), within, weight))
        found = [(before * size + place, inside & within, share * weight)
                 for before, inside, share in found for place, within, weight in read]
    parts = [m.where(inside, fetch(of, base, m.cast(place, arg="int64")), 0.0) * share for place, inside, share in found]
    inputs = (("base", "int64"), *[(name, of if name[0] == "x" else "int32") for name in names])
    return machine("pointwise", "pointwise")((sum(parts[1:], parts[0]),), inputs, (of,))


@composite(where=("nn.functional",))
def grid_sample(input, grid, mode: "str" = "bilinear", padding_mode: "str" = "zeros",
                align_corners: "bool | None" = None):
    """The values (N, C, *out) of input (N, C, *space) at the points of grid (N, *out, dims).

    grid: coordinates (x, y) or (x, y, z), -1 and 1 being the borders.  mode: "bilinear", "nearest" or
    "bicubic".  padding_mode: what lies outside: "zeros", the "border", or a "reflection".
    """
    if mode not in _MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
                         f"'bicubic', but got: '{mode}'")
    if padding_mode not in _PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
                         f"'reflection', but got: '{padding_mode}'")
    if align_corners is None:
        warnings.warn(_WARNING, UserWarning, stacklevel=5)
    return _grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def _numbered(name: str, ndim: int | None) -> None:
    """The function with numbers for modes."""
    def body(input, grid, interpolation_mode: "int", padding_mode: "int", align_corners: "bool"):
        mode = _MODES[interpolation_mode]
        if ndim is not None and input.ndim != ndim + 2:
            raise RuntimeError(f"{name}(): expected {ndim + 2}D input, but got input with sizes "
                               f"{list(input.shape)}")
        return _grid_sample(input, grid, mode, _PADDINGS[padding_mode], align_corners)
    composite(body, name=name, where=("torch",), doc="grid_sample, with numbers for the modes.")


_numbered("grid_sampler", None)
_numbered("grid_sampler_2d", 2)
_numbered("grid_sampler_3d", 3)


def _check_affine(theta: Any, size: Any) -> None:
    if theta.dtype.category != dt.FLOATING:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
                                  f"transforms, respectively. Got size {tuple(size)}.")
    n = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (n, n + 1):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size "
                         f"{tuple(size)}. Got {tuple(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")


@composite(where=("nn.functional",))
def affine_grid(theta, size: "Any", align_corners: "bool | None" = None):
    """The grid (N, *space, dims) of an image (N, C, *space) under affine maps theta (N, dims, dims + 1)."""
    size = [int(n) for n in size]
    _check_affine(theta, size)
    if align_corners is None:
        warnings.warn(_WARNING, UserWarning, stacklevel=5)
    space = size[2:]
    axes = []
    for n in space:
        line = ROWS["linspace"](-1, 1, n, dtype=theta.dtype) if n > 1 else theta.new_zeros(1)
        axes.append(line if align_corners else line * ((n - 1) / n))
    points = [*ROWS["meshgrid"](*axes, indexing="ij")][::-1]
    base = ROWS["stack"]([*points, theta.new_ones(space)], -1).view(1, -1, len(space) + 1)
    found = base.expand(size[0], -1, -1).bmm(theta.transpose(1, 2))
    return found.view(size[0], *space, len(space))
