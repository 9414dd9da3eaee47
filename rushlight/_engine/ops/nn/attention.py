"""Scaled dot-product attention (arXiv:1706.03762)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import bool_
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.services import service
from rushlight._engine.ops.nn.dropout import check_probability
from rushlight._engine.ops.nn.softmax import _softmax
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.table import ROWS, Array, composite


def _check(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.legacy} key.dtype: {key.dtype.legacy} and value.dtype: "
            f"{value.dtype.legacy} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim}, key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if attn_mask is not None and attn_mask.dtype.name != "bool" and attn_mask.dtype is not query.dtype:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {attn_mask.dtype.legacy} and  query.dtype: {query.dtype.legacy} instead."
        )


def _takes_both(query: Any, key: Any, value: Any, mask: Any, enable_gqa: bool) -> bool:
    """Whether a mask may stand beside is_causal: PyTorch's kernel for the CPU takes both."""
    shapes = [t._geometry.shape for t in (query, key, value)]
    shared = 1 if enable_gqa else 2
    return (
        query.device.type == "cpu"
        and query.dtype.is_floating_point
        and all(len(shape) == 4 for shape in shapes)
        and len({(*shape[:shared], shape[3]) for shape in shapes}) == 1
        and all(t.stride()[-1] == 1 for t in (query, key, value))
        and mask.ndim in (2, 4)
        and not mask.requires_grad
    )


@composite(where=("nn.functional",))
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
):
    """softmax(query @ key.T * scale + mask) @ value: (*, L, E), (*, S, E), (*, S, V) -> (*, L, V).

    attn_mask: bool, True where a query may look, or numbers that are added; expands to (*, L, S). is_causal:
    positions up to the query's own; beside a mask on the CPU alone, for four dims. scale: 1 / sqrt(E) by
    default. dropout_p is applied to the weights, always. enable_gqa: query heads (dim -3) share key heads,
    whose number divides theirs. RuntimeError for other shapes.
    """
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        fits = not dropout_p and _takes_both(query, key, value, attn_mask, enable_gqa)
        attn_mask, is_causal = _both_masks(attn_mask, query, key, fits), False
    plain = attn_mask is None and not dropout_p
    real = query.dtype.is_floating_point
    if real and query.dtype.itemsize == 2 and not (plain and _has_cores(query, key, value)):  # rounded once
        mask = attn_mask.float() if attn_mask is not None and attn_mask.is_floating_point() else attn_mask
        found = scaled_dot_product_attention(
            query.float(),
            key.float(),
            value.float(),
            mask,
            dropout_p,
            is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )
        return found.to(query.dtype)
    factor = 1.0 / math.sqrt(query._geometry.shape[-1] or 1) if scale is None else scale
    if enable_gqa:
        heads = query.shape[-3]
        key, value = (t.repeat_interleave(heads // t.shape[-3], -3) for t in (key, value))
        if {key.shape[-3], value.shape[-3]} != {heads}:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    if (
        plain
        and real
        and query._geometry.size
        and query._geometry.shape[:-2] == key._geometry.shape[:-2] == value._geometry.shape[:-2]
    ):
        return _attention(query, key, value, is_causal, factor)[0]
    # The scale is split between both sides, as PyTorch does, so that products stay small.
    root = math.sqrt(abs(factor))
    scores = (query * root).matmul((key * (root if factor >= 0 else -root)).transpose(-2, -1))
    mask = causal_mask(query, key) if is_causal else attn_mask
    if mask is not None:
        scores = _masked(scores, mask)
    weights = _safe_softmax(scores)
    if dropout_p:
        weights = _dropped(weights, dropout_p)
    return weights.matmul(value)


def _dropped(weights: Any, p: float) -> Any:
    check_probability(p)
    return ROWS["dropout"](weights, p, True)


def _has_cores(query: Any, key: Any, value: Any) -> bool:
    """Whether a device's own kernel takes half precision, whose sums it keeps in float32."""
    backend, width = query._kind.backend, query._geometry.shape[-1]
    return bool(
        backend is not None
        and backend.kernels
        and width == key._geometry.shape[-1] == value._geometry.shape[-1]
        and 0 < width <= 128
        and width % 16 == 0
    )


def causal_mask(query: Any, key: Any) -> Any:
    """True where a query may look: at its own position and before."""
    rows, columns = query.shape[-2], key.shape[-2]
    return query.detach().new_ones((rows, columns), dtype=bool_).tril()


def _both_masks(mask: Any, query: Any, key: Any, fits: bool) -> Any:
    if not fits:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    causal = causal_mask(query, key)
    if mask.dtype.name == "bool":
        return mask.logical_and(causal)
    return mask.masked_fill(causal.logical_not(), -math.inf)


def _masked(scores: Any, mask: Any) -> Any:
    if mask.dtype.name == "bool":
        return scores.masked_fill(mask.logical_not(), -math.inf)
    return scores + mask


def _safe_softmax(scores: Any) -> Any:
    """softmax along the last dim; rows that are masked out whole give 0, not nan."""
    # A program does not depend on values; but a checkpoint's call must save what its repetition will.
    # On a device a look at values waits for all its work, and no graph can be captured with one.
    unseen = scores._kind.backend is not None or (fusing() and not service("saved tensors are packed")())
    if unseen and not scores.is_complex():
        gone = (scores == -math.inf).all(-1, True)
        return _softmax(scores.masked_fill(gone, 0.0), -1).masked_fill(gone, 0.0)
    if scores._geometry.size and (scores.is_complex() or not np.isneginf(scores._array).any()):
        return _softmax(scores, -1)
    gone = (scores == -math.inf).all(-1, True)
    if np.count_nonzero(gone._array):  # else their gradients would be nan
        scores = scores.masked_fill(gone, 0.0)
    return _softmax(scores, -1).masked_fill(gone, 0.0)


@composite(name="_attention", where=("aten",), node="scaled_dot_product_flash_attention_for_cpu")
def _attention(query, key, value, is_causal: bool, scale: float):
    """(attention without mask or dropout, what its gradient needs)."""
    return _weights(query, key, is_causal, scale).matmul(value), None


def _weights(query: Any, key: Any, is_causal: bool, scale: float) -> Any:
    scores = query.matmul(key.transpose(-2, -1)) * scale
    if is_causal:
        scores = scores.masked_fill(causal_mask(query, key).logical_not(), -math.inf)
    return _softmax(scores, -1)


_attention.kernel(resolved(lambda *how: service("attention")(*how) or NotImplemented))


@_attention.gradient
def _attention_gradient(s: Any, grad: Any, unused: Any = None) -> Any:
    return _attention_backward(grad, s.query, s.key, s.value, s.result[1], s.is_causal, s.scale)


@composite(name="_attention_backward", where=("aten",))
def _attention_backward(grad, query, key, value, kept: Tensor | None, is_causal: bool, scale: float):
    """Gradients of (query, key, value). The weights are computed once more."""
    weights = _weights(query, key, is_causal, scale)
    to_weights = grad.matmul(value.transpose(-2, -1))
    to_scores = weights * (to_weights - (to_weights * weights).sum(-1, True)) * scale
    to_key, to_value = to_scores.transpose(-2, -1).matmul(query), weights.transpose(-2, -1).matmul(grad)
    return to_scores.matmul(key), to_key, to_value


@_attention_backward.kernel
def _attention_backward_kernel(
    g: Array, q: Array, k: Array, v: Array, kept: Any, is_causal: bool, scale: float
) -> Any:
    found = None if kept is None else service("attention backward")(g, q, k, v, kept, is_causal, scale)
    return NotImplemented if found is None else found
