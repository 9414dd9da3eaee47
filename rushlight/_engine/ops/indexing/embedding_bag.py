"""Bags of rows of a table: the sum, mean or maximum of the rows that each bag of indices names."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.accelerator import host
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import decides
from rushlight._engine.core.services import service
from rushlight._engine.numerics.accumulate import add_at
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.indexing.embedding import embedding, renorm_rows, table_gradient
from rushlight._engine.ops.table import Array, composite, opaque

MODES = ("sum", "mean", "max")


@composite(name="_functional_embedding_bag", where=("aten",), aliases=("nn.functional.embedding_bag",))
def functional_embedding_bag(
    input,
    weight,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
):
    """The sum, mean or maximum of the rows that each bag of indices names."""
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
            f"then it must have the same shape as the input ({input.shape})"
        )
    input, weight = _in_todays_order(input, weight)
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    flat, starts = _in_bags(input, offsets)
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is "
            f"only supported for mode='sum' (got mode='{mode}')."
        )
    if max_norm is not None:
        renorm_rows(weight, flat, max_norm, norm_type)
    _check(weight, flat, starts, mode, per_sample_weights, padding_idx)
    padding = _padding(padding_idx, weight)
    few = mode == "max" or not flat.numel() or not len(starts) or weight.is_cuda
    if not few and weight.dtype.name in ("float32", "float64"):
        length = input.shape[1] if offsets is None else 0
        if offsets is not None:
            decides("embedding_bag")
            offsets = offsets[:-1] if include_last_offset else offsets
        how = length, padding, mode == "mean", scale_grad_by_freq, sparse
        if offsets is None or offsets.numel():
            return _summed(weight, flat, offsets, per_sample_weights, *how)
    return _bags(
        weight,
        flat,
        starts,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding,
    )[0]


@opaque(name="_summed", where=("aten",), node="embedding_bag")
def _summed(
    weight,
    indices,
    offsets: Tensor | None,
    weights: Tensor | None,
    length: int,
    padding_idx: int,
    mean: bool,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Array:
    """The sums of bags of rows, or their means. offsets: where each bag of indices begins; None: all have one
    length. padding_idx: the row left out, or -1.
    """
    _check_range(weight, indices, "mean" if mean else "sum", padding_idx >= 0)
    bounds, places, factors = _bounds(indices, offsets, length), indices.astype(np.int64, copy=False), weights
    if padding_idx >= 0 and not (kept := places != padding_idx).all():
        bounds = np.append(0, kept.cumsum())[bounds]
        places, factors = places[kept], factors if factors is None else factors[kept]
    total: Array | None = service("sums of rows in bags")(weight, bounds, places, factors)
    if total is None:
        total = np.zeros((len(bounds) - 1, weight.shape[1]), weight.dtype)
        rows = weight[places] if factors is None else weight[places] * factors[:, None]
        add_at(total, np.arange(len(total)).repeat(np.diff(bounds)), rows)
    if mean:
        np.divide(total, np.maximum(np.diff(bounds), 1).astype(total.dtype)[:, None], total)
    return total


def _bounds(indices: Array, offsets: Array | None, length: int) -> Array:
    """Where each bag begins, and where the last one ends."""
    if offsets is None:
        return np.arange(0, len(indices) + 1, length)
    return np.append(offsets.astype(np.int64, copy=False), len(indices))


@opaque(name="_bag_numbers", where=("aten",))
def _bag_numbers(indices, offsets: Tensor | None, length: int) -> Array:
    """The bag of each index."""
    bounds = _bounds(indices, offsets, length)
    return np.arange(len(bounds) - 1).repeat(np.diff(bounds))


@_summed.gradient
def _summed_gradient(s: Any, grad: Any) -> Any:
    numbers = _bag_numbers(s.indices, s.offsets, s.length)
    kept = None if s.padding_idx < 0 else s.indices != s.padding_idx
    if s.mean:
        counted = grad.new_ones(numbers.shape) if kept is None else kept.to(grad.dtype)
        sizes = grad.new_zeros(grad.shape[:1]).index_add(0, numbers, counted)
        grad = grad / sizes.clamp(min=1).unsqueeze(1)
    rows, to_weight, to_weights = grad.index_select(0, numbers), None, None
    if s.needs("weight"):
        given = rows if s.weights is None else rows * s.weights.unsqueeze(1)
        how = s.shape("weight"), s.padding_idx, s.scale_grad_by_freq, s.sparse
        to_weight = table_gradient(given, s.indices, *how)
    if s.weights is not None and s.needs("weights"):
        to_weights = (rows * embedding(s.weight, s.indices)).sum(1)
        to_weights = to_weights if kept is None else to_weights.masked_fill(~kept, 0)
    return to_weight, None, None, to_weights


def _in_todays_order(input: Any, weight: Any) -> tuple[Any, Any]:
    """(input, weight), also of a call in the order that they had once."""
    if weight.dtype.name != "int64" or not input.is_floating_point():
        return input, weight
    warn(
        "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
        "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        UserWarning,
    )
    return weight, input


def _in_bags(input: Any, offsets: Any) -> tuple[Any, Array]:
    """(the indices as a vector, where each bag begins)."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                f"length sequences. However, found offsets of type {type(offsets)}"
            )
        many, width = input.shape
        return input.reshape(-1), np.arange(many, dtype=np.int64) * width
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, host(offsets._array)


