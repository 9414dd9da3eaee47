"""Elements in other places, or several times: flip, roll, repeat, tril, diag, pixel_shuffle and the like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import host
from rushlight._engine.core.dtype import from_numpy_dtype
from rushlight._engine.core.errors import wrap_dim, wrap_dims
from rushlight._engine.core.layout import as_tuple, tiled
from rushlight._engine.core.recording import decides
from rushlight._engine.ops import forms
from rushlight._engine.ops.creation.copying import (
    arranged,
    assign,
    duplicate,
    formatted,
    in_format,
    tensor_of,
)
from rushlight._engine.ops.indexing.along_dim import at_least_1d, refuse_wide
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import ROWS, Array, Row, composite, opaque


@composite(planned=True)
def diagflat(input, offset: int = 0):
    """The matrix with input's elements as a diagonal."""
    return input.reshape(-1).diag_embed(offset)


# --- turning --------------------------------------------------------------------------------------


@opaque(quiet=True)
@resolved
def flip(input, dims: "*Ints") -> ArrayFunction:
    """The order of the elements along each of dims reversed."""
    axes = wrap_dims(as_tuple(dims), input.ndim) if as_tuple(dims) else ()
    if input.ndim - 1 in axes and input.size:  # PyTorch copies whole rows otherwise
        refuse_wide("flip_cpu", input.dtype)
    at = (..., *[slice(None, None, -1 if d in axes else 1) for d in range(input.ndim)])
    if input.flags.c_contiguous:
        return lambda a: duplicate(a[at])
    return lambda a: assign(arranged(a), a[at])


flip.gradient(lambda s, grad: grad.flip(s.dims))


def _flipped(name: str, what: str, dim: int) -> None:
    def body(input):
        if input.ndim <= dim:
            raise RuntimeError(f"Input must be >= {dim + 1}-d.")
        return input.flip((dim,))

    composite(body, name=name, doc=f"The {what} in reverse order.")


_flipped("fliplr", "columns", 1)
_flipped("flipud", "rows", 0)


@composite(planned=True)
def rot90(input, k: int = 1, dims: Ints = (0, 1)):
    """Turned k times by 90 degrees in the plane of two dims."""
    axes = as_tuple(dims)
    if len(axes) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(axes)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == input.ndim:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {axes[0]} and dim1 = {axes[1]}"
        )
    first, second = (wrap_dim(d, input.ndim) for d in axes)
    k %= 4
    if k == 1:
        return input.flip((second,)).transpose(first, second)
    if k == 2:
        return input.flip((first, second))
    if k == 3:
        return input.flip((first,)).transpose(first, second)
    return input.clone() if input.is_contiguous() else input.contiguous()


@opaque(quiet=True)
@resolved
def roll(input, shifts: Ints, dims: Ints | None = ()) -> ArrayFunction:
    """The elements moved on by shifts along dims, those that fall off entering at the start."""
    steps, axes = as_tuple(shifts), as_tuple(() if dims is None else dims)
    if not steps:
        raise RuntimeError("`shifts` required")
    if not axes and len(steps) == 1:
        rolled = _rolling((input.size,), steps, (0,))
        return lambda a: rolled(a.reshape(-1)).reshape(a.shape)
    if len(steps) != len(axes):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    return formatted(input, _rolling(input.shape, steps, [wrap_dim(d, input.ndim) for d in axes]))


def _rolling(shape: tuple[int, ...], steps: Sequence[int], dims: Sequence[int]) -> ArrayFunction:
    """What moves the elements of such arrays on: each dim is two slices."""
    along: list[list[tuple[slice, slice]]] = []
    for d, n in enumerate(shape):
        by = sum(step for step, own in zip(steps, dims, strict=True) if own == d) % max(n, 1)
        whole = (slice(None), slice(None))
        both = [(slice(by, None), slice(n - by)), (slice(by), slice(n - by, None))]
        along.append(both if by else [whole])
    pieces = [tuple(zip(*chosen, strict=True)) for chosen in product(*along)]

    def run(a: Array) -> Array:
        out = np.empty(a.shape, a.dtype)
        for to, source in pieces:
            out[to] = a[source]
        return out

    return run


roll.gradient(lambda s, grad: roll(grad, tuple(-n for n in as_tuple(s.shifts)), s.dims))


# --- triangles and diagonals ----------------------------------------------------------------------


