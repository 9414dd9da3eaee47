"""Scaled dot-product attention (arXiv:1706.03762)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight.base.dtype import bool_
from rushlight.ops.products import Array, product
from rushlight.ops.rowexpr import reduce_
from rushlight.ops.rowkernels import RowKernel
from rushlight.ops.scalar import m, symbol
from rushlight.ops.softmax import _softmax
from rushlight.ops.table import ROWS, composite

_S, _C, _DP, _P = symbol("s"), symbol("c"), symbol("dp"), symbol("p")


def _scaled_softmax() -> tuple[Any, ...]:
    scaled = _S * _C
    e = m.exp(scaled - reduce_("max", scaled))
    return (e / reduce_("add", e),)


probabilities = RowKernel(_scaled_softmax, ("s", "c"), ("c",))
_score_gradient = RowKernel(lambda: (_P * (_DP - reduce_("add", _DP * _P)) * _C,), ("dp", "p", "c"), ("c",))


def _check(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{query.dtype.legacy} key.dtype: {key.dtype.legacy} and value.dtype: "
                           f"{value.dtype.legacy} instead.")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got "
                           f"query.dim: {query.ndim}, key.dim: {key.ndim} and value.dim: {value.ndim} "
                           "instead.")
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set "
                               "when is_causal=True")
        if attn_mask.dtype.name != "bool" and attn_mask.dtype is not query.dtype:
            raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, "
                               f"but got attn_mask.dtype: {attn_mask.dtype.legacy} and  query.dtype: "
                               f"{query.dtype.legacy} instead.")


@composite(where=("nn.functional",))
def scaled_dot_product_attention(query, key, value, attn_mask: "Tensor | None" = None,
                                 dropout_p: "float" = 0.0, is_causal: "bool" = False, *,
                                 scale: "float | None" = None, enable_gqa: "bool" = False):
    """softmax(query @ key.T * scale + mask) @ value: (*, L, E), (*, S, E), (*, S, V) -> (*, L, V)."""
    _check(query, key, value, attn_mask, is_causal)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    if enable_gqa:
        heads = query.shape[-3]
        key, value = (t.repeat_interleave(heads // t.shape[-3], -3) for t in (key, value))
        if key.shape[-3] != heads or value.shape[-3] != heads:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in "
                               "query")
    if attn_mask is None and not dropout_p and query.dtype.name in ("float32", "float64") \
            and query.shape[:-2] == key.shape[:-2] == value.shape[:-2] and query.numel():
        return _attention(query, key, value, is_causal, factor)[0]
    # The scale is split between both sides, as PyTorch does, so that products stay small.
    root = math.sqrt(abs(factor))
    scores = (query * root).matmul((key * (root if factor >= 0 else -root)).transpose(-2, -1))
    if is_causal:
        attn_mask = causal_mask(query, key)
    if attn_mask is not None:
        scores = _masked(scores, attn_mask)
    weights = _safe_softmax(scores)
    if dropout_p:
        weights = ROWS["dropout"](weights, dropout_p, True)
    return weights.matmul(value)


def causal_mask(query: Any, key: Any) -> Any:
    """True where a query may look: at its own position and before."""
    rows, columns = query.shape[-2], key.shape[-2]
    return query.detach().new_ones((rows, columns), dtype=bool_).tril()


def _masked(scores: Any, mask: Any) -> Any:
    if mask.dtype.name == "bool":
        return scores.masked_fill(mask.logical_not(), -math.inf)
    return scores + mask


def _safe_softmax(scores: Any) -> Any:
    """softmax along the last dim; rows that are masked out whole give 0, not nan."""
    weights = _softmax(scores, -1)
    a = scores._a
    if a.size and not np.isneginf(a).any():
        return weights
    gone = (scores == -math.inf).all(-1, True)
    return weights.masked_fill(gone, 0.0)


@composite(name="_attention", where=("aten",), node="scaled_dot_product_flash_attention_for_cpu")
def _attention(query, key, value, is_causal: "bool", scale: "float"):
    """(attention, its weights), without mask or dropout."""
    scores = query.matmul(key.transpose(-2, -1)) * scale
    if is_causal:
        scores = scores.masked_fill(causal_mask(query, key).logical_not(), -math.inf)
    weights = _softmax(scores, -1)
    return weights.matmul(value), weights


@_attention.kernel
def _(q: Array, k: Array, v: Array, is_causal: bool, scale: float) -> Any:
    scores = product(q, k.swapaxes(-1, -2))
    if is_causal:
        _hide_future(scores)
    weights = probabilities(-1, scores, _constant(scores, scale))
    if weights is NotImplemented:
        return weights
    return product(weights, v), weights


def _constant(a: Array, value: float) -> Array:
    return np.broadcast_to(np.asarray(value, a.dtype), (*a.shape[:-1], 1))


def _hide_future(scores: Array) -> None:
    rows, columns = scores.shape[-2:]
    np.copyto(scores, -np.inf, where=~np.tri(rows, columns, dtype=bool))


@_attention.gradient
def _(s: Any, grad: Any, grad_weights: Any = None) -> Any:
    weights = s.result[1]
    q, k, v = s.query, s.key, s.value
    if grad is None:
        # Only the weights' gradient arrives, in gradients of gradients.
        to_value, to_weights = None, grad_weights
    else:
        to_value = weights.transpose(-2, -1).matmul(grad) if s.needs("value") else None
        to_weights = grad.matmul(v.transpose(-2, -1))
        if grad_weights is not None:
            to_weights = to_weights + grad_weights
    to_scores = _scores_backward(to_weights, weights, s.scale)
    return (to_scores.matmul(k) if s.needs("query") else None,
            to_scores.transpose(-2, -1).matmul(q) if s.needs("key") else None, to_value)


@composite(name="_scores_backward", where=("aten",))
def _scores_backward(grad, weights, scale: "float"):
    """The softmax's gradient times the scale."""
    return weights * (grad - (grad * weights).sum(-1, True)) * scale


@_scores_backward.kernel
def _(g: Array, p: Array, scale: float) -> Any:
    return _score_gradient(-1, g, p, _constant(g, scale))
