"""Reads at data coordinates: x[...], gather, index_select, take and their relatives.

The body of an index row gets the operand's shape and says which coordinates are read; `fused` is
the kernel that reads there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.indexing.along_dim import (
    UNSIGNED,
    at_least_1d,
    check_bounds,
    check_dtype,
    legacy,
    places_along,
    refuse_wide,
    rows_of,
    wrap_positions,
)
from rushlight._engine.ops.table import ROWS, Array, composite, index, opaque, view

# --- x[...] ---------------------------------------------------------------------------------------


@view(name="_basic", where=("aten",), native=True)
def BASIC(input, basic: tuple[Any, ...], ones: tuple[int, ...]) -> Any:
    """The view of x[ints, slices, None, ...] (see tensors/indexing.py)."""
    return advanced_indexing.view, basic, ones


@index(name="index", where=("aten",), fused=advanced_indexing.read, quiet=True)
def index_(input, indices: list[Tensor | None]) -> Any:
    """x[index tensors and masks]: a copy."""
    return advanced_indexing.coordinates(input, indices)


index_.gradient(lambda s, grad: (grad.new_zeros(s.shape("input")).index_put(s.indices, grad, True), None))


# --- along one dim --------------------------------------------------------------------------------


def _check_gather(a: Array, d: int, index: Array) -> None:
    check_dtype("gather", index)
    if max(a.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor, "
            f"got {index.ndim} and {a.ndim}"
        )
    for i, (n, size) in enumerate(() if index.shape == a.shape else zip(index.shape, a.shape, strict=False)):
        if i != d and n > size:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to "
                f"be no larger than self {list(a.shape)} apart from dimension {d}"
            )
    check_bounds(index, d, a.shape[d] if a.ndim else 1)


def _gather(a: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    if index.size == 0 and index.dtype.kind in "iuf":
        return np.empty(index.shape, a.dtype)
    out, d = np.empty(index.shape, a.dtype), wrap_dim(dim, a.ndim)
    if service("gather or scatter along a dim")("read", a, d, index, out):
        return out
    _check_gather(a, d, index)
    return np.ascontiguousarray(at_least_1d(a)[places_along(d, at_least_1d(index))]).reshape(index.shape)


@index(fused=_gather, quiet=True, out=True, out_apart=True)
def gather(input, dim: int, index, *, sparse_grad: bool = False) -> Any:
    """out[.., i, ..] = input[.., index[.., i, ..], ..] along dim: of the shape of the index (int64 or int32).

    Sizes of the index are at most the input's in the other dims; nothing broadcasts. RuntimeError for these,
    and for an index outside [0, size).
    """
    return places_along(wrap_dim(dim, len(input)), index)


@gather.gradient
def _gather_gradient(s: Any, grad: Any) -> Any:
    shape = s.shape("input")
    if not s.sparse_grad:
        return grad.new_zeros(shape).scatter_add(s.dim, s.index, grad), None
    # The places of what was read, (dims, elements): the index's own, but for its dim, where it says them.
    sizes = s.index.shape or (1,)
    where = tensor_of(np.indices(sizes).reshape(len(sizes), s.index.numel())[: len(shape)])
    if shape:
        where[wrap_dim(s.dim, len(shape))] = s.index.reshape(-1)
    return service("sparse tensor")((where, grad.reshape(-1)), shape), None


def _index_select(a: Array, dim: int, index: Array) -> Array:
    d = wrap_dim(dim, a.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_select(): Index is supposed to be a vector, got {index.ndim} dimensions")
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, got {legacy(index)}")
    if not a.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    if a.ndim < 2:  # PyTorch copies rows otherwise
        refuse_wide("index_select", a.dtype)
    source, where = at_least_1d(a), at_least_1d(index)
    if where.size and np.maximum.reduce(where.view(UNSIGNED[where.itemsize])) >= source.shape[d]:
        raise IndexError(f"index out of range in self: expected 0 <= index < {source.shape[d]}")
    if source.flags.c_contiguous:
        # Every index is inside: NumPy is not to look once more at each element.
        found = source.take(where, d, mode="wrap") if d else rows_of(source, where)
    else:
        found = np.ascontiguousarray(source[(slice(None),) * d + (where,)])
    return found if a.ndim else found.reshape(())


@index(fused=_index_select, quiet=True, out=True, out_apart=True)
def index_select(input, dim: int, index) -> Any:
    """The slices of input at the positions `index` (int vector) along dim: a copy, dim of the index's size.
    IndexError outside.
    """
    return (*[slice(None)] * wrap_dim(dim, len(input)), index)


@index_select.gradient
def index_select_gradient(s: Any, grad: Any) -> Any:
    shape = s.shape("input")
    if not shape:
        return grad, None
    return grad.new_zeros(shape).index_add(s.dim, s.index, grad), None


# --- anywhere -------------------------------------------------------------------------------------


def check_flat(op: str, index: Array, size: int) -> Array:
    """Positions in a flattened tensor, negative ones counted from the end."""
    if index.dtype != np.int64:
        raise RuntimeError(f"{op}(): Expected a long tensor for index, but got {legacy(index)}")
    if index.size and not size:
        raise IndexError(f"{op}(): tried to {op} from an empty tensor")
    # As numbers without a sign, those below 0 are too large.
    if index.size and np.maximum.reduce(index.view(np.uint64), None) < size:
        return index
    if index.size and (int(index.min()) < -size or int(index.max()) >= size):
        wrong = index[(index < -size) | (index >= size)].reshape(-1)[0]
        raise IndexError(f"out of range: tried to access index {int(wrong)} on a tensor of {size} elements.")
    return wrap_positions(index, size)


def _take(a: Array, index: Array) -> Array:
    return np.asarray(a.reshape(-1).take(check_flat("take", index, a.size)))


@index(fused=_take, quiet=True, out=True, out_apart=True)
def take(input, index) -> Any:
    """The elements of input, seen as flat, at the positions `index` (int64), in the index's shape; IndexError
    outside.
    """
    return np.unravel_index(wrap_positions(index, int(np.prod(input))), input)


take.gradient(lambda s, grad: (grad.new_zeros(s.shape("input")).put(s.index, grad, True), None))


@composite(out=True)
def take_along_dim(input, indices, dim: int | None = None):
    """gather with indices broadcast to input's other dims; dim None flattens input first."""
    if indices._kind.dtype.name != "int64":
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices._kind.dtype.legacy}"
        )
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    d = wrap_dim(dim, input.ndim)
    shape, size = input._geometry.shape, input._geometry.shape[d]
    full = broadcast_shapes(
        (*shape[:d], indices._geometry.shape[d], *shape[d + 1 :]), indices._geometry.shape
    )
    source = *full[:d], size, *full[d + 1 :]
    if indices._geometry.size and (
        fusing() or (not indices._kind.on_meta and np.minimum.reduce(indices._array, None) < 0)
    ):
        indices = ROWS["where"](indices < 0, indices + size, indices)
    if source != shape or full != indices._geometry.shape:
        input, indices = input.expand(source), indices.expand(full)
    return gather(input, d, indices)


@opaque(out=True, out_apart=True, quiet=True)
def masked_select(input, mask) -> Array:
    """The elements of input (broadcast with mask, bool) where mask is true, as a vector: a copy in row-major
    order.
    """
    if mask.dtype != np.bool_:
        raise RuntimeError(
            "masked_select: expected BoolTensor for mask, got "
            f"{legacy(mask)}; compare, or convert it with .bool()"
        )
    if input.shape != mask.shape:
        shape = broadcast_shapes(mask.shape, input.shape)
        input, mask = np.broadcast_to(input, shape), np.broadcast_to(mask, shape)
    if input.flags.c_contiguous:
        found: Array = input.reshape(-1).take(mask.reshape(-1).nonzero()[0])
        return found
    return np.ascontiguousarray(input[mask])


@masked_select.gradient
def masked_select_gradient(s: Any, grad: Any) -> Any:
    shape = s.shape("input")
    full = broadcast_shapes(shape, s.mask._geometry.shape)
    into = grad.new_zeros(full).masked_scatter(s.mask, grad)
    return into.sum_to_size(shape), None