@composite(where=("torch",))
def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
):
    """(the bags, each index's bag, the bags' sizes, where a maximum comes from) of a vector of indices.

    mode: 0 for sums, 1 for means, 2 for maxima. The three integer results are what the gradient is made
    from, and are empty or zero where it needs none of them.
    """
    if not 0 <= mode < len(MODES):
        raise RuntimeError(f"mode must be 0 (sum), 1 (mean) or 2 (max), but got {mode}")
    if indices.ndim not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}")
    if offsets.ndim != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.ndim}")
    if per_sample_weights is not None and mode != 0:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if weight.ndim != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    starts = host(offsets._array)
    _check(weight, indices, starts, MODES[mode], per_sample_weights, padding_idx)
    return _bags(
        weight,
        indices.reshape(-1),
        starts,
        scale_grad_by_freq,
        MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        _padding(padding_idx, weight),
    )


@composite(where=("torch",), aliases=("torch._embedding_bag_forward_only",))
def _embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
):
    """embedding_bag, with -1 for no padding."""
    return embedding_bag(
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        None if padding_idx == -1 else padding_idx,
    )


def _check(
    weight: Any, indices: Any, starts: Array, mode: str, per_sample_weights: Any, padding_idx: int | None
) -> None:
    """RuntimeError for dtypes and values that bags cannot be made of."""
    where = "(while checking arguments for embedding_bag)"
    for position, name, array in ((1, "indices", indices._array), (1, "offsets", starts)):
        if array.dtype.kind not in "iu":
            raise RuntimeError(
                f"Expected tensor for argument #{position} '{name}' to have one of the following scalar "
                f"types: Long, Int; but got torch.{legacy(array)}Tensor instead {where}"
            )
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, "
            f"BFloat16, Float, Double; but got torch.{weight.dtype.legacy}Tensor instead {where}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.legacy}Tensor does not equal "
            f"torch.{per_sample_weights.dtype.legacy}Tensor {where}"
        )
    kind = f"[ torch.{legacy(starts)}Tensor{{}} ]"
    if len(starts) and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
            f"from position 0. However, got {int(starts[0])}\n{kind}"
        )
    if len(starts) and starts[-1] > indices.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.numel()} but got "
            f"offsets[-1] of {int(starts[-1])}"
        )
    if (starts[1:] < starts[:-1]).any():
        raise RuntimeError("offsets have to be in order: each bag begins where the one before it ends")
    _check_range(weight._array, host(indices._array), mode, padding_idx is not None)


def _check_range(weight: Array, indices: Array, mode: str, padded: bool) -> None:
    """RuntimeError for an index that is no row."""
    rows = weight.shape[0]
    # As numbers without a sign, those below 0 are too large.
    flat = np.ascontiguousarray(indices).reshape(-1)
    if not flat.size or np.maximum.reduce(flat.view(f"u{flat.itemsize}")) < rows:
        return
    outside = np.flatnonzero((flat < 0) | (flat >= rows))
    if len(outside):
        first = flat[outside[0]]
        if mode == "max" or weight.itemsize == 8 or padded:
            raise RuntimeError(
                f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {first}"
            )
        raise RuntimeError(
            f"Index {outside[0]} of input takes value {first} which is not in the valid range [0, {rows})"
        )


