"""Writes at data coordinates: scatter, scatter_add, scatter_reduce, index_put and put."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rushlight.base.accumulate import add_at, reduce_at
from rushlight.base.errors import wrap_dim
from rushlight.ops.along import at_least_1d, check_bounds, check_dtype, flat_along, legacy
from rushlight.ops.index import check_flat
from rushlight.ops.table import ROWS, composite, opaque
from rushlight.tensor import advanced

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
        own = grad if s.accumulate else index_put(
            grad, s.indices, grad.new_zeros(()), False)
    if s.needs("values"):
        values = ROWS["index"](grad, s.indices).sum_to_size(s.shape("values"))
    return own, [None] * len(s.indices), values


# --- scatter --------------------------------------------------------------------------------------


def check_scatter(op: str, a: Array, dim: int, index: Array, source: Array | None) -> int:
    """What all scatters ask of their index and source; the dim counted from the front."""
    d = wrap_dim(dim, a.ndim)
    if not index.size:
        return d
    check_dtype(op, index)
    if max(a.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor, got "
                           f"{index.ndim} and {a.ndim}")
    if source is not None and max(source.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor, got "
                           f"{index.ndim} and {source.ndim}")
    _check_sizes(a, d, index, source)
    if source is not None and source.dtype != a.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype, got "
                           f"{legacy(a)} and {legacy(source)}")
    check_bounds(index, d, a.shape[d] if a.ndim else 1)
    return d


def _check_sizes(a: Array, d: int, index: Array, source: Array | None) -> None:
    sizes = at_least_1d(index).shape
    fits = all(i == d or n <= m for i, (n, m) in enumerate(zip(sizes, at_least_1d(a).shape,
                                                               strict=True)))
    given = source is None or all(n <= m for n, m in zip(sizes, at_least_1d(source).shape,
                                                        strict=True))
    if not (fits and given):
        tail = "" if source is None else (" and to be no larger size than src "
                                          f"{list(source.shape)}")
        raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self "
                           f"{list(a.shape)} apart from dimension {d}{tail}")


def targets(out: Array, d: int, index: Array, source: Any) -> tuple[Array, Array, Any]:
    """(flat view of `out`, flat positions, flat values) of a scatter."""
    where = at_least_1d(index)
    flat = flat_along(at_least_1d(out).shape, d, where).reshape(-1)
    if isinstance(source, np.ndarray):
        source = at_least_1d(source)
        cut = tuple([slice(n) for n in where.shape])
        source = source[cut].reshape(-1)
    return out.reshape(-1), flat, source


def _scatter(input: Array, dim: int, index: Array, source: Any) -> Array:
    """input with source written at the positions of index along dim."""
    array = source if isinstance(source, np.ndarray) else None
    d = check_scatter("scatter", input, dim, index, array)
    out = np.array(input, order="C")
    if index.size:
        flat, where, values = targets(out, d, index, source)
        flat[where] = values
    return out


@opaque(name="_scatter_src", where=("aten",))
def scatter_src(input, dim: "int", index, src) -> Array:
    """scatter of a tensor."""
    return _scatter(input, dim, index, src)


@scatter_src.gradient
def _(s: Any, grad: Any) -> Any:
    return (scatter_value(grad, s.dim, s.index, 0), None,
            _read_back(s, grad) if s.needs("src") else None)


def _read_back(s: Any, grad: Any) -> Any:
    """The gradient of a source: grad where it was written, zero in the part that was not used."""
    read = grad.gather(s.dim, s.index)
    shape = s.shape("src")
    if read._a.shape == shape:
        return read
    into = grad.new_zeros(shape)
    for i, n in enumerate(read._a.shape):
        into_part = into if i == 0 else into_part.narrow(i - 1, 0, read._a.shape[i - 1])  # noqa: F821
        del n
    return _paste(grad.new_zeros(shape), read)


def _paste(into: Any, part: Any) -> Any:
    """`into` with its first elements along each dim replaced by `part`."""
    view = into
    for i, n in enumerate(part._a.shape):
        view = view.narrow(i, 0, n)
    view.copy_(part)
    return into


@opaque(name="_scatter_value", where=("aten",))
def scatter_value(input, dim: "int", index, value: "Number") -> Array:
    """scatter of one number."""
    return _scatter(input, dim, index, number_as(input.dtype, value))


@scatter_value.gradient
def _(s: Any, grad: Any) -> Any:
    return scatter_value(grad, s.dim, s.index, 0), None


def number_as(dtype: Any, value: Any) -> Any:
    """A Python number as an array's dtype takes it; RuntimeError where it does not fit."""
    from rushlight.dispatch.formula import scalar

    if isinstance(value, complex) and dtype.kind != "c":
        raise RuntimeError("value cannot be converted to type "
                           f"{dtype.name} without overflow: {value}")
    return scalar(value, dtype)
