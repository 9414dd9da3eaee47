"""Views: the same memory under other sizes, strides and offset.

A body gets the operand's Layout with offset 0 and answers with the offset relative to it.
`numpy` names NumPy's own way to the same view, where it is faster than the layout map.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.errors import wrap_dim, wrap_dims
from rushlight.base.layout import Layout, infer_size, view_strides
from rushlight.ops.table import composite, view

_ALL = ("torch", "Tensor")


# --- permuting ------------------------------------------------------------------------------------

@view(aliases=("swapaxes", "swapdims"), inplace=True,
      numpy=lambda a, i, j: a.swapaxes(wrap_dim(i, a.ndim), wrap_dim(j, a.ndim)) if a.ndim else a[...])
def transpose(input: Layout, dim0: "int", dim1: "int") -> Layout:
    """Swap two dims."""
    order = list(range(len(input.sizes)))
    i, j = wrap_dim(dim0, len(order)), wrap_dim(dim1, len(order))
    if order:
        order[i], order[j] = order[j], order[i]
    return _permuted(input, order)


def _permuted(layout: Layout, order: Any) -> Layout:
    return Layout(tuple(layout.sizes[i] for i in order), tuple(layout.strides[i] for i in order))


@transpose.gradient
def _(s: Any, grad: Any) -> Any:
    return grad.transpose(s.dim0, s.dim1)


def _order(dims: Any, ndim: int) -> tuple[int, ...]:
    dims = (dims,) if isinstance(dims, int) else dims
    if len(dims) != ndim:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not "
                           f"match the length of the desired ordering of dimensions i.e. input.dim() "
                           f"= {ndim} is not equal to len(dims) = {len(dims)}")
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(wrapped)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return wrapped


@view(numpy=lambda a, dims: a.transpose(_order(dims, a.ndim)))
def permute(input: Layout, dims: "*Ints") -> Layout:
    """The dims in another order."""
    return _permuted(input, _order(dims, len(input.sizes)))


@permute.gradient
def _(s: Any, grad: Any) -> Any:
    order = _order(s.dims, grad.ndim)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return grad.permute(inverse)


@view(inplace=True, numpy=lambda a: a.transpose() if a.ndim <= 2 else NotImplemented)
def t(input: Layout) -> Layout:
    """The transpose of a matrix; vectors stay as they are."""
    if len(input.sizes) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is "
                           f"{len(input.sizes)}D")
    return _permuted(input, range(len(input.sizes))[::-1])


@t.gradient
def _(s: Any, grad: Any) -> Any:
    return grad.t()


@composite(aliases=("moveaxis",))
def movedim(input, source: "Ints", destination: "Ints"):
    """Dims moved to other places, the rest in order."""
    src = (source,) if isinstance(source, int) else source
    dst = (destination,) if isinstance(destination, int) else destination
    if len(src) != len(dst):
        raise RuntimeError("movedim: Invalid source or destination dims: source ("
                           f"{list(src)} dims) should contain the same number of dims as destination "
                           f"({list(dst)} dims)")
    src = [wrap_dim(d, input.ndim) for d in src]
    dst = [wrap_dim(d, input.ndim) for d in dst]
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

def _check_index(index: int, size: int, dim: int, sizes: Any) -> int:
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(sizes)} at "
                         f"dimension {dim}")
    return index + size if index < 0 else index


def _select_numpy(a: np.ndarray[Any, Any], dim: int, index: int) -> Any:
    if not a.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, a.ndim)
    i = _check_index(index, a.shape[d], d, a.shape)
    return a[(slice(None),) * d + (i, ...)]


@view(numpy=_select_numpy)
def select(input: Layout, dim: "int", index: "int") -> Layout:
    """One slice along dim; dim disappears."""
    if not input.sizes:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(input.sizes))
    i = _check_index(index, input.sizes[d], d, input.sizes)
    return Layout(input.sizes[:d] + input.sizes[d + 1:], input.strides[:d] + input.strides[d + 1:],
                  i * input.strides[d])


def _bounds(start: int | None, end: int | None, size: int) -> tuple[int, int]:
    low, high, _ = slice(start, end).indices(size)
    return low, max(low, high)


def _slice_numpy(a: np.ndarray[Any, Any], dim: int, start: int | None, end: int | None,
                 step: int) -> Any:
    if step <= 0:
        raise ValueError("slice step must be positive")
    return a[(slice(None),) * wrap_dim(dim, a.ndim) + (slice(start, end, step),)]


@view(name="slice", where=("aten",), numpy=_slice_numpy)
def slice_(input: Layout, dim: "int" = 0, start: "int | None" = None, end: "int | None" = None,
           step: "int" = 1) -> Layout:
    """Elements start, start + step, ... before end, along dim."""
    d = wrap_dim(dim, len(input.sizes))
    low, high = _bounds(start, end, input.sizes[d])
    count = -(-(high - low) // step)
    return Layout((*input.sizes[:d], count, *input.sizes[d + 1:]),
                  (*input.strides[:d], input.strides[d] * step, *input.strides[d + 1:]),
                  low * input.strides[d] if count else 0)


@composite(where=_ALL)
def narrow(input, dim: "int", start: "int | Tensor", length: "int"):
    """`length` elements from `start` on, along dim."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if not isinstance(start, int):
        if getattr(start, "ndim", 1) or start.dtype.category != 1:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    d = wrap_dim(dim, input.ndim)
    size = input.shape[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got "
                         f"{start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_(input, d, start, start + length, 1)


# --- reshaping ------------------------------------------------------------------------------------

def _in_its_shape(s: Any, grad: Any) -> Any:
    return grad.reshape(s.shape("input"))


def _squeezed(sizes: Any, dims: Any) -> tuple[int, ...]:
    if dims is None:
        return tuple(i for i, n in enumerate(sizes) if n != 1)
    gone = {d for d in wrap_dims(dims, len(sizes)) if sizes[d] == 1} if dims != () else set()
    return tuple(i for i in range(len(sizes)) if i not in gone)


@view(inplace=True, vjp=_in_its_shape)
def squeeze(input: Layout, dim: "*Ints | None" = None) -> Layout:
    """Without dims of size 1 (only those named)."""
    if isinstance(dim, int):
        wrap_dim(dim, len(input.sizes))
    return _permuted(input, _squeezed(input.sizes, dim))


@view(inplace=True, vjp=_in_its_shape,
      numpy=lambda a, dim: a[(slice(None),) * wrap_dim(dim, a.ndim + 1) + (None,)])
def unsqueeze(input: Layout, dim: "int") -> Layout:
    """With a dim of size 1 put in at `dim`."""
    d = wrap_dim(dim, len(input.sizes) + 1)
    stride = input.sizes[d] * input.strides[d] if d < len(input.sizes) else 1
    return Layout((*input.sizes[:d], 1, *input.sizes[d:]),
                  (*input.strides[:d], stride, *input.strides[d:]))


def _as_tuple(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _view_numpy(a: np.ndarray[Any, Any], size: Any) -> Any:
    if not a.flags.c_contiguous:
        return NotImplemented
    size = _as_tuple(size)
    if -1 in size or min(size, default=0) < 0:
        size = infer_size(size, a.size)
    try:
        return a.reshape(size)
    except ValueError:
        infer_size(size, a.size)
        raise


@view(where=("aten",), numpy=_view_numpy, vjp=_in_its_shape)
def _view(input: Layout, size: "*Ints") -> Layout:
    """The same elements in another shape, without a copy."""
    count = int(np.prod(input.sizes, dtype=np.int64))
    sizes = infer_size(_as_tuple(size), count)
    strides = view_strides(input.sizes, input.strides, sizes)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least "
                           "one dimension spans across two contiguous subspaces). Use .reshape(...) "
                           "instead.")
    return Layout(sizes, strides)


@composite(where=("Tensor",))
def view_as(input, other):
    """view(other.size())."""
    return _view(input, other.shape)


@composite
def reshape(input, shape: "*Ints"):
    """The elements in row-major order in another shape: a view where one exists, else a copy."""
    shape = _as_tuple(shape)
    a = input._a
    if not a.flags.c_contiguous:
        sizes = infer_size(shape, a.size)
        if view_strides(a.shape, [s // a.itemsize for s in a.strides], sizes) is None:
            return _view(input.contiguous(), sizes)
        return _view(input, sizes)
    return _view(input, shape)


@composite(where=("Tensor",))
def reshape_as(input, other):
    """reshape(other.size())."""
    return input.reshape(other.shape)


@composite
def flatten(input, start_dim: "int" = 0, end_dim: "int" = -1):
    """Dims start_dim to end_dim as one."""
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not input.ndim:
        return input.reshape(1)
    if first == last:
        return input
    sizes = input._a.shape
    middle = int(np.prod(sizes[first:last + 1], dtype=np.int64))
    return input.reshape(*sizes[:first], middle, *sizes[last + 1:])


@composite
def ravel(input):
    """All dims as one."""
    return input.contiguous().reshape(-1)


@composite
def unflatten(input, dim: "int", sizes: "Ints"):
    """One dim cut into several; one of them may be -1."""
    if not input.ndim:
        raise IndexError("unflatten: expected a tensor with at least one dim, got 0")
    d = wrap_dim(dim, input.ndim)
    if isinstance(sizes, int) or not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = input.shape
    try:
        cut = infer_size(sizes, shape[d])
    except RuntimeError as error:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of "
                           f"dim {d} ({shape[d]}) in the input tensor") from error
    return input.view(*shape[:d], *cut, *shape[d + 1:])


# --- repeating ------------------------------------------------------------------------------------

def _expanded(layout: Layout, sizes: Any) -> Layout:
    sizes = _as_tuple(sizes)
    extra = len(sizes) - len(layout.sizes)
    if extra < 0:
        raise RuntimeError(f"expand({{{list(layout.sizes)}}}, size={list(sizes)}): the number of sizes "
                           f"provided ({len(sizes)}) must be greater or equal to the number of "
                           f"dimensions in the tensor ({len(layout.sizes)})")
    out, strides = [], []
    for i, wanted in enumerate(sizes):
        if i < extra:
            if wanted < 0:
                raise RuntimeError(f"The expanded size of the tensor ({wanted}) isn't allowed in a "
                                   f"leading, non-existing dimension {i}")
            out.append(wanted)
            strides.append(0)
            continue
        size, stride = layout.sizes[i - extra], layout.strides[i - extra]
        if wanted in (-1, size):
            out.append(size)
            strides.append(stride)
        elif size == 1:
            out.append(wanted)
            strides.append(0)
        else:
            raise RuntimeError(f"The expanded size of the tensor ({wanted}) must match the existing "
                               f"size ({size}) at non-singleton dimension {i}.  Target sizes: "
                               f"{list(sizes)}.  Tensor sizes: {list(layout.sizes)}")
    return Layout(tuple(out), tuple(strides))


@view(name="expand", where=("Tensor",))
def expand(input: Layout, size: "*Ints", *, implicit: "bool" = False) -> Layout:
    """Dims of size 1 repeated without a copy; -1 leaves a size as it is."""
    return _expanded(input, size)


@expand.gradient
def _(s: Any, grad: Any) -> Any:
    return grad.sum_to_size(s.shape("input"))


@composite(where=("Tensor",))
def expand_as(input, other):
    """expand(other.size())."""
    return expand(input, other.shape)


@composite
def broadcast_to(input, size: "*Ints"):
    """input expanded to a shape."""
    return expand(input, size)


# --- odd ones -------------------------------------------------------------------------------------

@view
def diagonal(input: Layout, offset: "int" = 0, dim1: "int" = 0, dim2: "int" = 1) -> Layout:
    """A diagonal of each matrix over dims dim1 and dim2, as a new last dim."""
    i, j = wrap_dim(dim1, len(input.sizes)), wrap_dim(dim2, len(input.sizes))
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input.sizes[i], input.sizes[j]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = offset * input.strides[j] if offset >= 0 else -offset * input.strides[i]
    kept = [d for d in range(len(input.sizes)) if d not in (i, j)]
    return Layout((*[input.sizes[d] for d in kept], count),
                  (*[input.strides[d] for d in kept], input.strides[i] + input.strides[j]),
                  start if count else 0)


@view(where=("Tensor",), overlaps=True)
def unfold(input: Layout, dimension: "int", size: "int", step: "int") -> Layout:
    """All windows of `size` elements, `step` apart, along a dim, as a new last dim."""
    d = wrap_dim(dimension, len(input.sizes))
    limit = input.sizes[d] if input.sizes else 1
    if size > limit:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {limit} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not input.sizes:
        return Layout((size,), (1,))
    count = (limit - size) // step + 1
    return Layout((*input.sizes[:d], count, *input.sizes[d + 1:], size),
                  (*input.strides[:d], input.strides[d] * step, *input.strides[d + 1:],
                   input.strides[d]))


@view(where=("aten",), overlaps=True)
def _as_strided(input: Layout, size: "Ints", stride: "Ints", offset: "int" = 0) -> Layout:
    """Any layout over the storage; `offset` counts from the operand's first element."""
    return Layout(_as_tuple(size), _as_tuple(stride), offset)


@composite(name="as_strided", inplace=True, is_view=True)
def as_strided(input, size: "Ints", stride: "Ints", storage_offset: "int | None" = None):
    """A view with given sizes, strides and offset of the whole storage."""
    size, stride = _as_tuple(size), _as_tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides:"
                           f" {list(stride)}")
    own = input.storage_offset()
    offset = own if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    last = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    have = input.untyped_storage().nbytes() // input.itemsize
    if 0 not in size and last > have and not input.is_meta:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
                           f"{offset}, and itemsize {input.itemsize} requiring a storage size of "
                           f"{last * input.itemsize} are out of bounds for storage of size "
                           f"{have * input.itemsize}")
    return _as_strided(input, size, stride, offset - own)
