"""Tensors put together: cat, stack and their relatives for certain dims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import channels_last_strides, has_channels_last, laid_out
from rushlight._engine.core.promotion import promote_types
from rushlight._engine.ops.creation.copying import assign
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.signature import spread_tensors
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


def promoted(tensors: Sequence[Any]) -> Sequence[Any]:
    """The tensors in the dtype that all of them promote to."""
    first = tensors[0]._kind
    if all(t._kind is first for t in tensors):
        return tensors
    target = reduce(promote_types, [t._kind.dtype for t in tensors])
    return [t.to(target) for t in tensors]


# --- cat ------------------------------------------------------------------------------------------


def _skipped(shape: tuple[int, ...]) -> bool:
    """PyTorch leaves empty vectors out of any cat."""
    return len(shape) == 1 and shape[0] == 0


def _check_cat(shapes: list[tuple[int, ...]], dim: int) -> int:
    for place, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {place}) cannot be concatenated; use torch.stack"
            )
    taken = [(i, s) for i, s in enumerate(shapes) if not _skipped(s)]
    first = taken[0][1] if taken else (0,)
    d = wrap_dim(dim, len(first))
    for place, shape in taken:
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for i, (n, m) in enumerate(zip(first, shape, strict=True)):
            if i != d and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} "
                    f"but got size {m} for tensor number {place} in the list."
                )
    return d


def _lie_as_joined(tensors: Sequence[Array]) -> bool:
    """Whether NumPy's result lies as PyTorch's does without being told: row by row, or in channels last."""
    return _last(tensors) or all([t.flags.c_contiguous for t in tensors])


@composite(where=("torch",), aliases=("concat", "concatenate"), out=True, out_apart=True, planned=True)
def cat(tensors: list[Tensor], dim: int = 0):
    """The tensors one after the other along an existing dim: sizes agree in the others (RuntimeError), dtypes
    are promoted.
    """
    if len(tensors) == 0:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return _cat(promoted(tensors), dim)


def _last(tensors: Sequence[Array]) -> bool:
    """Whether all tensors are in channels last, as the result is then."""
    return all([has_channels_last(t.shape, t.strides) for t in tensors])


@opaque(name="_cat", where=("aten",), node="cat", quiet=True)
@resolved
def _cat(tensors: list[Tensor], dim: int) -> ArrayFunction:
    """cat of tensors of one dtype."""
    d, of = _check_cat([t.shape for t in tensors], dim), tensors[0].dtype
    taken = [i for i, t in enumerate(tensors) if not _skipped(t.shape)]
    if not taken:
        return lambda tensors: np.empty(0, of)
    if len(taken) < len(tensors):
        return lambda tensors: np.concatenate([tensors[i] for i in taken], d)
    first, alike = tensors[0].shape, _lie_as_joined(tensors)
    shape = (*first[:d], sum([t.shape[d] for t in tensors]), *first[d + 1 :])
    if d and alike and math.prod(shape) >= _LARGE:
        return lambda tensors: _joined(tensors, d, shape)
    if alike:
        return np.concatenate if d == 0 else (lambda tensors: np.concatenate(tensors, d))
    return lambda tensors: np.concatenate(tensors, d, np.empty(shape, of))


# Elements from which on parts are copied into the result by machine code.
_LARGE = 1 << 18


def _joined(tensors: Sequence[Array], d: int, shape: tuple[int, ...]) -> Array:
    """Tensors that lie alike, one after the other along a dim."""
    out = laid_out(shape, (channels_last_strides(shape),) if _last(tensors) else (), tensors[0].dtype)
    ends = accumulate([t.shape[d] for t in tensors])
    for t, end in zip(tensors, ends, strict=True):
        assign(out[(slice(None),) * d + (slice(end - t.shape[d], end),)], t)
    return out


@_cat.gradient
def _cat_gradient(s: Any, grad: Any) -> Any:
    shapes, d = s.shape("tensors"), wrap_dim(s.dim, grad.ndim)
    sizes = [0 if _skipped(shape) else shape[d] for shape in shapes]
    return [
        grad.new_zeros(shape) if _skipped(shape) and grad.ndim != 1 else grad.narrow(d, end - size, size)
        for shape, size, end in zip(shapes, sizes, accumulate(sizes), strict=True)
    ]


# --- stack ----------------------------------------------------------------------------------------


@composite(where=("torch",), out=True, planned=True)
def stack(tensors: list[Tensor], dim: int = 0):
    """The tensors, all of one shape (RuntimeError), side by side along a new dim: k of (a, b) and dim 0 give
    (k, a, b).
    """
    if len(tensors) == 0:
        raise RuntimeError("stack expects a non-empty TensorList")
    return _stack(promoted(tensors), dim)


@opaque(name="_stack", where=("aten",), node="stack", quiet=True)
@resolved
def _stack(tensors: list[Tensor], dim: int) -> ArrayFunction:
    """stack of tensors of one dtype."""
    first = tensors[0].shape
    d = wrap_dim(dim, len(first) + 1)
    for place, t in enumerate(tensors):
        if t.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at "
                f"entry 0 and {list(t.shape)} at entry {place}"
            )
    shape, of = (*first[:d], len(tensors), *first[d:]), tensors[0].dtype
    if d == len(first):
        return lambda tensors: (
            np.array(tensors, of)
            if not first
            else (np.concatenate([t[..., None] for t in tensors], d, np.empty(shape, of)))
        )
    if _lie_as_joined(tensors):
        return lambda tensors: np.concatenate(tensors, d).reshape(shape)
    joined = (*first[:d], len(tensors) * first[d], *first[d + 1 :])
    return lambda tensors: np.concatenate(tensors, d, np.empty(joined, of)).reshape(shape)


_stack.gradient(lambda s, grad: list(grad.unbind(s.dim)))


# --- for certain dims -----------------------------------------------------------------------------


def _stacked(name: str, doc: str, prepare: Any, dim: Any, *aliases: str) -> None:
    """The row NAME: cat, along `dim`, of what `prepare` makes of each tensor."""

    def body(tensors: list[Tensor]):
        if len(tensors) == 0:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        parts = [prepare(t) for t in tensors]
        return cat(parts, dim(parts[0]) if callable(dim) else dim)

    composite(body, name=name, doc=doc, where=("torch",), aliases=aliases, out=True, planned=True)


_stacked(
    "hstack",
    "cat along the second dim; of vectors, along the first.",
    ROWS["atleast_1d"],
    lambda first: 0 if first.ndim == 1 else 1,
)
_stacked("vstack", "cat along the first dim, vectors being rows.", ROWS["atleast_2d"], 0, "row_stack")
_stacked("dstack", "cat along the third dim.", ROWS["atleast_3d"], 2)
_stacked(
    "column_stack",
    "cat along the second dim, vectors being columns.",
    lambda t: t.reshape(t._geometry.size, 1) if t.ndim <= 1 else t,
    1,
)


@composite(where=("torch",))
def block_diag(tensors: "*Any" = ()):
    """The matrices along the diagonal of a matrix of zeros."""
    parts = [t if t.ndim > 1 else ROWS["atleast_2d"](t) for t in spread_tensors("block_diag", tensors)]
    for place, t in enumerate(parts):
        if t.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {place} has {t.ndim} dimensions"
            )
    return _block_diag(list(promoted(parts))) if parts else ROWS["empty"]((1, 0))


@composite(where=("aten",), planned=True)
def _block_diag(parts: list[Tensor]):
    """block_diag of matrices of one dtype."""
    width = sum(t._geometry.shape[1] for t in parts)
    rows, start = [], 0
    for t in parts:
        end = start + t._geometry.shape[1]
        rows.append(ROWS["constant_pad_nd"](t, (start, width - end)))
        start = end
    return ROWS["_cat"](rows, 0)
