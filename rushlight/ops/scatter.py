"""Writes at data coordinates: index_put, scatter, scatter_add, scatter_reduce and put."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rushlight.base import advanced
from rushlight.base import dtype as dt
from rushlight.base.accumulate import add_at, count_at, identity, reduce_at
from rushlight.base.convert import number
from rushlight.base.errors import wrap_dim
from rushlight.ops.along import at_least_1d, check_bounds, check_dtype, flat_along, legacy
from rushlight.ops.index import check_flat
from rushlight.ops.table import ROWS, composite, opaque

Array = np.ndarray[Any, Any]


# --- index_put ------------------------------------------------------------------------------------


@opaque(inplace=True)
def index_put(input, indices: "list[Tensor | None]", values, accumulate: "bool" = False) -> Array:
    """input with input[indices] = values; accumulate adds, repeated positions too."""
    if not indices:
        raise RuntimeError("index_put: expected at least one index tensor, got none")
    if input.dtype != values.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{legacy(input)} for the destination and {legacy(values)} for the source.")
    out = input.copy("K")
    advanced.write(out, indices, values, accumulate)
    return out


@index_put.gradient
def _(s: Any, grad: Any) -> Any:
    own = values = None
    if s.needs("input"):
        own = grad if s.accumulate else index_put(grad, s.indices, grad.new_zeros(()))
    if s.needs("values"):
        values = ROWS["index"](grad, s.indices).sum_to_size(s.shape("values"))
    return own, [None] * len(s.indices), values


# --- what scatters ask of their arguments ---------------------------------------------------------


def check_scatter(op: str, a: Array, dim: int, index: Array, source: Array | None) -> int:
    """The dim counted from the front; RuntimeError for an index or source that does not fit."""
    d = wrap_dim(dim, a.ndim)
    if not index.size:
        return d
    check_dtype(op, index)
    if source is not None and source.dtype != a.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype, got "
                           f"{legacy(a)} and {legacy(source)}")
    for what, other in (("self", a), ("src", source)):
        if other is not None and max(other.ndim, 1) != max(index.ndim, 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} "
                               f"tensor, got {index.ndim} and {other.ndim}")
    _check_sizes(a, d, index, source)
    check_bounds(index, d, a.shape[d] if a.ndim else 1)
    return d


def _check_sizes(a: Array, d: int, index: Array, source: Array | None) -> None:
    sizes = at_least_1d(index).shape
    fits = all(i == d or n <= m for i, (n, m) in enumerate(
        zip(sizes, at_least_1d(a).shape, strict=True)))
    if source is not None:
        fits = fits and all(n <= m for n, m in zip(sizes, at_least_1d(source).shape, strict=True))
    if not fits:
        tail = "" if source is None else (" and to be no larger size than src "
                                          f"{list(source.shape)}")
        raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self "
                           f"{list(a.shape)} apart from dimension {d}{tail}")


def _used_part(source: Any, index: Any) -> Any:
    """The first elements of a source along each dim, as many as the index has."""
    if source._a.ndim == index._a.ndim:
        for i, n in enumerate(index._a.shape):
            if source._a.shape[i] > n:
                source = source.narrow(i, 0, n)
    return source


def _places(a: Array, d: int, index: Array) -> tuple[Array, Array, Array]:
    """A contiguous copy, its flat view, and the flat positions that a scatter writes."""
    out = np.array(a, order="C")
    where = flat_along(at_least_1d(a).shape, d, at_least_1d(index))
    return out, out.reshape(-1), where.reshape(-1)


# --- scatter --------------------------------------------------------------------------------------


@opaque(name="_scatter_src", where=("aten",))
def scatter_src(input, dim: "int", index, src) -> Array:
    """input with src written at index along dim; src has index's shape."""
    if not index.size:
        return input.copy()
    out, flat, where = _places(input, wrap_dim(dim, input.ndim), index)
    flat[where] = src.reshape(-1)
    return out


@scatter_src.gradient
def _(s: Any, grad: Any) -> Any:
    own = scatter_value(grad, s.dim, s.index, 0) if s.needs("input") else None
    return own, None, grad.gather(s.dim, s.index) if s.needs("src") else None


