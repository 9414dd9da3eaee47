"""Writes at data coordinates: index_put, scatter, scatter_add, scatter_reduce and put."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.conversion import number
from rushlight._engine.core.determinism import alert
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.services import service
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.numerics.accumulate import add_at, identity, reduce_at
from rushlight._engine.ops.creation.copying import duplicate
from rushlight._engine.ops.indexing.along_dim import (
    at_least_1d,
    check_bounds,
    check_dtype,
    legacy,
    on_dense,
    places_along,
)
from rushlight._engine.ops.indexing.reads import check_flat
from rushlight._engine.ops.table import ROWS, Array, opaque


def writes(into: Any = None, *, order: Any = "C", **facts: Any) -> Any:
    """An opaque row whose body writes into its first operand; as a function, into a copy of it.

    order: of the copy's memory, NumPy's "C" or "K" (as the operand's). No operand may share its memory.
    """
    if into is None:
        return lambda body: writes(body, order=order, **facts)

    @wraps(into)
    def functional(input: Array, *rest: Any, **named: Any) -> Array:
        out = duplicate(input, order)
        into(out, *rest, **named)
        return out

    shares = ("nothing", *facts.pop("shares", ()))
    return opaque(functional, inplace=True, into=into, shares=shares, **facts)


# --- index_put ------------------------------------------------------------------------------------


@writes(order="K", quiet=True, shares=("expanded",))
def index_put(input, indices: list[Tensor | None], values, accumulate: bool = False) -> None:
    """input with input[indices] = values; accumulate adds, repeated positions too."""
    if len(indices) == 0:
        raise RuntimeError("index_put: expected at least one index tensor, got none")
    if input.dtype != values.dtype:
        advanced_indexing.fitting(input.shape, indices, values.shape)
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{legacy(input)} for the destination and {legacy(values)} for the source."
        )
    advanced_indexing.write(input, indices, values, accumulate)


@index_put.gradient
def index_put_gradient(s: Any, grad: Any) -> Any:
    own = values = None
    if s.needs("input"):
        own = grad if s.accumulate else index_put(grad, s.indices, grad.new_zeros(()))
    if s.needs("values"):
        values = ROWS["index"](grad, s.indices).sum_to_size(s.shape("values"))
    return own, [None] * len(s.indices), values


# --- what scatters ask of their arguments ---------------------------------------------------------


def _check_scatter(op: str, a: Array, d: int, index: Array, source: Array | None) -> None:
    """RuntimeError for an index or source that does not fit."""
    check_dtype(op, index)
    if source is not None and source.dtype != a.dtype:
        raise RuntimeError(
            f"scatter(): Expected self.dtype to be equal to src.dtype, got {legacy(a)} and {legacy(source)}"
        )
    for what, other in (("self", a), ("src", source)):
        if other is not None and max(other.ndim, 1) != max(index.ndim, 1):
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {what} "
                f"tensor, got {index.ndim} and {other.ndim}"
            )
    _check_sizes(a, d, index, source)
    check_bounds(index, d, a.shape[d] if a.ndim else 1)


def _check_sizes(a: Array, d: int, index: Array, source: Array | None) -> None:
    sizes = at_least_1d(index).shape
    if sizes == a.shape and (source is None or sizes == source.shape):
        return
    fits = all(i == d or n <= m for i, (n, m) in enumerate(zip(sizes, at_least_1d(a).shape, strict=True)))
    if source is not None:
        fits = fits and all(n <= m for n, m in zip(sizes, at_least_1d(source).shape, strict=True))
    if not fits:
        tail = "" if source is None else (f" and to be no larger size than src {list(source.shape)}")
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self "
            f"{list(a.shape)} apart from dimension {d}{tail}"
        )


def _write_at(
    op: str,
    out: Array,
    dim: int,
    index: Array,
    source: Any,
    how: str | None = None,
    include_self: bool = True,
) -> None:
    """Write (or combine by `how`) source at the positions of index along dim; `out` is changed."""
    d, array = wrap_dim(dim, out.ndim), source if isinstance(source, np.ndarray) else None
    if not index.size:
        return
    if include_self and (array is not None or how is None):
        given = np.full(index.shape, source, out.dtype) if array is None else array
        if service("gather or scatter along a dim")(how or "write", out, d, index, given):
            return
    _check_scatter(op, out, d, index, array)
    where, sizes = at_least_1d(index), at_least_1d(out).shape
    flat = np.ravel_multi_index(places_along(d, where), sizes).reshape(-1)
    if array is not None:
        # Only as much of the source as the index has.
        source = at_least_1d(array)[tuple([slice(n) for n in where.shape])].reshape(-1)

    def write(dense: Array) -> None:
        target = dense.reshape(-1)
        if how is None:
            target[flat] = source
        else:
            values = source if np.ndim(source) else np.broadcast_to(source, flat.shape)
            reduce_into(how, target, flat, values, include_self)

    on_dense(out, write)


# --- scatter --------------------------------------------------------------------------------------

_OLD_NAMES = {"add": "sum", "multiply": "prod", None: None}


@writes(out=True)
def scatter(
    input,
    dim: int,
    index,
    src: Tensor | Number | None = None,
    value: Number | None = None,
    *,
    reduce: str | None = None,
) -> None:
    """input with src (or one number) written at [.., index[.., i, ..], ..] along dim.

    reduce: None writes; "add" and "multiply" combine with what is there.
    """
    written = src if value is None else value
    if written is None:
        raise TypeError('scatter() missing 1 required positional arguments: "src" or "value"')
    array = written if isinstance(written, np.ndarray) else None
    if reduce not in _OLD_NAMES:
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}.")
    if reduce is not None and array is not None:
        warn(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
            "future PyTorch release. Use torch.scatter_reduce instead for more reduction options.",
            UserWarning,
        )
    if array is None:
        written = number(written, dt.from_numpy_dtype(input.dtype))[()]
    _write_at("scatter", input, dim, index, written, _OLD_NAMES[reduce])


@scatter.gradient
def scatter_gradient(s: Any, grad: Any) -> Any:
    if s.reduce is not None:
        raise RuntimeError(
            "the derivative for 'scatter' with reduce= is not implemented; use scatter_add or scatter_reduce"
        )
    own = scatter(grad, s.dim, s.index, 0) if s.needs("input") else None
    source = _read_back(grad, s.dim, s.index, s.shape("src")) if s.needs("src") else None
    return own, None, source


def _read_back(grad: Any, dim: int, index: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of a source: grad where the source was written, zeros in its unused part."""
    return _padded(grad.gather(dim, index), shape)


def _padded(part: Any, shape: tuple[int, ...]) -> Any:
    """`part` as the first elements along each dim of a tensor of zeros."""
    if part._geometry.shape == shape:
        return part
    whole = part.new_zeros(shape)
    place = whole
    for i, n in enumerate(part._geometry.shape):
        place = place.narrow(i, 0, n)
    place.copy_(part)
    return whole


@writes(out=True)
def scatter_add(input, dim: int, index, src) -> None:
    """input with src added at [.., index[.., i, ..], ..] along dim; index is int64, its sizes at most src's.
    A copy.
    """
    _write_at("scatter_add", input, dim, index, src, "sum")


@scatter_add.gradient
def scatter_add_gradient(s: Any, grad: Any) -> Any:
    source = _read_back(grad, s.dim, s.index, s.shape("src")) if s.needs("src") else None
    return grad, None, source


# --- scatter_reduce -------------------------------------------------------------------------------


@writes(out=True)
def scatter_reduce(input, dim: int, index, src, reduce: str, *, include_self: bool = True) -> None:
    """input with src combined in along dim; reduce: "sum", "prod", "mean", "amax" or "amin".

    include_self: whether the elements of input that are written to take part.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    lacking = ("b", "mean"), *((("c", "amax"), ("c", "amin")) if index.size else ())
    if (input.dtype.kind, reduce) in lacking:
        raise NotImplementedError(
            f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{legacy(input)}'"
        )
    if reduce != "mean" or not include_self or input.itemsize <= 2:
        return _write_at("scatter", input, dim, index, src, reduce, include_self)
    count = np.ones_like(input)
    for total, part in ((input, src), (count, np.ones_like(src))):
        _write_at("scatter", total, dim, index, part, "sum")
    return _divide(input, count)


def _divide(total: Array, count: Array) -> None:
    (np.floor_divide if total.dtype.kind in "iu" else np.divide)(total, count, out=total)


def reduce_into(
    reduce: str, flat: Array, where: Array, values: Array, include_self: bool, stepwise: bool = False
) -> None:
    """Combine values into rows of `flat` at `where`; mean divides by the number of values.

    Two-byte floats are combined in single precision and then rounded, or stepwise: after each.
    """
    how = "sum" if reduce == "mean" else reduce
    wide = flat.dtype.itemsize <= 2 and flat.dtype.kind in "fV" and not (stepwise and how in ("sum", "prod"))
    work = flat.astype(np.float32) if wide else flat
    if not include_self:
        work[where] = identity(how, work.dtype)
    reduce_at(how, work, where, values.astype(work.dtype, copy=False))
    if work is not flat:
        flat[...] = work
    if reduce == "mean":
        count = np.bincount(where, minlength=len(flat)) + (1 if include_self else 0)
        _divide(flat, np.maximum(count, 1).reshape(-1, *[1] * (flat.ndim - 1)).astype(flat.dtype))


@scatter_reduce.gradient
def scatter_reduce_gradient(s: Any, grad: Any) -> Any:
    src = s.src
    for i, n in enumerate(s.index._geometry.shape):
        src = src.narrow(i, 0, n) if n < src._geometry.shape[i] else src
    own, source = reduce_rule(s.reduce, s.include_self, grad, s.input, s.dim, s.index, src, s.result)
    return own, None, _padded(source, s.shape("src"))


def reduce_rule(
    reduce: str, include_self: bool, grad: Any, input: Any, dim: int, index: Any, src: Any, result: Any
) -> tuple[Any, Any]:
    """The gradients of input and src of a scatter_reduce."""
    if reduce == "sum":
        own, source = grad, grad.gather(dim, index)
    elif reduce == "mean":
        own, source = _mean_rule(include_self, grad, dim, index)
    elif reduce == "prod":
        own, source = _prod_rule(include_self, grad, input, dim, index, src, result)
    else:
        own, source = _extreme_rule(include_self, grad, input, dim, index, src, result)
    return own if include_self else scatter(own, dim, index, 0), source


def _mean_rule(include_self: bool, grad: Any, dim: int, index: Any) -> tuple[Any, Any]:
    start = grad.new_full(grad._geometry.shape, 1 if include_self else 0)
    count = scatter_add(start, dim, index, grad.new_ones(index._geometry.shape))
    count = count.masked_fill(count == 0, 1)
    return grad / count, grad.gather(dim, index) / count.gather(dim, index)


def _extreme_rule(
    include_self: bool, grad: Any, input: Any, dim: int, index: Any, src: Any, result: Any
) -> tuple[Any, Any]:
    """Equal extremes share the gradient."""
    mine = (input == result).to(grad.dtype)
    theirs = (src == result.gather(dim, index)).to(grad.dtype)
    if not include_self:
        mine = scatter(mine, dim, index, 0)
    count = scatter_add(mine, dim, index, theirs)
    share = grad / count.masked_fill(count == 0, 1)
    return mine * share, theirs * share.gather(dim, index)


def _prod_rule(
    include_self: bool, grad: Any, input: Any, dim: int, index: Any, src: Any, result: Any
) -> tuple[Any, Any]:
    """The product of all other factors; a factor of 0 is left out rather than divided by."""
    safe = input.masked_fill(input == 0, 1)
    own = grad * scatter_reduce(safe, dim, index, src, "prod", include_self=include_self) / safe
    zero = src == 0
    zeros = scatter_add(input.new_zeros(input._geometry.shape), dim, index, zero.to(src.dtype))
    single = zero & (zeros.gather(dim, index) == 1)
    without = scatter_reduce(input, dim, index, src.masked_fill(single, 1), "prod", include_self=include_self)
    divided = (grad * result).gather(dim, index) / src.masked_fill(zero, 1)
    source = ROWS["where"](single, (grad * without).gather(dim, index), divided)
    if source._grad_node is not None and not getattr(zeros, "_many", False) and bool((zeros > 1).any()):
        # What is 0 here whatever else moves is not so for another 0: the gradient's gradient would be wrong.
        source = service("a tensor without gradients")(
            source,
            "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to "
            "the same position in self",
        )
    return own, source


# --- put ------------------------------------------------------------------------------------------


@writes(order="K")
def put(input, index, source, accumulate: bool = False) -> None:
    """input, seen as flat, with source written (or added) at the positions `index`."""
    if not accumulate:
        alert("put_")
    if input.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got "
            f"self.dtype = {legacy(input)} and source.dtype = {legacy(source)}"
        )
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {legacy(index)}")
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but "
            f"got source.numel() = {source.size}, index.numel() = {index.size}"
        )
    if index.size and not input.size:
        raise IndexError("put_(): Expected a non-empty tensor to put elements into")
    where, values = check_flat("put", index, input.size).reshape(-1), source.reshape(-1)

    def write(dense: Array) -> None:
        if accumulate:
            add_at(dense.reshape(-1), where, values)
        else:
            dense.reshape(-1)[where] = values

    on_dense(input, write)


@put.gradient
def put_gradient(s: Any, grad: Any) -> Any:
    own = grad
    if s.needs("input") and not s.accumulate:
        own = put(grad, s.index, grad.new_zeros(s.index._geometry.shape))
    source = grad.take(s.index).reshape(s.shape("source")) if s.needs("source") else None
    return own, None, source
