"""Other sizes over the same elements: squeeze, view, reshape, flatten, expand and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim, wrap_dims
from rushlight._engine.core.layout import Layout, as_tuple, infer_size, view_strides
from rushlight._engine.ops.shapes.views import permuted
from rushlight._engine.ops.signature import spread_tensors
from rushlight._engine.ops.table import composite, view


@composite(where=("Tensor",), planned=True)
def view_as(input, other):
    """view(other.size())."""
    return input.view(other.shape)


@composite(where=("Tensor",), planned=True)
def reshape_as(input, other):
    """reshape(other.size())."""
    return input.reshape(other.shape)


@composite(planned=True)
def ravel(input):
    """All dims as one."""
    return input.contiguous().reshape(-1)


@composite(where=("Tensor",), planned=True)
def expand_as(input, other):
    """expand(other.size())."""
    return input.expand(other.shape)


@composite(planned=True)
def broadcast_to(input, size: "*Ints"):
    """input expanded to a shape."""
    return input.expand(size)


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
    return permuted(input, _squeezed(input.sizes, dim))


def _unsqueezed(a: np.ndarray[Any, Any], dim: int) -> Any:
    sizes, d = a.shape, wrap_dim(dim, a.ndim + 1)
    wider = (*sizes[:d], 1, *sizes[d:])
    wanted = sizes[d] * a.strides[d] if d < len(sizes) else a.itemsize
    return (np.ndarray.reshape, wider) if a.reshape(wider).strides[d] == wanted else NotImplemented


@view(inplace=True, vjp=_in_its_shape, numpy=_unsqueezed)
def unsqueeze(input: Layout, dim: int) -> Layout:
    """With a dim of size 1 put in at `dim`."""
    d = wrap_dim(dim, len(input.sizes) + 1)
    stride = input.sizes[d] * input.strides[d] if d < len(input.sizes) else 1
    return Layout((*input.sizes[:d], 1, *input.sizes[d:]), (*input.strides[:d], stride, *input.strides[d:]))


def _view_numpy(a: np.ndarray[Any, Any], size: Any) -> Any:
    if not a.flags.c_contiguous:
        return NotImplemented
    return np.ndarray.reshape, infer_size(as_tuple(size), a.size)


@view(where=("aten",), numpy=_view_numpy, vjp=_in_its_shape)
def _view(input: Layout, size: "*Ints") -> Layout:
    """The same elements in another shape, without a copy."""
    count = int(np.prod(input.sizes, dtype=np.int64))
    sizes = infer_size(as_tuple(size), count)
    strides = view_strides(input.sizes, input.strides, sizes)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return Layout(sizes, strides)


@composite(planned=True)
def reshape(input, shape: "*Ints"):
    """The elements in row-major order in another shape: a view where one exists, else a copy.

    One size may be -1: what is left. RuntimeError where the sizes do not multiply to the number of elements.
    """
    shape = as_tuple(shape)
    a = input._geometry
    if not a.flags.c_contiguous:
        sizes = infer_size(shape, a.size)
        if view_strides(a.shape, [s // a.itemsize for s in a.strides], sizes) is None:
            return _view(input.contiguous(), sizes)
        return _view(input, sizes)
    return _view(input, shape)


@composite(planned=True)
def flatten(input, start_dim: int = 0, end_dim: int = -1):
    """Dims start_dim to end_dim as one: (a, b, c) and 1, -1 give (a, b * c); a view where one exists, else a
    copy.
    """
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not input.ndim:
        return input.reshape(1)
    if first == last:
        return input
    sizes = input._geometry.shape
    middle = int(np.prod(sizes[first : last + 1], dtype=np.int64))
    return input.reshape(*sizes[:first], middle, *sizes[last + 1 :])


@composite(planned=True)
def unflatten(input, dim: int, sizes: Ints):
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
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of "
            f"dim {d} ({shape[d]}) in the input tensor"
        ) from error
    return input.view(*shape[:d], *cut, *shape[d + 1 :])


# --- repeating ------------------------------------------------------------------------------------


def _expanded(layout: Layout, sizes: tuple[int, ...]) -> Layout:
    extra = len(sizes) - len(layout.sizes)
    if extra < 0:
        raise RuntimeError(
            f"expand({{{list(layout.sizes)}}}, size={list(sizes)}): the number of sizes "
            f"provided ({len(sizes)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(layout.sizes)})"
        )
    out, strides = list(sizes), [0] * len(sizes)
    for i in range(len(sizes) - 1, -1, -1):
        if i < extra:
            if sizes[i] < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({sizes[i]}) isn't allowed in a "
                    f"leading, non-existing dimension {i}"
                )
            if sizes[i] == 1 and layout.sizes:
                strides[i] = out[i + 1] * strides[i + 1]  # as unsqueeze has it
            continue
        size, stride = layout.sizes[i - extra], layout.strides[i - extra]
        out[i] = size if sizes[i] == -1 else sizes[i]
        if size not in (1, out[i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({out[i]}) must match the existing "
                f"size ({size}) at non-singleton dimension {i}.  Target sizes: "
                f"{list(sizes)}.  Tensor sizes: {list(layout.sizes)}"
            )
        strides[i] = stride if out[i] == size else 0
    return Layout(tuple(out), tuple(strides))


@view(name="expand", where=("Tensor",))
def expand(input: Layout, size: "*Ints", *, implicit: bool = False) -> Layout:
    """Dims of size 1 repeated without a copy; -1 leaves a size as it is."""
    return _expanded(input, as_tuple(size))


expand.gradient(lambda s, grad: grad.sum_to_size(s.shape("input")))


def _at_least(ndim: int, grow: Any) -> None:
    """The row atleast_NDIMd, of one tensor or several."""

    def body(tensors: "*Any" = ()):
        grown = tuple([grow(t) for t in spread_tensors(f"atleast_{ndim}d", tensors)])
        alone = len(tensors) == 1 and not isinstance(tensors[0], (list, tuple))
        return grown[0] if alone else grown

    composite(body, name=f"atleast_{ndim}d", where=("torch",), doc=f"With dims of size 1, {ndim} in all.")


def _grown_to_2d(t: Any) -> Any:
    return t.reshape(1, 1) if not t.ndim else t.unsqueeze(0) if t.ndim == 1 else t


def _grown_to_3d(t: Any) -> Any:
    return _grown_to_2d(t).unsqueeze(-1) if t.ndim < 3 else t


_at_least(1, lambda t: t.reshape(1) if not t.ndim else t)
_at_least(2, _grown_to_2d)
_at_least(3, _grown_to_3d)