@opaque(name="_scatter_value", where=("aten",))
def scatter_value(input, dim: "int", index, value: "Number") -> Array:
    """input with one number written at index along dim."""
    if not index.size:
        return input.copy()
    out, flat, where = _places(input, wrap_dim(dim, input.ndim), index)
    flat[where] = number(value, dt.from_numpy_dtype(input.dtype))
    return out


@scatter_value.gradient
def _(s: Any, grad: Any) -> Any:
    return scatter_value(grad, s.dim, s.index, 0), None


@composite(inplace=True, out=True)
def scatter(input, dim: "int", index, src: "Tensor | Number | None" = None,
            value: "Number | None" = None, *, reduce: "str | None" = None):
    """input with src (or one number) written at [.., index[.., i, ..], ..] along dim.

    reduce: None writes; "add" and "multiply" combine with what is there.
    """
    if src is None and value is None:
        raise TypeError("scatter() missing 1 required positional arguments: \"src\" or \"value\"")
    written = src if value is None else value
    array = getattr(written, "_a", None)
    check_scatter("scatter", input._a, dim, index._a, array)
    if reduce is not None:
        return _scatter_reducing(input, dim, index, written, reduce)
    if array is None:
        return scatter_value(input, dim, index, written)
    return scatter_src(input, dim, index, _used_part(written, index))


def _scatter_reducing(input: Any, dim: int, index: Any, written: Any, reduce: str) -> Any:
    how = {"add": "sum", "multiply": "prod"}.get(reduce)
    if how is None:
        raise RuntimeError("reduce argument must be either add or multiply, got "
                           f"{reduce!r}.")
    if not hasattr(written, "_a"):
        written = input.new_full(index._a.shape, written)
    else:
        warnings.warn("The reduce argument of torch.scatter with Tensor src is deprecated and will be "
                      "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
                      "reduction options.", UserWarning, stacklevel=4)
    return _scatter_reduce(input, dim, index, _used_part(written, index), how, True)


@composite(inplace=True, out=True)
def scatter_add(input, dim: "int", index, src):
    """input with src added at [.., index[.., i, ..], ..] along dim."""
    check_scatter("scatter_add", input._a, dim, index._a, src._a)
    return _scatter_add(input, dim, index, _used_part(src, index))


@opaque(where=("aten",), name="_scatter_add")
def _scatter_add(input, dim: "int", index, src) -> Array:
    """scatter_add of a source of index's shape."""
    if not index.size:
        return input.copy()
    out, flat, where = _places(input, wrap_dim(dim, input.ndim), index)
    add_at(flat, where, src.reshape(-1))
    return out


@_scatter_add.gradient
def _(s: Any, grad: Any) -> Any:
    return grad, None, grad.gather(s.dim, s.index) if s.needs("src") else None


# --- scatter_reduce -------------------------------------------------------------------------------


@composite(inplace=True, out=True)
def scatter_reduce(input, dim: "int", index, src, reduce: "str", *, include_self: "bool" = True):
    """input with src combined in along dim; reduce: "sum", "prod", "mean", "amax" or "amin".

    include_self: whether the elements of input that are written to take part.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got "
                           f"{reduce}")
    check_scatter("scatter", input._a, dim, index._a, src._a)
    return _scatter_reduce(input, dim, index, _used_part(src, index), reduce, include_self)


@opaque(where=("aten",), name="_scatter_reduce")
def _scatter_reduce(input, dim: "int", index, src, reduce: "str", include_self: "bool") -> Array:
    """scatter_reduce of a source of index's shape."""
    if not index.size:
        return input.copy()
    out, flat, where = _places(input, wrap_dim(dim, input.ndim), index)
    reduce_into(reduce, flat, where, src.reshape(-1), include_self)
    return out


def reduce_into(reduce: str, flat: Array, where: Array, values: Array, include_self: bool) -> None:
    """Combine values into rows of `flat` at `where`; mean divides by the number of values."""
    how = "sum" if reduce == "mean" else reduce
    work = flat.astype(np.float32) if flat.dtype.itemsize <= 2 and flat.dtype.kind in "fV" else flat
    if not include_self:
        work[where] = identity(how, work.dtype)
    reduce_at(how, work, where, values.astype(work.dtype, copy=False))
    if reduce == "mean":
        count = count_at(where, len(flat)) + (1 if include_self else 0)
        count = np.maximum(count, 1).reshape(-1, *[1] * (flat.ndim - 1))
        divide = np.floor_divide if work.dtype.kind in "iu" else np.divide
        divide(work, count.astype(work.dtype), out=work)
    if work is not flat:
        flat[...] = work


