"""Writes of whole slices: index_add, index_copy, index_fill, index_reduce, and *_scatter of views."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.accumulate import add_at
from rushlight.base.convert import number
from rushlight.base.errors import wrap_dim
from rushlight.ops.along import at_least_1d, check_bounds, in_front, legacy, on_dense, wrap_positions
from rushlight.ops.scatter import reduce_into, reduce_rule
from rushlight.ops.table import ROWS, composite, opaque

Array = np.ndarray[Any, Any]


def _rows(a: Array, d: int) -> Array:
    """The array with dim d in front, as a view; a 0-d one as a single row."""
    return in_front(at_least_1d(a), d)


def _check_vector(op: str, index: Array) -> None:
    if index.ndim > 1:
        raise IndexError(f"{op}_(): Index is supposed to be a vector, but got dim: {index.ndim} with "
                         f"type: {legacy(index)} and size: {list(index.shape)}")


# --- index_add ------------------------------------------------------------------------------------


def _check_add(op: str, a: Array, d: int, index: Array, source: Array) -> None:
    _check_vector(op, index)
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{op}_(): Expected dtype int32/int64 for index but got: {legacy(index)}")
    if a.dtype != source.dtype:
        raise RuntimeError(f"{op}_(): self ({legacy(a)}) and source ({legacy(source)}) must have the "
                           "same scalar type")
    count = at_least_1d(source).shape[d] if d < max(source.ndim, 1) else 0
    if index.size != count:
        raise RuntimeError(f"{op}_(): Number of indices ({index.size}) should be equal to "
                           f"source.size(dim): ({count}), for dim: {d}")
    own, other = list(a.shape), list(source.shape)
    del own[d:d + 1], other[d:d + 1]
    if own != other:
        raise RuntimeError(f"source tensor shape must match self tensor shape, excluding the specified "
                           f"dimension. Got self.shape = {list(a.shape)} source.shape = "
                           f"{list(source.shape)}")


def _index_add_into(out: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> None:
    d = wrap_dim(dim, out.ndim)
    _check_add("index_add", out, d, index, source)
    check_bounds(index, 0, at_least_1d(out).shape[d])
    values = _rows(source, d)
    if alpha != 1:
        values = (values * number(alpha, dt.from_numpy_dtype(out.dtype))).astype(out.dtype)
    on_dense(_rows(out, d), lambda rows: add_at(rows, at_least_1d(index), values))


@opaque(inplace=True, out=True, into=_index_add_into)
def index_add(input, dim: "int", index, source, *, alpha: "Number" = 1) -> Array:
    """input with alpha * source's slices added to the slices at `index` along dim."""
    out = np.array(input, order="C")
    _index_add_into(out, dim, index, source, alpha)
    return out


@index_add.gradient
def _(s: Any, grad: Any) -> Any:
    source = None
    if s.needs("source"):
        source = grad.index_select(s.dim, s.index).reshape(s.shape("source"))
        source = source if s.alpha == 1 else source * s.alpha
    return grad, None, source


# --- index_copy, index_fill -----------------------------------------------------------------------


def _check_copy(a: Array, d: int, index: Array, source: Array) -> None:
    if index.ndim > 1:
        raise IndexError("index_copy_(): Index should have dimension 1 or 0 (got "
                         f"{index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError("index_copy_(): When source is scalar, index should have one element (got "
                         f"{index.size})")
    if source.ndim and a.ndim and source.ndim != a.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their "
                         f"dimensionality must match. Source dimensionality ({source.ndim}), "
                         f"destination dimensionality ({a.ndim})")
    if index.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {legacy(index)}")
    if a.dtype != source.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got "
                           f"(self) {legacy(a)} and (source) {legacy(source)}")
    own, other = list(a.shape), list(source.shape)
    del own[d:d + 1], other[d:d + 1]
    if own != other and source.ndim and a.ndim:
        place = next((i for i, (n, m) in enumerate(zip(own, other, strict=False)) if n != m), 0)
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. "
                           f"Destination slice shape: {' '.join(map(str, own))} at dimension {d} and "
                           f"source slice shape: {' '.join(map(str, other))} at dimension {place}.")
    if source.ndim and index.size != source.shape[d]:
        raise IndexError(f"index_copy_(): Number of indices ({index.size}) should be equal to "
                         f"source.size(dim) ({source.shape[d]})")


def _index_copy_into(out: Array, dim: int, index: Array, source: Array) -> None:
    d = wrap_dim(dim, out.ndim)
    _check_copy(out, d, index, source)
    try:
        check_bounds(index, d, at_least_1d(out).shape[d])
    except RuntimeError as error:
        raise IndexError(f"index_copy_(): {error}") from None
    _rows(out, d)[at_least_1d(index)] = _rows(source, d) if source.ndim else source


@opaque(inplace=True, out=True, into=_index_copy_into, quiet=True)
def index_copy(input, dim: "int", index, source) -> Array:
    """input with the slices at `index` along dim replaced by source's slices."""
    out = np.array(input, order="C")
    _index_copy_into(out, dim, index, source)
    return out


@index_copy.gradient
def _(s: Any, grad: Any) -> Any:
    own = index_fill(grad, s.dim, s.index, 0) if s.needs("input") else None
    source = None
    if s.needs("source"):
        source = grad.index_select(s.dim, s.index).reshape(s.shape("source"))
    return own, None, source