def _triangle(name: str, doc: str, upper: bool) -> Row:
    def body(input, diagonal: int = 0) -> ArrayFunction:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {input.ndim}")
        if input.size > 1 << 14 or input.itemsize > 8:
            if input.shape[-2] > _STRIP * _STRIPS:
                return lambda a: np.asarray((np.triu if upper else np.tril)(a, diagonal), order="C")
            return _strips(input.shape[-2], input.shape[-1], diagonal, upper)
        mask, of = _mask(*input.shape[-2:], diagonal, upper, input.itemsize), input.dtype
        bits = mask.dtype  # which are faster than np.where
        return lambda a: (np.ascontiguousarray(a).view(bits) & mask).view(of)

    def rule(s: Any, grad: Any) -> Any:
        return ROWS[name](grad, s.diagonal)

    return opaque(resolved(body), name=name, doc=doc, vjp=rule, inplace=True, out=True, quiet=True)


# Rows of a strip, and the most strips of a matrix.
_STRIP, _STRIPS = 64, 1 << 9


def _strips(rows: int, columns: int, k: int, upper: bool) -> ArrayFunction:
    """What copies such matrices and clears, strip by strip, what is beside the triangle."""
    clear: list[tuple[slice, slice, Any]] = []
    for low in range(0, rows, _STRIP):
        high = min(low + _STRIP, rows)
        # From column `first` on some rows of the strip are cleared, or no longer; from `last` on all or none.
        first, last = (min(max(n + k, 0), columns) for n in ((low, high - 1) if upper else (low + 1, high)))
        apart = np.arange(first, last) - np.arange(low, high)[:, None]
        here = slice(low, high)
        clear.append((here, slice(first, last), apart < k if upper else apart > k))
        clear.append((here, slice(0, first) if upper else slice(last, columns), True))

    def run(a: Array) -> Array:
        out, nothing = duplicate(a), a.dtype.type(0)
        for lines, part, which in clear:
            np.copyto(out[..., lines, part], nothing, where=which)
        return out

    return run


@lru_cache(maxsize=32)
def _mask(rows: int, columns: int, k: int, upper: bool, size: int) -> Array:
    return -(np.tri(rows, columns, k - upper, bool) ^ upper).astype(f"i{size}")


tril = _triangle("tril", "The elements on and below a diagonal, zeros elsewhere.", False)
triu = _triangle("triu", "The elements on and above a diagonal, zeros elsewhere.", True)


@composite(planned=True)
def trace(input):
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return input.diagonal().sum()


@composite(out=True, planned=True)
def diag(input, diagonal: int = 0):
    """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of its diagonal."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim == 2:
        return input.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@opaque(quiet=True)
def diag_embed(input, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """input's last dim as the diagonal of matrices that lie in dim1 and dim2 of the result."""
    ndim = input.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = input.shape[-1] + abs(offset)
    out = np.zeros((*input.shape[:-1], side, side), input.dtype)
    rows = out if side == input.shape[-1] else out[..., max(-offset, 0) :, max(offset, 0) :]
    np.einsum("...ii->...i", rows[..., : input.shape[-1], : input.shape[-1]])[...] = input
    usual = (first, second) == (ndim - 2, ndim - 1)
    return out if usual else np.ascontiguousarray(np.moveaxis(out, (-2, -1), (first, second)))


diag_embed.gradient(lambda s, grad: grad.diagonal(s.offset, s.dim1, s.dim2))


# --- several times --------------------------------------------------------------------------------


@opaque(where=("Tensor",), quiet=True)
def repeat(input, repeats: "*Ints") -> Array:
    """The tensor laid out repeats[i] times along each dim; more repeats than dims add dims."""
    times = as_tuple(repeats)
    if len(times) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in times):
        sizes = [n * m for n, m in zip(times, (1,) * (len(times) - input.ndim) + input.shape, strict=True)]
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(n for n in sizes if n < 0)}: {sizes}"
        )
    return tiled(input, times) if times else input.copy()


@repeat.gradient
def repeat_gradient(s: Any, grad: Any) -> Any:
    shape, times = s.shape("input"), as_tuple(s.repeats)
    extra = len(times) - len(shape)
    full = (1,) * extra + tuple(shape)
    if 0 in times:
        return grad.new_zeros(shape)
    split = [n for pair in zip(times, full, strict=True) for n in pair]
    summed = grad.reshape(split).sum(tuple(range(0, len(split), 2))) if split else grad
    return summed.reshape(shape)


@composite(planned=True)
def tile(input, dims: "*Ints"):
    """repeat, where fewer repeats than dims leave the first dims alone."""
    times = as_tuple(dims)
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