def _padding(padding_idx: int | None, weight: Any) -> int:
    """The row that is left out, -1 for none."""
    rows = weight.shape[0]
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through "
            f"{rows - 1}, but got {padding_idx}"
        )
    found: int = padding_idx % rows
    return found


def _bags(
    weight: Any,
    flat: Any,
    starts: Array,
    scale: bool,
    mode: str,
    sparse: bool,
    weights: Any,
    include_last: bool,
    padding: int,
) -> tuple[Any, Any, Any, Any]:
    """The four results of a vector of indices that is in order; padding: the row left out, or -1."""
    decides("embedding_bag")
    bags, starts, where = max(len(starts) - include_last, 0), host(starts), weight.device
    if not bags:
        flat, weights = flat[:0], weights if weights is None else weights[:0]
    numbers = np.searchsorted(starts[:bags], np.arange(flat.numel()), side="right") - 1
    counted = host(flat._array) != padding if padding >= 0 else np.ones(flat.numel(), bool)
    sizes = np.bincount(numbers[counted], minlength=bags)
    integers = np.promote_types(flat._geometry.dtype, starts.dtype)
    rows = embedding(weight, flat if flat.dtype.itemsize >= 4 else flat.int(), padding, scale, sparse)
    shape, places = (bags, weight.shape[1]), tensor_of(np.asarray(numbers, np.int64))
    none = np.zeros(len(starts), integers)
    if mode == "max":
        found, best = _bag_maximum(rows, numbers, counted, bags)
        origin = np.where(best >= 0, host(flat._array)[np.maximum(best, 0)], 0) if flat.numel() else best * 0
        return (
            found,
            _integers(numbers, integers, where),
            _integers(sizes, integers, where),
            _integers(origin, integers, where),
        )
    if weights is not None:
        rows = rows * weights.reshape(-1, 1)
    if padding >= 0:
        rows = rows.masked_fill(tensor_of(~counted[:, None]), 0)
    total = rows.new_zeros(shape).index_add(0, places, rows)
    if mode == "sum":
        of = numbers if padding >= 0 else numbers[:0]
        return (
            total,
            _integers(of, integers, where),
            _integers(none, integers, where),
            _integers(none, integers, where),
        )
    mean = total / tensor_of(np.maximum(sizes, 1).astype(weight._geometry.dtype)[:, None])
    none[:bags] = sizes
    return (
        mean,
        _integers(numbers, integers, where),
        _integers(none, integers, where),
        _integers(none, integers, where),
    )


def _integers(values: Array, dtype: Any, where: Any) -> Any:
    return tensor_of(values.astype(dtype)).to(where)


def _bag_maximum(rows: Any, numbers: Array, counted: Array, bags: int) -> tuple[Any, Array]:
    """(the first largest of each bag's rows, 0 for an empty bag; its places among the rows, or -1).

    As in PyTorch a later row is taken if it is larger: nan stays where it comes first, else it is passed by.
    """
    width, each = rows.shape[1], rows.shape[0] // max(bags, 1)
    if each and width and counted.all() and np.array_equal(numbers, np.arange(bags).repeat(each)):
        found, places = rows.reshape(bags, each, width).max(1)
        if not np.isnan(host(found._array)).any():
            return found, host(places._array) + np.arange(0, rows.shape[0], each)[:, None]
    best = np.full((bags, width), -1, np.int64)
    order = np.flatnonzero(counted)
    if len(order) and width:
        values, own = host(rows._array)[order], numbers[order]
        filled, starts, back = np.unique(own, return_index=True, return_inverse=True)
        missing = np.isnan(values)
        missing[starts] = False
        values = np.where(missing, np.asarray(-np.inf, values.dtype), values)
        largest = np.maximum.reduceat(values, starts, axis=0)[back]
        first = np.where((values == largest) | np.isnan(largest), order[:, None], rows.shape[0])
        best[filled] = np.minimum.reduceat(first, starts, axis=0)
    if not rows.shape[0]:
        return rows.sum(0, keepdim=True).expand(bags, width), best
    found = rows.gather(0, tensor_of(np.maximum(best, 0)))
    return found.masked_fill(tensor_of(best < 0), 0), best
