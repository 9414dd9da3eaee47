"""Ops that PyTorch's own layers are made of and that programs name now and then; segments and hashes."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from rushlight._engine.core.conversion import convert
from rushlight._engine.core.dtype import float32, uint8
from rushlight._engine.core.errors import wrap_dim, wrap_dims
from rushlight._engine.core.layout import as_tuple
from rushlight._engine.ops.creation.filled import empty
from rushlight._engine.ops.nn.normalization import batch_norm
from rushlight._engine.ops.nn.softmax import _softmax
from rushlight._engine.ops.ordering.searching import searchsorted
from rushlight._engine.ops.pointwise.arithmetic import where
from rushlight._engine.ops.shapes.joining import cat
from rushlight._engine.ops.shapes.padding import pad
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


@composite(where=("aten",), out=True)
def native_dropout_backward(grad_output, mask, scale: float):
    """grad_output where mask, times scale."""
    return grad_output * mask * scale


@composite(where=("torch",), out=True)
def _softmax_backward_data(grad_output, output, dim: int, input_dtype: Any):
    """The gradient of softmax, from its result."""
    return ROWS["_softmax_backward"](grad_output, output, dim)


@composite(where=("torch",), out=True)
def _log_softmax_backward_data(grad_output, output, dim: int, input_dtype: Any):
    """The gradient of log_softmax, from its result."""
    return ROWS["_log_softmax_backward"](grad_output, output, dim)


# --- softmax --------------------------------------------------------------------------------------


@composite(where=("torch",))
def _safe_softmax(input, dim: int, dtype: dtype | None = None):
    """softmax along dim; where all is -inf, zeros."""
    x = input if dtype is None else input.to(dtype)
    nothing = (x == -inf).all(dim, True)
    return _softmax(x.masked_fill(nothing, 0), dim).masked_fill(nothing, 0)


@composite(where=("torch",))
def _masked_softmax(input, mask, dim: int | None = None, mask_type: int | None = None):
    """softmax along dim (the last) of what mask leaves: True is left out.

    mask_type: 0 for a mask (L, L), 1 for one of keys (B, L), 2 for one of input's shape.
    """
    if mask.dtype.name != "bool":
        raise RuntimeError("Mask should be a boolean tensor")
    if mask_type == 1 and mask.ndim == 2 and input.ndim == 4:
        mask = mask.reshape(mask.shape[0], 1, 1, mask.shape[1])
    return _softmax(input.masked_fill(mask, -inf), input.ndim - 1 if dim is None else dim)


@composite(where=("torch",), out=True)
def _add_relu(input, other: Tensor | Number, *, alpha: Number = 1):
    """relu of the sum."""
    return ROWS["relu"](ROWS["add"](input, other, alpha=alpha))


@composite(where=("torch",))
def _grid_sampler_2d_cpu_fallback(
    input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool
):
    """grid_sampler_2d."""
    return ROWS["grid_sampler_2d"](input, grid, interpolation_mode, padding_mode, align_corners)


# --- batch norm -----------------------------------------------------------------------------------


@composite(where=("torch",), out=True)
def native_batch_norm(
    input,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
):
    """batch_norm; in training also the channels' means and 1 / sqrt(variances + eps)."""
    found = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    like = input if weight is None else weight
    if not training:
        return found, like.new_empty(0), like.new_empty(0)
    dims = (0, *range(2, input.ndim))
    wide = input.detach().to(like.dtype if input.dtype.itemsize > 2 else float32)
    spread = (wide - wide.mean(dims, True)).square().mean(dims)
    return found, wide.mean(dims).to(like.dtype), (spread + eps).rsqrt().to(like.dtype)


