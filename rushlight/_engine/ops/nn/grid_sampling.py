"""Sampling of images and volumes at the points of a grid: grid_sample, and affine_grid that makes grids.

Points are written with rows of the grid, so that the grid gets its gradient; a point between elements
is a weighted sum of gathered neighbours.
"""

from __future__ import annotations

import itertools
import math
from functools import cache, partial
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.ops.expressions import m, symbol
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.nn.taps import keys_far, keys_near
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.row_expressions import fetch
from rushlight._engine.ops.row_kernels import BIG
from rushlight._engine.ops.table import ROWS, Array, composite

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
_WARNING = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


# --- points ---------------------------------------------------------------------------------------


class _Rows:
    """What points are computed by, of tensors; expressions have atoms. Whole numbers have no gradient."""

    def __getattr__(self, name: str) -> Any:
        return ROWS[name]

    @staticmethod
    def floor(x: Any) -> Any:
        return x.detach().floor()

    @staticmethod
    def cast(x: Any, arg: str) -> Any:
        return x.long()


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


def _taps(m: Any, x: Any, size: Any, mode: str, padding: str, align: bool) -> list[tuple[Any, Any]]:
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
    weights = (keys_far(part + 1, a), keys_near(part, a), keys_near(1 - part, a), keys_far(2 - part, a))
    return [(_inside(m, low + k, size, padding, align), w) for k, w in enumerate(weights, -1)]


def _slopes(m: Any, x: Any, size: float, mode: str, padding: str, align: bool) -> list[Any]:
    """How the weights of `_taps` change with x, which is no whole number's when mode is "nearest"."""
    scale, x = (size - 1 if align else size) / 2, _unnormalized(x, size, align)
    if mode == "bicubic":
        part, a = x - m.floor(x), -0.75
        far, near = (partial(slope, a=a) for slope in (_far_slope, _near_slope))
        return [scale * t for t in (far(part + 1), near(part), -near(1 - part), -far(2 - part))]
    slope = scale * _inside_slope(m, x, size, padding, align)
    return [-slope, slope]


def _near_slope(t: Any, a: float) -> Any:
    return (3 * (a + 2) * t - 2 * (a + 3)) * t


def _far_slope(t: Any, a: float) -> Any:
    return (3 * a * t - 10 * a) * t + 8 * a


def _inside_slope(m: Any, x: Any, size: float, padding: str, align: bool) -> Any:
    """How `_inside` changes with x: 0 beyond the borders, -1 where it runs back."""
    if padding == "zeros":
        return 1.0
    slope: Any = 1.0
    if padding == "reflection":
        low, span = (0.0, size - 1) if align else (-0.5, size)
        if not span:
            return x * 0
        turns = m.floor(m.abs(x - low) / span)
        slope = m.sgn(x - low) * (1 - 2 * m.fmod(turns, 2.0))
        x = _reflected(m, x, size, align)
    return m.where((x > 0) & (x < size - 1), slope, 0.0)


# --- values ---------------------------------------------------------------------------------------


def _reads(m: Any, points: Any, sizes: Any, extents: Any, *how: Any) -> list[tuple[Any, Any, Any]]:
    """(index, whether it is inside, weight) of each element of a channel that points read: all combinations
    of the dims' taps. extents: the sizes as floats.
    """
    found: list[tuple[Any, Any, Any]] = [(0, True, 1.0)]
    for x, size, extent in zip(points, sizes, extents, strict=True):
        own = []
        for place, weight in _taps(m, x, extent, *how):
            inside = (place >= 0) & (place <= extent - 1)
            own.append((m.cast(m.where(inside, place, 0.0), arg="int32"), inside, weight))
        found = [
            (before * size + index, inside & within, share * weight)
            for before, within, share in found
            for index, inside, weight in own
        ]
    return found


