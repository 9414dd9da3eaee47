"""Rows of a table by number: embedding, its gradient, and the renormalisation of used rows."""
from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from rushlight.base.accumulate import add_at
from rushlight.base.errors import wrap_dim
from rushlight.ops.copying import tensor_of
from rushlight.ops.along import legacy, rows_of
from rushlight.ops.table import ROWS, Array, composite, opaque


@opaque(where=("torch",), quiet=True)
def embedding(weight, indices, padding_idx: "int" = -1, scale_grad_by_freq: "bool" = False,
              sparse: "bool" = False) -> Array:
    """weight[indices]: the rows of a matrix. The row padding_idx gets no gradient."""
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following "
                           f"scalar types: Long, Int; but got torch.{legacy(indices)}Tensor instead "
                           "(while checking arguments for embedding)")
    if indices.size and int(indices.min()) < 0:
        raise _outside(indices.min(), weight)
    try:
        if weight.flags.c_contiguous:
            return rows_of(weight, indices)
        return np.ascontiguousarray(weight[indices])
    except IndexError:
        raise _outside(indices.max(), weight) from None


def _outside(place: Any, weight: Array) -> IndexError:
    return IndexError(f"index out of range in self: got {place}, expected 0 <= index < {weight.shape[0]}")


@embedding.gradient
def _(s: Any, grad: Any) -> Any:
    if s.sparse:
        if s.scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        places, values = s.indices.reshape(-1), grad.reshape(-1, grad.shape[-1])
        kept = places != s.padding_idx
        return import_module("rushlight.sparse").make(
            (places[kept].long().unsqueeze(0), values[kept]), s.shape("weight")), None
    rows = s.shape("weight")[0]
    return _dense_backward(grad, s.indices, rows, s.padding_idx, s.scale_grad_by_freq), None


@opaque(name="embedding_dense_backward", where=("aten",))
def _dense_backward(grad_output, indices, num_weights: "int", padding_idx: "int",
                    scale_grad_by_freq: "bool") -> Array:
    """The gradient of the table: each row of grad_output added to the row it was read from."""
    width = grad_output.shape[-1]
    where = indices.reshape(-1).astype(np.int64, copy=False)
    rows = grad_output.reshape(-1, width)
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


@_dense_backward.gradient
def _(s: Any, grad: Any) -> Any:
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
        raise RuntimeError("norm(): input dtype should be either floating point or complex. Got "
                           f"{weight.dtype.legacy} instead.")
    used = np.unique(indices._a)
    rows = weight._a[used]
    norms = np.linalg.norm(rows.astype(np.float64), norm_type, axis=1)
    large = norms > max_norm
    if large.any():
        scale = (max_norm / (norms[large] + 1e-7)).astype(np.float64)
        fresh = (rows[large] * scale[:, None]).astype(weight._a.dtype)
        weight.detach()[tensor_of(used[large])] = tensor_of(fresh)


