"""Views that cut a tensor into several: split, chunk, unbind, and the real and imaginary parts."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import as_tuple
from rushlight._engine.ops.table import ROWS, composite

_slice = ROWS["slice"]


def _filled(grads: tuple[Any, ...], shapes: list[tuple[int, ...]]) -> list[Any]:
    """The pieces' gradients, zeros where none came (the last may be left out)."""
    known = next(g for g in grads if g is not None)
    return [known.new_zeros(shape) if g is None else g for g, shape in zip_longest(grads, shapes)]


def _joined(grads: tuple[Any, ...], shape: tuple[int, ...], sizes: list[int], dim: int) -> Any:
    """The gradient of what was cut along `dim` into pieces of these sizes."""
    d = wrap_dim(dim, len(shape))
    return ROWS["cat"](_filled(grads, [(*shape[:d], n, *shape[d + 1 :]) for n in sizes]), d)


@composite(views=True, planned=True)
def unbind(input, dim: int = 0):
    """All slices along dim, as a tuple of views without that dim."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, input.ndim)
    return tuple([input.select(d, i) for i in range(input._geometry.shape[d])])


@unbind.gradient
def unbind_gradient(s: Any, *grads: Any) -> Any:
    shape = s.shape("input")
    d = wrap_dim(s.dim, len(shape))
    return ROWS["stack"](_filled(grads, [(*shape[:d], *shape[d + 1 :])] * shape[d]), d)


@composite(name="split_with_sizes", where=("torch", "Tensor"), views=True, planned=True)
def split_with_sizes(input, split_sizes: Ints, dim: int = 0):
    """Pieces of the given sizes along dim, as views."""
    sizes = as_tuple(split_sizes)
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, input.ndim)
    total = input._geometry.shape[d]
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but "
            f"got split_sizes={list(sizes)}"
        )
    if sum(sizes) != total:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {total} (input "
            f"tensor's size at dimension {d}), but got split_sizes={list(sizes)}"
        )
    pieces, start = [], 0
    for n in sizes:
        pieces.append(_slice(input, d, start, start + n, 1))
        start += n
    return tuple(pieces)


split_with_sizes.gradient(
    lambda s, *grads: _joined(grads, s.shape("input"), list(as_tuple(s.split_sizes)), s.dim)
)


@composite(planned=True)
def split(input, split_size_or_sections: Ints, dim: int = 0):
    """Views: pieces of split_size along dim (the last may be smaller), or of a list of sizes, which sum to
    the dim's.
    """
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(input, split_size_or_sections, dim)
    return _split(input, split_size_or_sections, dim)


@composite(name="_split", where=("aten",), node="split", views=True, planned=True)
def _split(input, size: int, dim: int):
    """Pieces of one size along dim, the last may be smaller."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    d = wrap_dim(dim, input.ndim)
    total = input._geometry.shape[d]
    if size == 0:
        if total:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}"
            )
        return (_slice(input, d, 0, 0, 1),)
    count = max(-(-total // size), 1)
    return tuple([_slice(input, d, i * size, min((i + 1) * size, total), 1) for i in range(count)])


@_split.gradient
def _split_gradient(s: Any, *grads: Any) -> Any:
    shape = s.shape("input")
    total = shape[wrap_dim(s.dim, len(shape))]
    sizes = [min(s.size, total - start) for start in range(0, total, s.size)] if total else [0]
    return _joined(grads, shape, sizes, s.dim)


@composite(planned=True)
def chunk(input, chunks: int, dim: int = 0):
    """Views: at most `chunks` pieces of equal size along dim (the last may be smaller); RuntimeError for
    none.
    """
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = wrap_dim(dim, input.ndim)
    total = input._geometry.shape[d]
    size = -(-total // chunks)
    return split_with_sizes(input, (0,) * chunks, d) if size == 0 else _split(input, size, d)


@composite(planned=True)
def tensor_split(input, indices_or_sections: Ints | Tensor, dim: int = 0):
    """Pieces cut at indices, or a number of nearly equal pieces."""
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = wrap_dim(dim, input.ndim)
    total = input._geometry.shape[d]
    cuts: Any = indices_or_sections
    if hasattr(cuts, "tolist"):
        if cuts._kind.on_meta:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on meta"
            )
        if cuts.dtype.name != "int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of "
                f"long, but got {cuts.dtype.legacy}"
            )
        if cuts.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {cuts.ndim} dims"
            )
        cuts = cuts.tolist()
    if isinstance(cuts, int):
        if cuts <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {cuts}")
        small, extra = divmod(total, cuts)
        sizes = [small + 1] * extra + [small] * (cuts - extra)
        cuts = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    edges = [None, *cuts, None]
    return tuple([_slice(input, d, low, high, 1) for low, high in zip(edges, edges[1:])])


def _fixed_split(name: str, doc: str, dim_of: Any) -> Any:
    def body(input, indices_or_sections: Ints | Tensor):
        d = dim_of(input)
        if isinstance(indices_or_sections, int) and (
            indices_or_sections <= 0 or input.shape[d] % indices_or_sections
        ):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                f"{input.shape[d]} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, d)

    return composite(body, name=name, doc=doc)


def _at_least(ndim: int, name: str, dim: int) -> Any:
    def dim_of(x: Any) -> int:
        if x.ndim < ndim:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {ndim} dimension, but "
                f"got a tensor with {x.ndim} dimensions!"
            )
        return dim if name != "hsplit" or x.ndim > 1 else 0

    return dim_of


hsplit = _fixed_split("hsplit", "Pieces along dim 1 (dim 0 of vectors).", _at_least(1, "hsplit", 1))
vsplit = _fixed_split("vsplit", "Pieces along dim 0.", _at_least(2, "vsplit", 0))
dsplit = _fixed_split("dsplit", "Pieces along dim 2.", _at_least(3, "dsplit", 2))