@composite
def repeat_interleave(
    input: Tensor | None = None,
    repeats: Tensor | Number | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
):
    """Each element (or slice along dim) several times, one copy after the other.

    repeats: an int, or an int tensor with one number for each slice. With repeats alone, the
    positions repeated by it. dim None flattens input.
    """
    if repeats is None or input is None:
        if (alone := repeats if input is None else input) is None:
            raise forms.refusal(ROWS["repeat_interleave"])
        return _positions(alone, output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    d = wrap_dim(dim, input.ndim)
    if not hasattr(repeats, "_kind"):
        return _repeat_each(input, int(repeats), d)
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    size = input._geometry.shape[d] if input.ndim else 1
    if repeats.ndim == 0 or repeats._geometry.size == 1:
        repeats = repeats.reshape(1).expand((size,))
    elif repeats._geometry.size != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {repeats._geometry.size} and input.size({d}) = {size}"
        )
    return ROWS["index_select"](input, d, _positions(repeats, output_size))


@opaque(name="_repeat_each", where=("aten",), node="repeat_interleave", quiet=True)
def _repeat_each(input, times: int, dim: int) -> Array:
    """Each slice along dim the same number of times."""
    if times < 0:
        raise RuntimeError(f"Repeats must be non-negative, got {times}")
    return np.ascontiguousarray(np.repeat(at_least_1d(input), times, dim))


@_repeat_each.gradient
def _repeat_each_gradient(s: Any, grad: Any) -> Any:
    shape = s.shape("input") or (1,)
    split = (*shape[: s.dim + 1], s.times, *shape[s.dim + 1 :])
    return grad.reshape(split).sum(s.dim + 1).reshape(s.shape("input"))


def _positions(repeats: Any, output_size: int | None) -> Any:
    """0 .. n - 1, each repeated as often as `repeats` says."""
    if type(output_size) is int and repeats._kind.device.type == "cpu":
        return _known_positions(repeats, output_size)
    decides("repeat_interleave")
    counts = host(repeats._array)
    return tensor_of(_repeated(counts, output_size)).to(repeats.device)


@opaque(name="_known_positions", where=("aten",), quiet=True)
def _known_positions(repeats, output_size: int) -> Array:
    """The same where it is known how many they are, so that nothing else depends on values."""
    return _repeated(repeats, output_size)


def _repeated(counts: Array, output_size: int | None) -> Array:
    if counts.dtype not in (np.int64, np.int32):
        name = from_numpy_dtype(counts.dtype).legacy
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{name}'; repeats are int64 or int32"
        )
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size and int(counts.min()) < 0:
        raise RuntimeError("repeats can not be negative")
    total = int(counts.sum())
    if output_size is not None and output_size != total:
        raise RuntimeError(f"allocated size does not match required size, got {output_size} and {total}")
    return np.repeat(np.arange(counts.size, dtype=counts.dtype), counts)


# --- channels exchanged for space, and with one another --------------------------------------------


def _check_shuffle(op: str, input: Any, factor: int, name: str) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{op} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{op} expects a positive {name}, but got {factor}")


@composite(where=("torch", "nn.functional"), planned=True)
def pixel_shuffle(input, upscale_factor: int):
    """(*, C r r, H, W) -> (*, C, H r, W r) (arXiv:1609.05158)."""
    r = upscale_factor
    _check_shuffle("pixel_shuffle", input, r, "upscale_factor")
    if r * r >= 2**63:
        raise ValueError(f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
            f"square of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    cut = input.reshape(*lead, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return cut.permute(order).reshape(*lead, c // (r * r), h * r, w * r).contiguous()


@composite(where=("torch", "nn.functional"), planned=True)
def pixel_unshuffle(input, downscale_factor: int):
    """(*, C, H r, W r) -> (*, C r r, H, W)."""
    r = downscale_factor
    _check_shuffle("pixel_unshuffle", input, r, "downscale_factor")
    *lead, c, h, w = input.shape
    for size, name in ((h, "height"), (w, "width")):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, "
                f"but {name} {size} is not divisible by {r}"
            )
    if not input.numel():
        return input.clone()  # as PyTorch does
    n = len(lead)
    cut = input.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return in_format(cut.permute(order).reshape(*lead, c * r * r, h // r, w // r).contiguous(), input)


@composite(where=("torch", "nn.functional"), aliases=("native_channel_shuffle",), planned=True)
def channel_shuffle(input, groups: int):
    """Channels of (N, C, *) dealt out over groups (arXiv:1707.01083)."""
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    n, c, *space = input.shape
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    dealt = ROWS["transpose_copy"](input.reshape(n, groups, c // groups, *space), 1, 2)
    return in_format(dealt.reshape(n, c, *space), input)
