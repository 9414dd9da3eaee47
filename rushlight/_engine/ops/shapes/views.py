"""Views: the same memory under other sizes, strides and offset.

A body gets the operand's Layout with offset 0 and answers with the offset relative to it.
`numpy` names NumPy's own way to the same view, where it is faster than the layout map. A body that is
`native` gets the array, and answers with NumPy's way alone: a function, and its arguments behind the array.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim, wrong_type
from rushlight._engine.core.layout import Layout, as_tuple, beyond_storage
from rushlight._engine.ops.table import composite, view

# --- permuting ------------------------------------------------------------------------------------


@view(aliases=("swapaxes", "swapdims"), inplace=True, native=True)
def transpose(input, dim0: int, dim1: int) -> Any:
    """Swap two dims."""
    i, j = wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
    return (np.ndarray.swapaxes, i, j) if input.ndim else (getitem, ...)


def permuted(layout: Layout, order: Any) -> Layout:
    """The layout with its dims in another order (or some of them left out)."""
    return Layout(tuple(layout.sizes[i] for i in order), tuple(layout.strides[i] for i in order))


transpose.gradient(lambda s, grad: grad.transpose(s.dim0, s.dim1))


def _order(dims: Any, ndim: int) -> tuple[int, ...]:
    dims = as_tuple(dims)
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not "
            f"match the length of the desired ordering of dimensions i.e. input.dim() "
            f"= {ndim} is not equal to len(dims) = {len(dims)}"
        )
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(wrapped)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return wrapped


@view(native=True)
def permute(input, dims: "*Ints") -> Any:
    """The dims in another order."""
    return np.ndarray.transpose, _order(dims, input.ndim)


@permute.gradient
def permute_gradient(s: Any, grad: Any) -> Any:
    order = _order(s.dims, grad.ndim)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return grad.permute(inverse)


@view(inplace=True, numpy=lambda a: (np.ndarray.transpose,) if a.ndim <= 2 else NotImplemented)
def t(input: Layout) -> Layout:
    """The transpose of a matrix; vectors stay as they are."""
    if len(input.sizes) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(input.sizes)}D")
    return permuted(input, range(len(input.sizes))[::-1])


t.gradient(lambda s, grad: grad.t())


@composite(aliases=("moveaxis",), planned=True)
def movedim(input, source: Ints, destination: Ints):
    """Dims moved to other places, the rest in order."""
    src, dst = as_tuple(source), as_tuple(destination)
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(src)} dims) should "
            f"contain the same number of dims as destination ({list(dst)} dims)"
        )
    src, dst = (tuple([wrap_dim(d, input.ndim) for d in dims]) for dims in (src, dst))
    for name, dims in (("source", src), ("destination", dst)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if not input.ndim:
        return input.view(())
    order = [d for d in range(input.ndim) if d not in src]
    for place, d in sorted(zip(dst, src, strict=True)):
        order.insert(place, d)
    return input.permute(order)


# --- cutting --------------------------------------------------------------------------------------


@view(native=True)
def select(input, dim: int, index: int) -> Any:
    """One slice along dim; dim disappears."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    if not -input.shape[d] <= index < input.shape[d]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    return getitem, (slice(None),) * d + (index, ...)


@view(name="slice", where=("aten",), native=True)
def slice_(input, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """Elements start, start + step, ... before end, along dim."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return getitem, (slice(None),) * wrap_dim(dim, input.ndim) + (slice(start, end, step),)


@composite(planned=True)
def narrow(input, dim: int, start: int | Tensor, length: int):
    """A view of `length` elements from `start` on, along dim; RuntimeError where these are not there."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if not isinstance(start, int):
        if hasattr(start, "_kind"):
            if start.ndim or start.dtype.category != 1:
                raise RuntimeError("start must be an 0-dim integral Tensor.")
        elif not hasattr(start, "__index__"):
            raise wrong_type("narrow", "start", "int or Tensor", start)
        start = int(start)
    d = wrap_dim(dim, input.ndim)
    size = input.shape[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_(input, d, start, start + length, 1)


# --- odd ones -------------------------------------------------------------------------------------


@view
def diagonal(input: Layout, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Layout:
    """A diagonal of each matrix over dims dim1 and dim2, as a new last dim."""
    i, j = wrap_dim(dim1, len(input.sizes)), wrap_dim(dim2, len(input.sizes))
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input.sizes[i], input.sizes[j]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = offset * input.strides[j] if offset >= 0 else -offset * input.strides[i]
    kept = [d for d in range(len(input.sizes)) if d not in (i, j)]
    return Layout(
        (*[input.sizes[d] for d in kept], count),
        (*[input.strides[d] for d in kept], input.strides[i] + input.strides[j]),
        start if count else 0,
    )


@view(where=("Tensor",), overlaps=True)
def unfold(input: Layout, dimension: int, size: int, step: int) -> Layout:
    """All windows of `size` elements, `step` apart, along a dim, as a new last dim."""
    d = wrap_dim(dimension, len(input.sizes))
    limit = input.sizes[d] if input.sizes else 1
    if size > limit:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {limit} but size is {size}")
    if step <= 0 or size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0, and step is {step} but must be > 0")
    if not input.sizes:
        return Layout((size,), (1,))
    count = (limit - size) // step + 1
    return Layout(
        (*input.sizes[:d], count, *input.sizes[d + 1 :], size),
        (*input.strides[:d], input.strides[d] * step, *input.strides[d + 1 :], input.strides[d]),
    )


@view(where=("aten",), overlaps=True)
def _as_strided(input: Layout, size: Ints, stride: Ints, offset: int = 0) -> Layout:
    """Any layout over the storage; `offset` counts from the operand's first element."""
    return Layout(as_tuple(size), as_tuple(stride), offset)


@composite(name="as_strided", inplace=True, is_view=True, planned=True)
def as_strided(input, size: Ints, stride: Ints, storage_offset: int | None = None):
    """A view with given sizes, strides and offset of the whole storage."""
    size, stride = as_tuple(size), as_tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    own = input.storage_offset()
    offset = own if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    last = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    have = input.untyped_storage().nbytes() // input.itemsize
    if 0 not in size and last > have and not input.is_meta:
        raise beyond_storage(
            Layout(size, stride, offset), input.itemsize, last * input.itemsize, have * input.itemsize
        )
    return _as_strided(input, size, stride, offset - own)
