"""Rows of a table by number: embedding, its gradient, and the renormalisation of used rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.recording import decides
from rushlight._engine.core.services import service
from rushlight._engine.numerics.accumulate import add_at
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.indexing.along_dim import legacy, rows_of
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


@opaque(where=("torch",), quiet=True)
def embedding(
    weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    """weight[indices]: the rows of a matrix. The row padding_idx gets no gradient."""
    _check_table(weight, indices)
    if indices.size and int(indices.min()) < 0:
        raise _outside(indices.min(), weight)
    try:
        if weight.flags.c_contiguous:
            return rows_of(weight, indices)
        return np.ascontiguousarray(weight[indices])
    except IndexError:
        raise _outside(indices.max(), weight) from None


def _check_table(weight: Array, indices: Array) -> None:
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
            f"Int; but got torch.{legacy(indices)}Tensor instead (while checking arguments for embedding)"
        )


@embedding.shape_rule
def _embedding_shape(
    weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    _check_table(weight._geometry, indices._geometry)
    return weight.new_empty((*indices.shape, weight.shape[1]))


def _outside(place: Any, weight: Array) -> IndexError:
    return IndexError(f"index out of range in self: got {place}, expected 0 <= index < {weight.shape[0]}")


@embedding.gradient
def embedding_gradient(s: Any, grad: Any) -> Any:
    how = s.shape("weight"), s.padding_idx, s.scale_grad_by_freq, s.sparse
    return table_gradient(grad, s.indices, *how), None


def table_gradient(grad: Any, indices: Any, shape: Any, padding: int, by_freq: bool, sparse: bool) -> Any:
    """The gradient of a table, sparse if asked for, from those of the rows that indices read."""
    if sparse:
        if by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        places, values = indices.reshape(-1), grad.reshape(indices.numel(), grad.shape[-1])
        if padding >= 0:
            kept = places != padding
            places, values = places[kept], values[kept]
        return service("sparse tensor")((places.long().unsqueeze(0), values), shape)
    return _dense_backward(grad, indices, shape[0], padding, by_freq)


@opaque(name="embedding_dense_backward", where=("aten",))
def _dense_backward(
    grad_output, indices, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of the table: each row of grad_output added to the row it was read from."""
    width = grad_output.shape[-1]
    where = indices.reshape(-1).astype(np.int64, copy=False)
    rows = grad_output.reshape(where.size, width)  # -1 does not go with a width of 0
    if padding_idx >= 0:
        kept = where != padding_idx
        if not kept.all():
            where, rows = where[kept], rows[kept]
    if scale_grad_by_freq:
        count = np.bincount(where, minlength=num_weights)[where]
        rows = (rows / count[:, None]).astype(rows.dtype)
    out = np.zeros((num_weights, width), grad_output.dtype)
    add_at(out, where, rows)
    return out


@_dense_backward.shape_rule
def _dense_backward_shape(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    return grad_output.new_empty((num_weights, grad_output.shape[-1]))


@_dense_backward.gradient
def _dense_backward_gradient(s: Any, grad: Any) -> Any:
    # Linear in grad_output: read the same rows, none for padding.
    found = embedding(grad, s.indices)
    if s.padding_idx >= 0:
        found = found.masked_fill((s.indices == s.padding_idx).unsqueeze(-1), 0)
    if s.scale_grad_by_freq:
        count = s.indices.reshape(-1).bincount(minlength=s.num_weights)[s.indices]
        found = found / count.unsqueeze(-1)
    return found, None


def renorm_rows(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows of weight that indices name so that no norm exceeds max_norm, in place."""
    if not (weight.is_floating_point() or weight.is_complex()):
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{weight.dtype.legacy} instead."
        )
    decides("renorm")
    used = np.unique(indices._array)
    rows = weight._array[used]
    norms = np.linalg.norm(rows.astype(np.float64), norm_type, axis=1)
    large = norms > max_norm
    if large.any():
        scale = (max_norm / (norms[large] + 1e-7)).astype(np.float64)
        fresh = (rows[large] * scale[:, None]).astype(weight._geometry.dtype)
        weight.detach()[tensor_of(used[large])] = tensor_of(fresh)


@composite(inplace=True, out=True, planned=True)
def renorm(input, p: Number, dim: int, maxnorm: Number):
    """input with each slice along dim scaled down so that its p-norm is at most maxnorm."""
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    d = wrap_dim(dim, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != d)
    norms = ROWS["vector_norm"](input, p, others, True)
    scale = ROWS["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return input.contiguous() * scale.to(input.dtype)


@composite(name="_embedding", where=("aten",), aliases=("nn.functional.embedding",))
def functional_embedding(
    input,
    weight,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
):
    """The rows of weight (num_embeddings, dim) that the integers in input name.

    max_norm rescales used rows of weight in place; scale_grad_by_freq divides gradients by how
    often the row was used.
    """
    place = -1
    if padding_idx is not None:
        rows = weight._geometry.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        place = padding_idx % rows
    if max_norm is not None:
        renorm_rows(weight, input, max_norm, norm_type)
    return embedding(weight, input, place, scale_grad_by_freq, sparse)
