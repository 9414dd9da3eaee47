"""Writes of whole slices: index_add, index_copy, index_fill, index_reduce, and *_scatter of views."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import number
from rushlight._engine.core.errors import warn_once, wrap_dim
from rushlight._engine.core.services import service
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.numerics.accumulate import MANY, add_at
from rushlight._engine.ops.indexing.along_dim import (
    at_least_1d,
    check_bounds,
    in_front,
    legacy,
    on_dense,
    one_value,
)
from rushlight._engine.ops.indexing.scattering import reduce_into, reduce_rule, writes
from rushlight._engine.ops.table import ROWS, Array, Row, composite


def _rows(a: Array, d: int) -> Array:
    """The array with dim d in front, as a view; a 0-d one as a single row."""
    return in_front(at_least_1d(a), d)


def _others(a: Array, d: int) -> tuple[int, ...]:
    """The sizes but that of dim d."""
    found: tuple[int, ...] = a.shape[:d] + a.shape[d + 1 :]
    return found


def _check_vector(op: str, index: Array) -> None:
    if index.ndim > 1:
        raise IndexError(
            f"{op}_(): Index is supposed to be a vector, but got dim: {index.ndim} with "
            f"type: {legacy(index)} and size: {list(index.shape)}"
        )


# --- index_add ------------------------------------------------------------------------------------


def _check_add(op: str, a: Array, d: int, index: Array, source: Array) -> None:
    _check_vector(op, index)
    if index.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{op}_(): Expected dtype int32/int64 for index but got: {legacy(index)}")
    if a.dtype != source.dtype:
        raise RuntimeError(
            f"{op}_(): self ({legacy(a)}) and source ({legacy(source)}) must have the same scalar type"
        )
    if source.ndim <= d > 0:
        raise RuntimeError(
            f"{op}_(): Indexing dim {d} is out of bounds of the source tensor with dim {source.ndim}"
        )
    count = source.shape[d] if source.ndim else 1
    if index.size != count and not source.ndim:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    if index.size != count:
        raise RuntimeError(
            f"{op}_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({count}), for dim: {d}"
        )
    own, other = list(a.shape), list(source.shape)
    if own and other:
        del own[d], other[d]
    if own != other:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {list(a.shape)} source.shape = {list(source.shape)}"
        )


@writes(out=True)
def index_add(input, dim: int, index, source, *, alpha: Number = 1) -> None:
    """input with alpha * source's slices added to the slices at `index` (int vector) along dim. A copy;
    RuntimeError outside.
    """
    d = wrap_dim(dim, input.ndim)
    # As in PyTorch: along outer dims two-byte floats are added in single precision and rounded once.
    once = (
        alpha == 1
        and input.ndim > 1
        and d in (0, input.ndim - 1)
        and input.dtype.itemsize == 2
        and input.dtype.kind not in "iu"
    )
    if (
        alpha == 1
        and index.size
        and source.size < MANY
        and not once
        and service("gather or scatter along a dim")("sum", input, d, index, source, True)
    ):
        return
    _check_add("index_add", input, d, index, source)
    check_bounds(index, 0, at_least_1d(input).shape[d])
    # A multiple is added in one step, as by fma: in double precision, rounded after each.
    fused = alpha != 1 and input.ndim > 1 and input.dtype == np.float32
    wide = np.float32 if once else np.float64 if fused else input.dtype
    values = _rows(source, d).astype(wide, copy=False)
    if alpha != 1:
        values = (values * number(alpha, dt.from_numpy_dtype(input.dtype))).astype(wide)

    def add(rows: Array) -> None:
        total = rows.astype(np.float32) if once else rows
        add_at(total, at_least_1d(index), values)
        if once:
            rows[...] = total

    on_dense(_rows(input, d), add)


@index_add.gradient
def index_add_gradient(s: Any, grad: Any) -> Any:
    source = None
    if s.needs("source"):
        source = grad.index_select(s.dim, s.index).reshape(s.shape("source"))
        source = source if s.alpha == 1 else source * s.alpha
    return grad, None, source


# --- index_copy, index_fill -----------------------------------------------------------------------


def _check_copy(a: Array, d: int, index: Array, source: Array) -> None:
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {index.size})"
        )
    if source.ndim and a.ndim and source.ndim != a.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({source.ndim}), destination dimensionality ({a.ndim})"
        )
    if index.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {legacy(index)}")
    if a.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got "
            f"(self) {legacy(a)} and (source) {legacy(source)}"
        )
    own, other = _others(a, d), _others(source, d)
    if own != other and source.ndim and a.ndim:
        place = next((i for i, (n, m) in enumerate(zip(own, other, strict=False)) if n != m), 0)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. "
            f"Destination slice shape: {' '.join(map(str, own))} at dimension {d} and "
            f"source slice shape: {' '.join(map(str, other))} at dimension {place}."
        )
    if source.ndim and index.size != source.shape[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim) ({source.shape[d]})"
        )


@writes(out=True, quiet=True)
def index_copy(input, dim: int, index, source) -> None:
    """input with the slices at `index` along dim replaced by source's slices."""
    d = wrap_dim(dim, input.ndim)
    _check_copy(input, d, index, source)
    try:
        check_bounds(index, d, input.shape[d] if input.ndim else 1)
    except RuntimeError as error:
        raise IndexError(f"index_copy_(): {error}") from None
    if not d and input.ndim and index.ndim and source.ndim:
        input[index] = source
    else:
        _rows(input, d)[at_least_1d(index)] = _rows(source, d) if source.ndim else source