@composite(inplace=True, out=True)
def renorm(input, p: "Number", dim: "int", maxnorm: "Number"):
    """input with each slice along dim scaled down so that its p-norm is at most maxnorm."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    d = wrap_dim(dim, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != d)
    norms = ROWS["vector_norm"](input, p, others, True)
    scale = ROWS["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return input.contiguous() * scale.to(input.dtype)


@composite(name="_embedding", where=("aten",), aliases=("nn.functional.embedding",))
def functional_embedding(input, weight, padding_idx: "int | None" = None,
                         max_norm: "float | None" = None, norm_type: "float" = 2.0,
                         scale_grad_by_freq: "bool" = False, sparse: "bool" = False):
    """The rows of weight (num_embeddings, dim) that the integers in input name.

    max_norm rescales used rows of weight in place; scale_grad_by_freq divides gradients by how
    often the row was used.
    """
    place = -1
    if padding_idx is not None:
        rows = weight._a.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        place = padding_idx % rows
    if max_norm is not None:
        renorm_rows(weight, input, max_norm, norm_type)
    return embedding(weight, input, place, scale_grad_by_freq, sparse)


# --- bags of rows ---------------------------------------------------------------------------------

@composite(where=("nn.functional",))
def embedding_bag(input, weight, offsets: "Tensor | None" = None, max_norm: "float | None" = None,
                  norm_type: "float" = 2, scale_grad_by_freq: "bool" = False, mode: "str" = "mean",
                  sparse: "bool" = False, per_sample_weights: "Tensor | None" = None,
                  include_last_offset: "bool" = False, padding_idx: "int | None" = None):
    """The sum, mean or maximum of the rows that each bag of indices names."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is "
                                  f"only supported for mode='sum' (got mode='{mode}').")
    if not weight.is_floating_point():
        raise RuntimeError("Expected tensor for argument #1 'weight' to have one of the following scalar "
                           f"types: Half, BFloat16, Float, Double; but got {weight.dtype.legacy} instead")
    plain = input.ndim == 2 and mode != "max" and input.numel() and offsets is None is per_sample_weights
    if plain and max_norm is None is padding_idx:
        rows = embedding(weight, input, -1, scale_grad_by_freq, sparse)
        return rows.sum(1) if mode == "sum" else rows.mean(1)
    flat, numbers, bags = _bags(input, offsets, include_last_offset)
    if max_norm is not None:
        renorm_rows(weight, flat, max_norm, norm_type)
    counted = np.ones(flat.numel(), bool)
    if padding_idx is not None:
        counted = flat._a != padding_idx % weight.shape[0]
    rows = embedding(weight, flat, -1 if padding_idx is None else padding_idx % weight.shape[0],
                     scale_grad_by_freq, sparse)
    shape, places = (bags, weight.shape[1]), tensor_of(np.asarray(numbers, np.int64))
    if mode == "max":
        return _bag_maximum(rows, numbers, counted, bags)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    rows = rows * tensor_of(counted.astype(weight._a.dtype)[:, None])
    total = rows.new_zeros(shape).index_add(0, places, rows)
    if mode == "sum":
        return total
    sizes = np.maximum(np.bincount(numbers[counted], minlength=bags), 1)
    return total / tensor_of(sizes.astype(weight._a.dtype)[:, None])


def _bags(input: Any, offsets: Any, include_last: bool) -> tuple[Any, Any, int]:
    """(the indices as a vector, which bag each belongs to, how many bags there are)."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a "
                             "mini-batch of fixed length sequences. However, found offsets of type "
                             f"{type(offsets).__name__}")
        return input.reshape(-1), np.repeat(np.arange(input.shape[0]), input.shape[1]), input.shape[0]
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    starts = offsets._a
    if starts.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor of type int32 or int64")
    if len(starts) and starts[0] != 0:
        raise ValueError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                         f"from position 0. However, got {int(starts[0])}")
    if len(starts) and starts[-1] > input.numel():
        raise ValueError(f"offsets[-1] can not be greater than input's length {input.numel()} but got "
                         f"offsets[-1] of {int(starts[-1])}")
    bags = len(starts) - include_last
    return input, np.searchsorted(starts[:bags], np.arange(input.numel()), side="right") - 1, bags


def _bag_maximum(rows: Any, numbers: Any, counted: Any, bags: int) -> Any:
    """The first largest of each bag's rows, 0 for an empty bag."""
    width = rows.shape[1]
    best = np.full((bags, width), -1, np.int64)
    order = np.flatnonzero(counted)
    values = rows._a
    for bag in range(bags):
        own = order[numbers[order] == bag]
        if len(own):
            best[bag] = own[values[own].argmax(0)]
    found = rows.gather(0, tensor_of(np.maximum(best, 0))) if rows.shape[0] else rows.new_zeros((bags, width))
    return found.masked_fill(tensor_of(best < 0), 0)
