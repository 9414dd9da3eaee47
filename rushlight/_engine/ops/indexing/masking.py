"""Writes and reads under masks: masked_fill, masked_scatter, nonzero, argwhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.indexing.along_dim import legacy, one_value
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


@composite
def argwhere(input):
    """The positions of the nonzero elements, one row each."""
    return _nonzero(input)


def _no_mask(op: str, mask: Array) -> RuntimeError:
    name = legacy(mask) if op != "masked_fill" else dt.C_NAMES.get(mask.dtype.name, mask.dtype.name)
    return RuntimeError(
        f"{op}_ only supports boolean masks, but got mask with dtype {name}; "
        "compare, or convert it with .bool()"
    )


# --- masked_fill ----------------------------------------------------------------------------------


def _fill_into(out: Array, mask: Array, value: Any) -> None:
    """Write value where mask is true; mask broadcasts to `out`."""
    if mask.dtype != np.bool_:
        raise _no_mask("masked_fill", mask)
    value = one_value("masked_fill", value, out.dtype)
    if value.dtype.kind == "c" and out.dtype.kind != "c":
        raise RuntimeError(
            f"value cannot be converted to type {out.dtype.name} without overflow: it is complex"
        )
    if mask.shape != out.shape:
        full = broadcast_shapes(mask.shape, out.shape)
        if full != out.shape:
            raise RuntimeError(
                f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(full)}"
            )
    advanced_indexing.warn_of_expanded("masked_fill_", out, "tensor[mask] = scalar")
    np.copyto(out, value, where=mask, casting="unsafe")


@opaque(inplace=True, into=_fill_into, quiet=True, shares=("expanded",))
def masked_fill(input, mask, value: Tensor | Number) -> Array:
    """A copy of input (broadcast with mask, bool) with one number (or 0-d tensor) where mask is true."""
    shape = input.shape if input.shape == mask.shape else broadcast_shapes(mask.shape, input.shape)
    out = np.array(input if shape == input.shape else np.broadcast_to(input, shape), order="C")
    _fill_into(out, mask, value)
    return out


@masked_fill.gradient
def masked_fill_gradient(s: Any, grad: Any) -> Any:
    own = masked_fill(grad, s.mask, 0).sum_to_size(s.shape("input")) if s.needs("input") else None
    value = masked_fill(grad, ~s.mask, 0).sum() if s.needs("value") else None
    return own, None, value


# --- masked_scatter -------------------------------------------------------------------------------


@opaque(inplace=True, quiet=True)
def masked_scatter(input, mask, source) -> Array:
    """input (broadcast with mask) with source's elements, in order, where mask is true."""
    if input.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{legacy(input)} and {legacy(source)}"
        )
    if mask.dtype != np.bool_:
        raise _no_mask("masked_scatter", mask)
    if input.shape != mask.shape:
        shape = broadcast_shapes(input.shape, mask.shape)
        input, mask = np.broadcast_to(input, shape), np.broadcast_to(mask, shape)
    out: Array = input.copy()
    where = mask.reshape(-1).nonzero()[0]
    if where.size > source.size:
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask, got {source.size} and {where.size}"
        )
    out.reshape(-1)[where] = source.reshape(-1)[: where.size]
    return out


@masked_scatter.gradient
def masked_scatter_gradient(s: Any, grad: Any) -> Any:
    own = grad.masked_fill(s.mask, 0).sum_to_size(s.shape("input")) if s.needs("input") else None
    source = _fill_front(grad.masked_select(s.mask), s.shape("source")) if s.needs("source") else None
    return own, None, source


def _fill_front(values: Any, shape: tuple[int, ...]) -> Any:
    """`values` as the first elements of a tensor of `shape`, zeros behind them."""
    size = int(np.prod(shape))
    if values._geometry.size < size:
        # Added, not written: the sum of a part and zeros keeps its gradient.
        behind = values.new_zeros(size - values._geometry.size)
        values = ROWS["cat"]((values, behind))
    return values.reshape(shape)


# --- where something is ---------------------------------------------------------------------------


_FEW = 1 << 10  # of which NumPy finds all coordinates sooner than one


@opaque(name="_nonzero", where=("aten",), quiet=True)
def _nonzero(input) -> Array:
    """The positions of what is not zero, one row each; a dim's positions lie side by side."""
    if not input.ndim:
        return np.empty((int(bool(input)), 0), np.int64)
    long = input.size > _FEW and input.ndim > 1 and input.flags.c_contiguous
    found = np.unravel_index(input.reshape(-1).nonzero()[0], input.shape) if long else input.nonzero()
    out = np.empty((input.ndim, found[0].size), np.int64)
    for places, to in zip(found, out, strict=True):
        to[...] = places
    return out.T


@composite(out=True, hands_on=("not as_tuple", "_nonzero"))
def nonzero(input, *, as_tuple: bool = False):
    """The positions of the nonzero elements: int64 (count, dims), in row-major order; with as_tuple an index
    per dim.
    """
    if not as_tuple:
        return _nonzero(input)
    source = input.reshape(1) if not input.ndim else input
    return _nonzero(source).unbind(1)


@opaque(out=True)
def nonzero_static(input, *, size: int, fill_value: int = -1) -> Array:
    """nonzero with exactly `size` rows: cut off, or filled up with fill_value."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = np.argwhere(input)
    out = np.full((size, input.ndim), fill_value, np.int64)
    out[: min(size, len(found))] = found[:size]
    return out