@index_copy.gradient
def index_copy_gradient(s: Any, grad: Any) -> Any:
    own = index_fill(grad, s.dim, s.index, 0) if s.needs("input") else None
    source = grad.index_select(s.dim, s.index).reshape(s.shape("source")) if s.needs("source") else None
    return own, None, source


def _check_fill(a: Array, index: Array, value: Any) -> None:
    if index.dtype != np.int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {legacy(index)}.")
    if index.ndim > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, got {index.ndim} dimensions")
    if isinstance(value, complex) and a.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


@writes(order="K", shares=("expanded",))
def index_fill(input, dim: int, index, value: Tensor | Number) -> None:
    """input with the slices at `index` along dim filled with one number (or 0-d tensor)."""
    d = wrap_dim(dim, input.ndim)
    _check_fill(input, index, value)
    value = one_value("index_fill", value, input.dtype)
    rows = _rows(input, d)
    size = rows.shape[0]
    advanced_indexing.warn_of_expanded("index_fill_", input, "tensor[mask] = scalar")
    try:
        rows[at_least_1d(index)] = value
    except IndexError:
        wrong = index[(index < -size) | (index >= size)].reshape(-1)[0]
        raise IndexError(f"index {int(wrong)} is out of bounds for dimension {d} with size {size}") from None


@index_fill.gradient
def index_fill_gradient(s: Any, grad: Any) -> Any:
    own = index_fill(grad, s.dim, s.index, 0)
    # What own leaves out went to the value, once however often its position is repeated.
    return own, None, (grad - own).sum() if s.needs("value") else None


# --- index_reduce ---------------------------------------------------------------------------------