def _sampled(input: Any, grid: Any, mode: str, *how: Any) -> Any:
    _check(input._geometry, grid._geometry, mode)
    kept, sizes, total = input.dtype, input.shape[2:], None
    if kept.itemsize < 4:
        input, grid = input.float(), grid.float()
    flat = input.flatten(2)
    # A point is (x, y, z), the dims are (depth, height, width).
    points = grid.flatten(1, -2).unbind(-1)[::-1]
    for index, inside, weight in _reads(_Rows(), points, sizes, map(float, sizes), mode, *how):
        values = flat.gather(-1, index.unsqueeze(1).expand(-1, flat.shape[1], -1))
        values = values.masked_fill(~inside.unsqueeze(1), 0)
        # The grid takes part in the graph with a gradient of 0, where there are no weights.
        nothing = points[0].sgn().unsqueeze(1) * 0 if mode == "nearest" else None
        part = values * weight.unsqueeze(1) if nothing is None else values + nothing
        total = part if total is None else total + part
    return total.reshape(*input.shape[:2], *grid.shape[1:-1]).to(kept)  # type: ignore[union-attr]


# --- rows -----------------------------------------------------------------------------------------


def _check(input: Array, grid: Array, mode: str) -> None:
    shapes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.dtype != grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected scalar type {legacy(input)} but found "
            f"{legacy(grid)}; input and grid must have the same dtype"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, "
            f"but got grid with sizes {list(grid.shape)}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
            f"but got {shapes}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
            f"has sizes {list(input.shape)}"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if dt.from_numpy_dtype(input.dtype).category != dt.FLOATING:
        raise NotImplementedError(
            f"\"grid_sampler_{input.ndim - 2}d_cpu_kernel_impl\" not implemented for '{legacy(input)}'"
        )


@composite(where=("aten",), node="grid_sampler_2d", planned=True)
def _grid_sample(input, grid, mode: str, padding: str, align: bool):
    """grid_sample."""
    return _sampled(input, grid, mode, padding, align)


@_grid_sample.kernel
@resolved
def _grid_sample_kernel(input: Array, grid: Array, *how: Any) -> Any:
    _check(input, grid, how[0])
    sizes, of, points = input.shape[2:], input.dtype, math.prod(grid.shape[1:-1])
    fits = service("suits the team")(input, grid) and 0 < input.size < 1 << 31
    if not fits or 1 in sizes or not grid.size or not input[0, 0].flags.c_contiguous:
        return NotImplemented
    kernel, lead = _kernel(of.name, len(sizes), *how), input.shape[:2]
    kernel.compile_now()
    places = (np.arange(n) * step for n, step in zip(lead, input.strides, strict=False))
    offsets = np.add.outer(*places).reshape(*lead, *[1] * len(sizes))
    given = [np.array(n, np.int32) for n in sizes]
    large, shape = offsets.size * points >= BIG, (*lead, *grid.shape[1:-1])
    # Coordinates dim by dim, each of which the channels read again and again.
    first = grid.ndim - 1, *range(grid.ndim - 1)
    dims = [(k, slice(None), None) for k in reversed(range(len(sizes)))]
    start, out, grid = np.array(pointer(input)), np.empty(shape, of), grid.transpose(first).copy()
    views = start, offsets, *[grid[dim] for dim in dims], *given, out
    loop = (
        None
        if large
        else service("loop over few elements")(kernel, views, (start, offsets, grid, *given, out))
    )

    def sample(input: Array, grid: Array) -> Array:
        start, grid = np.array(pointer(input)), grid.transpose(first).copy()
        if loop is None:
            found: Array = kernel.large(start, offsets, *[grid[dim] for dim in dims], *given)
            return found
        out = np.empty(shape, of)
        loop(start, offsets, grid, *given, out)
        return out

    return sample


@_grid_sample.gradient
def _grid_sample_gradient(s: Any, grad: Any) -> Any:
    how = s.mode, s.padding, s.align
    to_input = _spread(grad, s.grid, s.shape("input")[2:], *how) if s.needs("input") else None
    if not s.needs("grid"):
        return to_input, None
    if s.mode == "nearest":
        return to_input, s.grid.new_zeros(s.grid.shape)
    return to_input, _grid_slopes(grad, s.input, s.grid, *how)


