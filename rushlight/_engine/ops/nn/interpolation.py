"""Resampling of space: nn.functional.interpolate, dim by dim: an output element reads a few of the input."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import has_channels_last
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import in_format, tensor_of
from rushlight._engine.ops.expressions import Expr
from rushlight._engine.ops.linalg.matmul import is_low_precision
from rushlight._engine.ops.nn.taps import FILTERS, _weighted_sums, fixed, nearest, taps
from rushlight._engine.ops.table import ROWS, Array, composite, pointwise

_MODES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
    "lanczos": (2,),
}


def _is_whole(size: Any) -> bool:
    """Whether it is an integer, or a tensor of integers."""
    if hasattr(size, "is_floating_point"):
        return not size.is_floating_point()
    return hasattr(size, "__index__")


def _out_sizes(space: Any, size: Any, scale_factor: Any) -> tuple[list[int], list[Any]]:
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "only one of size or scale_factor should be defined"
            if size is not None
            else "either size or scale_factor should be defined"
        )
    given = size if size is not None else scale_factor
    listed = list(given) if isinstance(given, (tuple, list)) else [given] * len(space)
    if len(listed) != len(space):
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(space)} and output size of {given}. Please provide input tensor in (N, C, "
            "d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
        )
    if size is not None:
        if not all(map(_is_whole, listed)):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                f"but got size with types {[type(n) for n in listed]}"
            )
        return [int(n) for n in listed], [None] * len(space)
    return [math.floor(n * s) for n, s in zip(space, listed, strict=True)], [float(s) for s in listed]


def _check_mode(ndim: int, mode: Any, align: bool, smooth: bool) -> None:
    """Raise for a mode that is none, or not one of so many dims."""
    if mode not in _MODES or not 3 <= ndim <= 5:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if ndim - 2 not in _MODES[mode]:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_MODES[mode][0] + 2}D input")
    if mode == "lanczos" and (align or not smooth):
        raise ValueError(
            "Lanczos mode does not support align_corners=True"
            if align
            else "Lanczos mode requires antialias=True"
        )


@composite(where=("nn.functional",), planned=True)
def interpolate(
    input,
    size: Any = None,
    scale_factor: Any = None,
    mode: Any = "nearest",  # as in PyTorch, what is no mode is told with the list of modes
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
):
    """(N, C, *space) resampled to `size`, or by `scale_factor`.

    mode: nearest (the default), nearest-exact, linear, bilinear, bicubic, trilinear, area, or lanczos, which
    asks for antialias=True.
    """
    dims = input.ndim - 2
    if antialias and not (mode in FILTERS and dims == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            f"tensor as input, got mode {mode!r} and {input.ndim}-D"
        )
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | "
            "bilinear | bicubic | trilinear"
        )
    out, scales = _out_sizes(input.shape[2:], size, scale_factor)
    if any(abs(o) >= 2**63 for o in out):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    _check_mode(input.ndim, mode, bool(align_corners), antialias)
    if recompute_scale_factor:
        scales = [None] * dims
    if min(*input.shape[2 if mode == "area" else 1 :], *out) < 1:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape[2:])} and output {out}"
        )
    if mode == "area":
        return ROWS[f"adaptive_avg_pool{dims}d"](input, out)
    return resized(input, out, scales, mode, bool(align_corners), antialias)


def resized(x: Any, out: Any, scales: Any, mode: str, align: bool, smooth: bool) -> Any:
    """(N, C, *space) resampled to sizes `out`; a scale that is not None says where elements are read."""
    if x.is_floating_point() and x.dtype.itemsize < 4 and mode not in ("nearest", "nearest-exact"):
        return resized(x.float(), out, scales, mode, align, smooth).to(x.dtype)  # rounded once
    whole = all([n * o <= _LARGE for n, o in zip(x.shape[2:], out, strict=True)])
    if whole and x.is_floating_point() and has_channels_last(x.shape, x.stride()):
        if mode in ("nearest", "nearest-exact"):
            how = tuple([(scale, False, mode, False) for scale in scales])
            return _picked(x.movedim(1, -1), out, how).movedim(-1, 1)
        if _blends(x, mode):
            return _last_resized(x, out, scales, align, mode, smooth)
    # The last dim comes first, as in PyTorch: bytes are rounded after each, and lines are made once.
    found, dims = x, x.ndim - 2
    if (
        dims > 1
        and not smooth
        and mode not in ("bicubic", "lanczos")
        and _blends(x, mode)
        and (math.prod(x.shape[:-2]) * math.prod(out[-2:]) >= _MANY)
    ):
        found, dims = _blended_planes(x, out[-2:], scales[-2:], align, mode), dims - 2
    for i in reversed(range(dims)):
        found = _along(found, 2 + i, out[i], scales[i], mode, align, smooth)
    return in_format(found, x)


def _blends(x: Any, mode: str) -> bool:
    """Whether elements are blends, and computed in their own dtype."""
    return mode not in ("nearest", "nearest-exact") and x.dtype.name in ("float32", "float64")


def _last_resized(x: Any, out: Any, scales: Any, *how: Any) -> Any:
    """`resized` of channels last as they lie, (N, *space, C)."""
    dims = x.ndim - 2
    found = x.permute(0, *range(2, dims + 2), 1)
    for i in reversed(range(dims)):
        found = _weighted_sums(found, 1 + i, x.shape[2 + i], out[i], (scales[i], *how))
    return found.permute(0, dims + 1, *range(1, dims + 1))


def _along(x: Any, dim: int, out: int, scale: float | None, mode: str, align: bool, smooth: bool) -> Any:
    size = x.shape[dim]
    if mode in ("nearest", "nearest-exact"):
        if not x.is_floating_point() and x.dtype.name != "uint8":
            raise NotImplementedError(
                f"\"compute_indices_weights_nearest\" not implemented for '{x.dtype.legacy}'"
            )
        places = nearest(size, out, scale, mode != "nearest")
        times = out // size
        if 1 < times <= _FEW and out == times * size and np.array_equal(places, np.arange(out) // times):
            return _repeated(x, dim, times)
        return x.index_select(dim, tensor_of(places))
    how = (scale, align, mode, smooth)
    if x.dtype.name == "uint8" and x.is_cuda:
        kernel = "upsample_bicubic2d_out_frame" if mode == "bicubic" else "upsample_bilinear2d_out_frame"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Byte'")
    if x.dtype.name == "uint8" and mode in FILTERS:
        whole, bits = fixed(size, out, *how)
        sums = x.movedim(dim, -1).double().matmul(tensor_of(whole)) / (1 << bits)
        return (sums + 0.5).floor().clamp(0, 255).to(x.dtype).movedim(-1, dim).contiguous()
    if not x.is_floating_point():
        raise NotImplementedError(f"\"{mode}\" not implemented for '{x.dtype.legacy}'; use input.float()")
    if size * out > _LARGE:
        return _by_taps(x, dim, *taps(size, out, *how))
    return _weighted_sums(x, dim, size, out, how)


# From this many elements on, a matrix of weights, nearly all of them 0, costs more than reading tap by tap.
_LARGE = 1 << 16
# From this many elements on, lines and columns are blended sooner than multiplied by such matrices.
_MANY = 1 << 19
# Copies of an element, up to which their gradients are added one after the other.
_FEW = 8
# Bytes of an element's copies, up to which all rows are walked once for each.
_APART = 16


@composite(name="_picked", where=("aten",))
def _picked(input, out: Any, how: Any):
    """(N, *out, C) of (N, *space, C): the elements that are nearest, by taps of each dim of space."""
    found = input
    for dim, size in enumerate(out, 1):
        found = found.index_select(dim, tensor_of(taps(input.shape[dim], size, *how[dim - 1])[0][:, 0]))
    return found


@lru_cache(maxsize=64)
def _numbers(lead: int, space: Any, out: Any, how: Any) -> Array:
    """Which rows those are, (lead, *out), of as many blocks of a space."""
    found = np.arange(lead)
    for size, to, one in zip(space, out, how, strict=True):
        found = found[..., None] * size + taps(size, to, *one)[0][:, 0]
    return found


@_picked.kernel
def _picked_kernel(input: Array, out: Any, how: Any) -> Any:
    if not input.flags.c_contiguous:
        return NotImplemented
    numbers = _numbers(len(input), input.shape[1:-1], tuple(out), how)
    rows = input.reshape(-1, input.shape[-1])
    found = service("gather rows")(rows, numbers)
    return rows.take(numbers, 0) if found is None else found


@_picked.gradient
def _picked_gradient(s: Any, grad: Any) -> Any:
    found = grad
    for i, (size, out, how) in enumerate(zip(s.shape("input")[1:-1], s.out, s.how, strict=True), 1):
        found = _weighted_sums(found, i, size, out, how, True)
    return found


@composite(name="_repeated", where=("aten",))
def _repeated(input, dim: int, times: int):
    """Each element along a dim as often as that."""
    return input.index_select(dim, tensor_of(np.arange(input.shape[dim] * times) // times))


@_repeated.kernel
def _repeated_kernel(input: Array, dim: int, times: int) -> Any:
    # Elements of rows are moved times after times: NumPy copies them one by one where it is asked for all.
    if fusing() or dim != input.ndim - 1 or times * input.itemsize > _APART or not input.flags.c_contiguous:
        return NotImplemented
    out = np.empty((*input.shape, times), input.dtype)
    for k in range(times):
        out[..., k] = input
    return out.reshape(*input.shape[:-1], input.shape[-1] * times)


@_repeated.gradient
def _repeated_gradient(s: Any, grad: Any) -> Any:
    first, *others = [ROWS["slice"](grad, s.dim, k, None, s.times) for k in range(s.times)]
    return sum(others, first)


@composite(name="_blended_planes", where=("aten",))
def _blended_planes(input, out: Any, scales: Any, align: bool, mode: str):
    """(*, *out) from planes (*, h, w), each element a blend of two lines and two columns."""
    found = input
    for dim, size, scale in ((-1, out[1], scales[1]), (-2, out[0], scales[0])):
        axis = input.ndim + dim
        found = _by_taps(found, axis, *taps(input.shape[dim], size, scale, align, mode, False))
    return found


@_blended_planes.kernel
def _blended_planes_kernel(input: Array, out: Any, scales: Any, align: bool, mode: str) -> Any:
    lines_and_columns = [
        taps(size, to, scale, align, mode, False)
        for size, to, scale in zip(input.shape[-2:], out, scales, strict=True)
    ]
    done = service("blend of lines and columns")(np.ascontiguousarray(input), *lines_and_columns)
    return NotImplemented if done is None else done


@_blended_planes.gradient
def _blended_planes_gradient(s: Any, grad: Any) -> Any:
    found, shape = grad, s.shape("input")
    for i in (-2, -1):
        how = (s.scales[i], s.align, s.mode, False)
        found = _weighted_sums(found, grad.ndim + i, shape[i], s.out[i], how, True)
    return found


def _by_taps(x: Any, dim: int, at: Array, weights: Array) -> Any:
    wide = x.float() if is_low_precision(x._geometry) else x  # the sum is rounded once
    shape = [-1 if d == dim else 1 for d in range(x.ndim)]
    weights = weights.astype(wide._geometry.dtype)
    lines = [wide.index_select(dim, tensor_of(a.copy())) for a in at.T]
    parts = [tensor_of(w.copy().reshape(shape)) for w in weights.T]
    if len(lines) == 2:
        return _blended(*lines, *parts).to(x.dtype)
    return sum([line * part for line, part in zip(lines, parts, strict=True)]).to(x.dtype)


@pointwise(where=(), inplace=False)
def _blended(first: Expr, second: Expr, low: Expr, high: Expr) -> Expr:
    """first * low + second * high."""
    return first * low + second * high