@writes(out=True)
def index_reduce(input, dim: int, index, source, reduce: str, *, include_self: bool = True) -> None:
    """input with source's slices combined in at `index`; reduce: prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    warn_once("index_reduce() is in beta and the API may change at any time.")
    d = wrap_dim(dim, input.ndim)
    _check_add("index_reduce", input, d, index, source)
    size = at_least_1d(input).shape[d]
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        raise IndexError(f"index out of range in self: expected 0 <= index < {size}")
    where, values = at_least_1d(index), _rows(source, d)
    if index.size:
        on_dense(_rows(input, d), lambda rows: reduce_into(reduce, rows, where, values, include_self, True))


@index_reduce.gradient
def index_reduce_gradient(s: Any, grad: Any) -> Any:
    # Slices along one dim are a scatter whose index is the same for all other dims.
    d = wrap_dim(s.dim, grad.ndim)
    shape = s.shape("source")
    index = s.index.reshape([-1 if i == d else 1 for i in range(max(len(shape), 1))])
    index = index.expand(shape) if shape else s.index.reshape(())
    own, source = reduce_rule(s.reduce, s.include_self, grad, s.input, d, index, s.source, s.result)
    return own, None, source


# --- views written back ---------------------------------------------------------------------------


def _written_back(input: Any, src: Any, view: Any, *where: Any) -> Any:
    """A copy of input in which the part that `view` takes is src."""
    out = input.clone()
    _put(view(out, *where), src)
    return out


def _put(part: Any, src: Any) -> None:
    if part._geometry.shape != src._geometry.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._geometry.shape)}, slice size = {list(part._geometry.shape)}"
        )
    part.copy_(src)


@composite(planned=True)
def select_scatter(input, src, dim: int, index: int):
    """input with input.select(dim, index) replaced by src."""
    return _written_back(input, src, ROWS["select"], dim, index)


@composite(out=True, planned=True)
def slice_scatter(input, src, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1):
    """input with the elements start, start + step, ... before end along dim replaced by src."""
    return _written_back(input, src, ROWS["slice"], dim, start, end, step)


@composite(planned=True)
def diagonal_scatter(input, src, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """input with its diagonal replaced by src."""
    return _written_back(input, src, ROWS["diagonal"], offset, dim1, dim2)


@composite(name="fill_diagonal_", where=("Tensor",))
def fill_diagonal_(input, fill_value: Number, wrap: bool = False):
    """A number written where all coordinates are equal; if `wrap`, to each block of a tall matrix."""
    if input.ndim < 2:
        raise RuntimeError(f"dimensions must larger than 1, got a tensor of shape {list(input.shape)}")
    if input.ndim > 2 and len(set(input.shape)) > 1:
        raise RuntimeError(f"all dimensions of input must be of equal length, got {list(input.shape)}")
    rest = input
    if wrap and input.ndim == 2:
        high = input.shape[1] + 1  # a row without a place lies between blocks
        blocks = input.shape[0] // high
        input[: blocks * high].unflatten(0, (blocks, high)).diagonal(0, 1, 2).fill_(fill_value)
        rest = input[blocks * high :]
    while rest.ndim > 1:
        rest = rest.diagonal(0, 0, -1)
    rest.fill_(fill_value)
    return input


@composite
def as_strided_scatter(input, src, size: Ints, stride: Ints, storage_offset: int | None = None):
    """input with the elements of its storage that as_strided shows replaced by src."""
    show, geometry = ROWS["as_strided"], _geometry(input)
    offset = input.storage_offset() if storage_offset is None else storage_offset
    flat = show(input, (input.untyped_storage().nbytes() // input.itemsize,), (1,), 0).clone()
    _put(show(flat, size, stride, offset), src)
    return show(flat, *geometry)


def _geometry(x: Any) -> tuple[Any, ...]:
    return x.shape, x.stride(), x.storage_offset()


@as_strided_scatter.gradient
def as_strided_scatter_gradient(s: Any, grad: Any) -> Any:
    x, show = s.input, ROWS["as_strided"]
    where = s.size, s.stride, x.storage_offset() if s.storage_offset is None else s.storage_offset
    # The gradient laid out in memory as input is: there src's part can be seen, and taken away.
    flat = as_strided_scatter(grad.new_zeros(x.untyped_storage().nbytes() // x.itemsize), grad, *_geometry(x))
    kept = as_strided_scatter(flat, grad.new_zeros(s.shape("src")), *where)
    return show(kept, *_geometry(x)), show(flat, *where)


def _cut_out(row: Row, view: Row) -> None:
    """The gradient of a view_scatter: src has what the view shows, input the rest."""

    def rule(s: Any, grad: Any) -> Any:
        where = [getattr(s, p.name) for p in view.params[1:]]
        return row(grad, grad.new_zeros(s.shape("src")), *where), view(grad, *where)

    row.gradient(rule)


for _row, _view in ((select_scatter, "select"), (slice_scatter, "slice"), (diagonal_scatter, "diagonal")):
    _cut_out(_row, ROWS[_view])