@composite(name="_spread_samples", where=("aten",))
def _spread(grad, grid, sizes: Ints, mode: str, padding: str, align: bool):
    """What the elements of an image get of the gradients of samples."""
    of = grad.dtype
    if of.itemsize < 4:
        grad, grid = grad.float(), grid.float()
    grad, points = grad.flatten(2), grid.flatten(1, -2).unbind(-1)[::-1]
    found = grad.new_zeros(*grad.shape[:2], math.prod(sizes))
    for index, inside, weight in _reads(_Rows(), points, sizes, map(float, sizes), mode, padding, align):
        share = ROWS["where"](inside, weight, 0.0).unsqueeze(1)
        places = index.unsqueeze(1).expand(-1, grad.shape[1], -1).contiguous()
        found = found.scatter_add(-1, places, grad * share)
    return found.reshape(*grad.shape[:2], *sizes).to(of)


@_spread.kernel
def _spread_kernel(grad: Array, grid: Array, sizes: Any, mode: str, *how: Any) -> Any:
    of, lead = grad.dtype, grad.shape[:2]
    suits = mode != "bicubic" and of == grid.dtype and service("suits the team")(grad, grid)
    if not suits or fusing() or 1 in sizes or not grid.size or not 0 < math.prod(sizes) < 1 << 31:
        return NotImplemented
    kernel = _spread_code(of.name, len(sizes), mode, *how)
    kernel.compile_now()
    turned = grid.transpose(grid.ndim - 1, *range(grid.ndim - 1)).copy()
    points = [turned[k, :, None] for k in reversed(range(len(sizes)))]
    parts = kernel.large(np.ascontiguousarray(grad), *points, *[np.array(n, np.int32) for n in sizes])
    parts = [t.reshape(*lead, -1) for t in parts]
    found = np.zeros((*lead, math.prod(sizes)), of)
    for index, values in zip(parts[::2], parts[1::2], strict=True):
        if not service("gather or scatter along a dim")("sum", found, 2, index, values):
            np.add.at(found, (*np.ix_(*map(range, lead), [0])[:2], index), values)
    return found.reshape(*lead, *sizes)