@_scatter_reduce.gradient
def _(s: Any, grad: Any) -> Any:
    own, source = reduce_rule(s.reduce, s.include_self, grad, s.input, s.dim, s.index, s.src, s.result)
    return own, None, source


def reduce_rule(reduce: str, include_self: bool, grad: Any, input: Any, dim: int, index: Any,
                src: Any, result: Any) -> tuple[Any, Any]:
    """The gradients of input and src of a scatter_reduce."""
    if reduce == "sum":
        own, source = grad, grad.gather(dim, index)
    elif reduce == "mean":
        own, source = _mean_rule(include_self, grad, dim, index)
    elif reduce == "prod":
        own, source = _prod_rule(include_self, grad, input, dim, index, src, result)
    else:
        own, source = _extreme_rule(include_self, grad, input, dim, index, src, result)
    return own if include_self else scatter_value(own, dim, index, 0), source


def _mean_rule(include_self: bool, grad: Any, dim: int, index: Any) -> tuple[Any, Any]:
    start = grad.new_full(grad._a.shape, 1 if include_self else 0)
    count = _scatter_add(start, dim, index, grad.new_ones(index._a.shape))
    count = count.masked_fill(count == 0, 1)
    return grad / count, grad.gather(dim, index) / count.gather(dim, index)


def _extreme_rule(include_self: bool, grad: Any, input: Any, dim: int, index: Any, src: Any,
                  result: Any) -> tuple[Any, Any]:
    """Equal extremes share the gradient."""
    mine = (input == result).to(grad.dtype)
    theirs = (src == result.gather(dim, index)).to(grad.dtype)
    if not include_self:
        mine = scatter_value(mine, dim, index, 0)
    count = _scatter_add(mine, dim, index, theirs)
    share = grad / count.masked_fill(count == 0, 1)
    return mine * share, theirs * share.gather(dim, index)


def _prod_rule(include_self: bool, grad: Any, input: Any, dim: int, index: Any, src: Any,
               result: Any) -> tuple[Any, Any]:
    """The product of all other factors; a factor of 0 is left out rather than divided by."""
    safe = input.masked_fill(input == 0, 1)
    own = grad * _scatter_reduce(safe, dim, index, src, "prod", include_self) / safe
    zero = src == 0
    zeros = _scatter_add(input.new_zeros(input._a.shape), dim, index, zero.to(src.dtype))
    single = zero & (zeros.gather(dim, index) == 1)
    without = _scatter_reduce(input, dim, index, src.masked_fill(single, 1), "prod", include_self)
    divided = (grad * result).gather(dim, index) / src.masked_fill(zero, 1)
    return own, ROWS["where"](single, (grad * without).gather(dim, index), divided)


# --- put ------------------------------------------------------------------------------------------


@opaque(inplace=True)
def put(input, index, source, accumulate: "bool" = False) -> Array:
    """input, seen as flat, with source written (or added) at the positions `index`."""
    if input.dtype != source.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got "
                           f"self.dtype = {legacy(input)} and source.dtype = {legacy(source)}")
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {legacy(index)}")
    if index.size != source.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but "
                         f"got source.numel() = {source.size}, index.numel() = {index.size}")
    if index.size and not input.size:
        raise IndexError("put_(): Expected a non-empty tensor to put elements into")
    where = check_flat("put", index, input.size).reshape(-1)
    out = np.array(input, order="C")
    if accumulate:
        add_at(out.reshape(-1), where, source.reshape(-1))
    else:
        out.reshape(-1)[where] = source.reshape(-1)
    return out


@put.gradient
def _(s: Any, grad: Any) -> Any:
    own = grad
    if s.needs("input") and not s.accumulate:
        own = put(grad, s.index, grad.new_zeros(s.index._a.shape))
    source = grad.take(s.index).reshape(s.shape("source")) if s.needs("source") else None
    return own, None, source