def _check_fill(a: Array, index: Array, value: Any) -> None:
    if index.dtype != np.int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {legacy(index)}.")
    if index.ndim > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, got {index.ndim} dimensions")
    if isinstance(value, complex) and a.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not "
                           "supported")


def _index_fill_into(out: Array, dim: int, index: Array, value: Any) -> None:
    d = wrap_dim(dim, out.ndim)
    _check_fill(out, index, value)
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor "
                               f"with {value.ndim} dimension(s).")
    else:
        value = number(value, dt.from_numpy_dtype(out.dtype))
    rows = _rows(out, d)
    size = rows.shape[0]
    if index.size and (int(index.min()) < -size or int(index.max()) >= size):
        wrong = index[(index < -size) | (index >= size)].reshape(-1)[0]
        raise IndexError(f"index {int(wrong)} is out of bounds for dimension {d} with size {size}")
    rows[wrap_positions(at_least_1d(index), size)] = value


@opaque(inplace=True, into=_index_fill_into)
def index_fill(input, dim: "int", index, value: "Tensor | Number") -> Array:
    """input with the slices at `index` along dim filled with one number (or 0-d tensor)."""
    out = input.copy("K")
    _index_fill_into(out, dim, index, value)
    return out


@index_fill.gradient
def _(s: Any, grad: Any) -> Any:
    own = index_fill(grad, s.dim, s.index, 0)
    # What own leaves out went to the value, once however often its position is repeated.
    return own, None, (grad - own).sum() if s.needs("value") else None


# --- index_reduce ---------------------------------------------------------------------------------


def _index_reduce_into(out: Array, dim: int, index: Array, source: Array, reduce: str,
                       include_self: bool = True) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but "
                           f"got {reduce}.")
    _warn_beta()
    d = wrap_dim(dim, out.ndim)
    _check_add("index_reduce", out, d, index, source)
    size = at_least_1d(out).shape[d]
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        raise IndexError(f"index out of range in self: expected 0 <= index < {size}")
    where, values = at_least_1d(index), _rows(source, d)
    if index.size:
        on_dense(_rows(out, d), lambda rows: reduce_into(reduce, rows, where, values, include_self))


@opaque(inplace=True, out=True, into=_index_reduce_into)
def index_reduce(input, dim: "int", index, source, reduce: "str", *,
                 include_self: "bool" = True) -> Array:
    """input with source's slices combined in at `index`; reduce: prod, mean, amax or amin."""
    out = np.array(input, order="C")
    _index_reduce_into(out, dim, index, source, reduce, include_self)
    return out


class _Warned:
    beta = False


def _warn_beta() -> None:
    if not _Warned.beta:
        _Warned.beta = True
        warnings.warn("index_reduce() is in beta and the API may change at any time.", UserWarning,
                      stacklevel=6)


@index_reduce.gradient
def _(s: Any, grad: Any) -> Any:
    # Slices along one dim are a scatter whose index is the same for all other dims.
    d = wrap_dim(s.dim, grad.ndim)
    shape = s.shape("source")
    index = s.index.reshape([-1 if i == d else 1 for i in range(max(len(shape), 1))])
    index = index.expand(shape) if shape else s.index.reshape(())
    own, source = reduce_rule(s.reduce, s.include_self, grad, s.input, d, index, s.source, s.result)
    return own, None, source


# --- views written back ---------------------------------------------------------------------------


def _written_back(input: Any, src: Any, view: Any) -> Any:
    """A copy of input in which the part that `view` takes is src."""
    out = input.clone()
    part = view(out)
    if part._a.shape != src._a.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src._a.shape)}, slice size = {list(part._a.shape)}")
    part.copy_(src)
    return out


@composite(where=("torch", "Tensor"))
def select_scatter(input, src, dim: "int", index: "int"):
    """input with input.select(dim, index) replaced by src."""
    return _written_back(input, src, lambda t: t.select(dim, index))


@select_scatter.gradient
def _(s: Any, grad: Any) -> Any:
    own = select_scatter(grad, grad.new_zeros(s.shape("src")), s.dim, s.index)
    return own, grad.select(s.dim, s.index)


@composite(out=True)
def slice_scatter(input, src, dim: "int" = 0, start: "int | None" = None, end: "int | None" = None,
                  step: "int" = 1):
    """input with the elements start, start + step, ... before end along dim replaced by src."""
    return _written_back(input, src, lambda t: ROWS["slice"](t, dim, start, end, step))


@slice_scatter.gradient
def _(s: Any, grad: Any) -> Any:
    own = slice_scatter(grad, grad.new_zeros(s.shape("src")), s.dim, s.start, s.end, s.step)
    return own, ROWS["slice"](grad, s.dim, s.start, s.end, s.step)


@composite
def diagonal_scatter(input, src, offset: "int" = 0, dim1: "int" = 0, dim2: "int" = 1):
    """input with its diagonal replaced by src."""
    return _written_back(input, src, lambda t: t.diagonal(offset, dim1, dim2))


@diagonal_scatter.gradient
def _(s: Any, grad: Any) -> Any:
    own = diagonal_scatter(grad, grad.new_zeros(s.shape("src")), s.offset, s.dim1, s.dim2)
    return own, grad.diagonal(s.offset, s.dim1, s.dim2)