@cache
def _spread_code(of: str, dims: int, *how: Any) -> Any:
    """For each tap the places of the elements that points read, and the gradients times the weights."""
    points, sizes = ([symbol(f"{what}{i}") for i in range(dims)] for what in "xn")
    outputs: list[Any] = []
    for index, inside, weight in _reads(m, points, sizes, [m.cast(n, arg=of) for n in sizes], *how):
        outputs += [m.cast(index, arg="int64"), symbol("grad") * m.where(inside, weight, 0.0)]
    inputs = [("grad", of), *[(x.arg, of) for x in points], *[(n.arg, "int32") for n in sizes]]
    return service("pointwise kernel")(tuple(outputs), tuple(inputs), ("int64", of) * (len(outputs) // 2))


@composite(name="_grid_slopes", where=("aten",))
def _grid_slopes(grad, input, grid, mode: str, padding: str, align: bool):
    """The gradients of the points: of each, its channels' gradients times how samples change along a dim."""
    of, sizes, shape = grid.dtype, input.shape[2:], grid.shape
    if of.itemsize < 4:
        grad, input, grid = grad.float(), input.float(), grid.float()
    grad, flat, how = grad.flatten(2), input.flatten(2), (mode, padding, align)
    points, rows = grid.flatten(1, -2).unbind(-1)[::-1], _Rows()
    taps = [_taps(rows, x, float(n), *how) for x, n in zip(points, sizes, strict=True)]
    slopes = [_slopes(rows, x, float(n), *how) for x, n in zip(points, sizes, strict=True)]
    totals: list[Any] = [0] * len(sizes)
    choices = itertools.product(*[range(len(t)) for t in taps])
    reads = _reads(rows, points, sizes, map(float, sizes), *how)
    for choice, (index, inside, _) in zip(choices, reads, strict=True):
        values = flat.gather(-1, index.unsqueeze(1).expand(-1, flat.shape[1], -1).contiguous())
        along = ROWS["where"](inside, (grad * values).sum(1), 0.0)
        for d, total in enumerate(totals):
            factors = [(slopes if e == d else taps)[e][k] for e, k in enumerate(choice)]
            totals[d] = total + along * math.prod([f if e == d else f[1] for e, f in enumerate(factors)])
    return ROWS["stack"](totals[::-1], -1).reshape(shape).to(of)


@cache
def _kernel(of: str, dims: int, *how: Any) -> Any:
    """The sum of what a point reads: of an address, channels' places, coordinates dim by dim, and sizes."""
    points, sizes = ([symbol(f"{what}{i}") for i in range(dims)] for what in "xn")
    base = symbol("base") + symbol("start")
    parts = [
        m.where(inside, fetch(of, base, m.cast(index, arg="int64")), 0.0) * weight
        for index, inside, weight in _reads(m, points, sizes, [m.cast(n, arg=of) for n in sizes], *how)
    ]
    inputs = [
        *[(n, "int64") for n in ("base", "start")],
        *[(x.arg, of) for x in points],
        *[(n.arg, "int32") for n in sizes],
    ]
    return service("pointwise kernel")((sum(parts[1:], parts[0]),), tuple(inputs), (of,))


@composite(where=("nn.functional",), planned=True)
def grid_sample(
    input, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
):
    """The values (N, C, *out) of input (N, C, *space) at the points of grid (N, *out, dims).

    grid: coordinates (x, y) or (x, y, z), -1 and 1 being the borders.  mode: "bilinear", "nearest" or
    "bicubic".  padding_mode: what lies outside: "zeros", the "border", or a "reflection".
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
            f"'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn(_WARNING, UserWarning)
    return _grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def _numbered(name: str, ndim: int | None) -> None:
    """The function with numbers for modes."""

    def body(input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool):
        mode = _MODES[interpolation_mode]
        if ndim is not None and input.ndim != ndim + 2:
            raise RuntimeError(
                f"{name}(): expected {ndim + 2}D input, but got input with sizes {list(input.shape)}"
            )
        return _grid_sample(input, grid, mode, _PADDINGS[padding_mode], align_corners)

    composite(body, name=name, where=("torch",), doc="grid_sample, with numbers for the modes.")


_numbered("grid_sampler", None)
_numbered("grid_sampler_2d", 2)
_numbered("grid_sampler_3d", 3)


def _check_affine(theta: Any, size: Any) -> None:
    if theta.dtype.category != dt.FLOATING:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
            f"transforms, respectively. Got size {tuple(size)}."
        )
    n = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size "
            f"{tuple(size)}. Got {tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")


@composite(where=("nn.functional",))
def affine_grid(theta, size: Any, align_corners: bool | None = None):
    """The grid (N, *space, dims) of an image (N, C, *space) under affine maps theta (N, dims, dims + 1)."""
    size = [int(n) for n in size]
    _check_affine(theta, size)
    if align_corners is None:
        warn(_WARNING, UserWarning)
    space = size[2:]
    if align_corners and min(space) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the documentation of "
            "affine_grid for details.",
            UserWarning,
        )
    axes = []
    for n in space:
        line = (
            ROWS["linspace"](-1, 1, n, dtype=theta.dtype, device=theta.device)
            if n > 1
            else theta.new_zeros(1)
        )
        axes.append(line if align_corners else line * ((n - 1) / n))
    points = [*ROWS["meshgrid"](*axes, indexing="ij")][::-1]
    base = ROWS["stack"]([*points, theta.new_ones(space)], -1).view(1, -1, len(space) + 1)
    found = base.expand(size[0], -1, -1).bmm(theta.transpose(1, 2))
    return found.view(size[0], *space, len(space))