@composite(where=("torch",), out=True)
def _native_batch_norm_legit(
    input,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Any,
    running_var: Any,
    training: Any,
    momentum: Any = None,
    eps: Any = None,
):
    """native_batch_norm; or without the running moments: (input, weight, bias, training, momentum, eps)."""
    if momentum is None:
        running_mean, running_var, training, momentum, eps = None, None, running_mean, running_var, training
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(where=("aten",), out=True)
def _batch_norm_with_update(
    input,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
):
    """native_batch_norm in training, and an empty reserve."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, empty(0, dtype=uint8, device=input.device)


# --- backward ops of layers -----------------------------------------------------------------------


@composite(where=("aten",), out=True)
def max_pool2d_with_indices_backward(
    grad_output,
    input,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
):
    """grad_output added where the maxima were found."""
    flat = grad_output.new_zeros(input.shape).flatten(-2)
    return flat.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(input.shape)


@max_pool2d_with_indices_backward.gradient
def max_pool2d_with_indices_backward_gradient(s: Any, grad: Any) -> Any:
    of = grad.flatten(-2).gather(-1, s.indices.flatten(-2)).reshape(s.shape("grad_output"))
    return of, grad.new_zeros(s.shape("input")), None


# --- indices that may lie outside -----------------------------------------------------------------


def _inside(input: Any, indices: Any) -> Any:
    return tuple(
        slice(None) if i is None else i.long().clamp(-n, n - 1)
        for i, n in zip(indices, input.shape, strict=False)
    )


@composite(where=("torch",))
def _unsafe_masked_index(input, mask, indices: Any, fill: Number):
    """input[indices] where mask, else fill; where not, indices may lie outside."""
    return input[_inside(input, indices)].masked_fill(mask.logical_not(), fill)


@composite(where=("torch",))
def _unsafe_masked_index_put_accumulate(input, mask, indices: Any, values):
    """input with values added at indices where mask."""
    places = tuple(None if isinstance(i, slice) else i for i in _inside(input, indices))
    return input.index_put(places, values.masked_fill(mask.logical_not(), 0), accumulate=True)


# --- others ---------------------------------------------------------------------------------------


@composite(where=("torch",), out=True)
def _chunk_cat(tensors: list[Tensor], dim: int, num_chunks: int):
    """Each tensor, padded along dim to num_chunks equal parts, these flattened and joined part by part."""
    apart = len({t.ndim for t in tensors}) > 1
    for wrong, text in (
        (not tensors, "a non-empty input tensor list"),
        (num_chunks < 1, "positive num_chunks"),
        (any(not t.numel() for t in tensors), "non-empty tensor"),
        (apart and dim < 0, "non-negative dim when input tensors have different ndims"),
        (any(t.ndim <= dim for t in tensors), "dim < ndim for all input tensors"),
        (len({t.dtype for t in tensors}) > 1, "all input tensors with the same dtype"),
        (len({t.shape[:dim] for t in tensors}) > 1, "same sizes of 0,...,dim-1 dimensions for all tensors"),
    ):
        if wrong:
            raise RuntimeError(f"_chunk_cat expects {text}")
    dim = wrap_dim(dim, tensors[0].ndim)
    parts = []
    for t in tensors:
        more = -t.shape[dim] % num_chunks
        whole = pad(t, (*(0, 0) * (t.ndim - dim - 1), 0, more)) if more else t
        parts.append(whole.reshape(*t.shape[:dim], num_chunks, -1))
    return cat(parts, dim + 1)


@opaque(out=True)
def hash_tensor(input, dim: Ints | None = (), *, keepdim: bool = False, mode: int = 0) -> Array:
    """The bits of all elements, as float64 or int64, combined by xor: uint64."""
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    axes = wrap_dims(as_tuple(() if dim is None else dim), input.ndim)
    if not axes and not input.size:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    wide = convert(input, np.dtype(np.int64 if input.dtype.kind in "iub" else np.float64))
    axis = (axes or None) if input.ndim else ()
    reduce: Any = np.bitwise_xor.reduce
    found: Array = reduce(wide.view(np.uint64), axis=axis, keepdims=keepdim)
    return found


_REDUCE = {
    "sum": ("sum", 0),
    "mean": ("sum", 0),
    "prod": ("prod", 1),
    "max": ("amax", -inf),
    "min": ("amin", inf),
    "amax": ("amax", -inf),
    "amin": ("amin", inf),
}


@composite(where=("torch",), aliases=("_segment_reduce",), out=True)
def segment_reduce(
    data,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
):
    """Each segment of rows along axis (by lengths or offsets) reduced: sum, mean, prod, max or min."""
    if reduce not in _REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = wrap_dim(axis, data.ndim)
    starts = _starts(data, lengths, axis, unsafe) if offsets is None else offsets
    counts = starts.diff().reshape(*starts.shape[:axis], -1, *[1] * (data.ndim - axis - 1))
    places = data.new_tensor(range(data.shape[axis])).long().expand(*starts.shape[:axis], -1).contiguous()
    which = searchsorted(starts, places, right=True) - 1
    which = where((which >= 0) & (which < counts.shape[axis]), which, counts.shape[axis])
    which = which.reshape(*which.shape, *[1] * (data.ndim - axis - 1)).expand(data.shape)
    return _reduce_segments(data, which, counts, reduce, axis, initial)


@composite(name="_reduce_segments", where=("aten",), node="segment_reduce")
def _reduce_segments(data, which, counts, reduce: str, axis: int, initial: Number | None):
    """The rows of data along axis reduced by their segments, which; counts: how many rows each segment has.

    A row outside of all segments has their number as its segment.
    """
    how, start = _REDUCE[reduce]
    shape = [counts.shape[axis] + 1 if i == axis else n for i, n in enumerate(data.shape)]
    first = data.new_full(shape, start if initial is None else initial)
    found = first.scatter_reduce(axis, which, data, how).narrow(axis, 0, shape[axis] - 1)
    if reduce != "mean":
        return found.contiguous()
    return found / (counts if initial is None else counts.clamp(min=1))


@_reduce_segments.gradient
def _reduce_segments_gradient(s: Any, grad: Any) -> Any:
    """What is NaN takes part in an extreme, and the initial value does not."""
    data, which, axis, reduce = s.data, s.which, s.axis, s.reduce
    outside = grad.new_zeros([1 if i == axis else n for i, n in enumerate(grad.shape)])
    here = cat([grad, outside], axis).gather(axis, which)
    if reduce == "sum":
        return here
    if reduce == "mean":
        sizes = s.counts.clamp(min=1).to(grad.dtype).expand(grad.shape)
        return here / cat([sizes, outside + 1], axis).gather(axis, which)
    result = cat([s.result, outside], axis).gather(axis, which)
    if reduce == "prod":
        return here * where((data == 0) | data.isnan(), _others(data, which, axis, s.initial), result / data)
    hit = ((data == result) | data.isnan()).to(grad.dtype)
    ties = cat([grad.new_zeros(grad.shape), outside], axis).scatter_add(axis, which, hit)
    return here * hit / ties.gather(axis, which).clamp(min=1)


def _others(data: Any, which: Any, axis: int, initial: float | None) -> Any:
    """For each element that is 0 or NaN the product of all others of its segment."""
    shape = list(data.shape)
    shape[axis] = int(which.max()) + 1 if which.numel() else 1
    special = (data == 0) | data.isnan()
    ordinary = data.new_full(shape, 1 if initial is None else initial)
    ordinary = ordinary.scatter_reduce(axis, which, where(special, 1, data), "prod").gather(axis, which)
    many = data.new_zeros(shape).scatter_add(axis, which, special.to(data.dtype)).gather(axis, which)
    unknown = data.new_zeros(shape).scatter_add(axis, which, data.isnan().to(data.dtype)).gather(axis, which)
    beside = where(unknown - data.isnan().to(data.dtype) > 0, float("nan"), 0)
    return where(many == 1, ordinary, beside)


def _starts(data: Any, lengths: Any, axis: int, unsafe: bool) -> Any:
    """Where segments start, and the last ends."""
    if lengths.dtype.category != 1:
        raise NotImplementedError(
            f"\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{lengths.dtype.legacy}'"
        )
    if not (unsafe or data._kind.on_meta):
        if (lengths < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (lengths.sum(-1) != data.shape[lengths.ndim - 1]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    return pad(lengths.cumsum(-1), (1, 0))
