"""The function behind nn.MultiheadAttention: projections, masks, attention, output projection.

Shapes: L, S target and source length, N batch, E embedding, H heads, D = E / H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.services import service
from rushlight.nn import functional as F
from rushlight.nn.modules.utils import each_once


def _canonical_mask(
    mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Any:
    """A mask to be added to the scores: True of a boolean one becomes -inf."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same "
            "type for both instead."
        )
    if mask.is_floating_point():
        return mask
    blank = torch.zeros_like(mask, dtype=target_type)
    return blank.masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Any) -> Any:
    if input is None:
        return None
    if isinstance(input, torch.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _mha_shape_check(
    query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int
) -> bool:
    """Whether the input is batched; AssertionError where shapes do not fit together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    dims, how = (3, "batched (3-D)") if batched else (2, "unbatched (2-D)")
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {how} `query`, expected `key` and `value` to be {dims}-D but "
            f"found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"For {how} `query`, expected `key_padding_mask` to be `None` or "
            f"{dims - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {how} `query`, expected `attn_mask` to be `None`, 2-D or 3-D "
                f"but found {attn_mask.dim()}-D tensor instead"
            )
        wanted = (num_heads, query.shape[0], key.shape[0])
        if not batched and attn_mask.dim() == 3 and tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return bool(batched)


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> list[Any]:
    """q, k, v through the three parts of one (3 * E, E) weight; equal inputs in one product."""
    size = q.size(-1)
    if k is v and q is k:
        return _parts(F.linear(q, w, b), 3, size)
    if k is v:
        w_q, w_kv = w.split([size, size * 2])
        b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
        return [F.linear(q, w_q, b_q), *_parts(F.linear(k, w_kv, b_kv), 2, size)]
    weights = w.chunk(3)
    biases = (None, None, None) if b is None else b.chunk(3)
    return [F.linear(x, w_x, b_x) for x, w_x, b_x in zip((q, k, v), weights, biases)]


def _parts(projected: Any, count: int, size: int) -> list[Any]:
    # One copy makes all parts contiguous, so that they can be viewed by heads.
    return list(projected.unflatten(-1, (count, size)).movedim(-2, 0).contiguous().unbind(0))


def _in_projection(
    q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None, b_v: Any = None
) -> tuple[Any, Any, Any]:
    """q, k, v each through its own weight."""
    embed = q.size(-1)
    for name, weight, x in (("query", w_q, q), ("key", w_k, k), ("value", w_v, v)):
        if tuple(weight.shape) != (embed, x.size(-1)):
            raise AssertionError(
                f"expecting {name} weights shape of {(embed, x.size(-1))}, but got {weight.shape}"
            )
    return F.linear(q, w_q, b_q), F.linear(k, w_k, b_k), F.linear(v, w_v, b_v)


@dataclass
class _Heads:
    """The operands of attention by heads, on their way through multi_head_attention_forward."""

    q: Any  # (N * H, L, D)
    k: Any  # (N * H, S, D)
    v: Any  # (N * H, S, D)
    mask: Any  # added to the scores: (L, S) with leading dims, or None
    padding: Any  # (N, S) or None
    batch: int
    heads: int

    def split(self, x: Any) -> Any:
        """(length, N, E) as (N * H, length, D)."""
        return x.view(x.shape[0], self.batch * self.heads, x.shape[2] // self.heads).transpose(0, 1)


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Attention by heads: query (L, N, E) or (L, E), key and value (S, N, .) or (S, .).

    Returns (output like query, weights (N, L, S), or (N, H, L, S) without `average_attn_weights`;
    None without `need_weights`). See nn.MultiheadAttention for the arguments.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = each_once(lambda x: x.unsqueeze(1), query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    attn_mask, padding, is_causal = _masks(attn_mask, key_padding_mask, is_causal, need_weights, query.dtype)
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project(query, key, value, separate, in_proj_weight, in_proj_bias)
    operands = _Heads(
        q, k, v, _mask_by_heads(attn_mask, query, key, num_heads), padding, query.shape[1], num_heads
    )
    _check_biases(bias_k, bias_v, static_k, static_v)
    _split_heads(operands, static_k, static_v)
    _append(operands, bias_k, bias_v, add_zero_attn)
    _join_masks(operands)
    attend = _attend_with_weights if need_weights else _attend
    output, weights = attend(operands, dropout_p if training else 0.0, is_causal)
    output = F.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(query.shape[0], operands.batch, output.shape[-1])
    if weights is not None and average_attn_weights:
        weights = weights.mean(dim=1)
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


multi_head_attention_forward.__module__ = F.__name__  # where programs have it
multi_head_attention_forward = service("function that asks")(multi_head_attention_forward)


def _project(query: Any, key: Any, value: Any, separate: Any, in_proj_weight: Any, in_proj_bias: Any) -> Any:
    """q, k, v by one weight for all, or by `separate` ones."""
    if separate is None:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    for name, weight in zip("qkv", separate):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    return _in_projection(query, key, value, *separate, *biases)


def _masks(
    attn_mask: Any, key_padding_mask: Any, is_causal: bool, need_weights: bool, dtype: Any
) -> tuple[Any, Any, bool]:
    """(attention mask, padding mask, is_causal) as they are used."""
    padding = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and padding is None and not need_weights:
        return None, None, True  # the hint is enough: scaled_dot_product_attention makes the mask
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    return attn_mask, padding, is_causal and padding is None


def _check_sizes(query: Any, key: Any, value: Any, embed: int, heads: int, separate: bool) -> None:
    if query.shape[2] != embed:
        raise AssertionError(f"was expecting embedding dimension of {embed}, but got {query.shape[2]}")
    if embed % heads:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _mask_by_heads(mask: Any, query: Any, key: Any, heads: int) -> Any:
    """(L, S) as (1, L, S), (N * H, L, S) as it is; RuntimeError for other shapes."""
    if mask is None:
        return None
    length, batch, source = query.shape[0], query.shape[1], key.shape[0]
    wanted = (length, source) if mask.dim() == 2 else (batch * heads, length, source)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _split_heads(o: _Heads, static_k: Any, static_v: Any) -> None:
    """(length, N, E) as (N * H, length, D)."""
    rows, size = o.batch * o.heads, o.q.shape[2] // o.heads
    o.q = o.split(o.q)
    for name, given in (("k", static_k), ("v", static_v)):
        if given is None:
            setattr(o, name, o.split(getattr(o, name)))
            continue
        if given.size(0) != rows or given.size(2) != size:
            raise AssertionError(
                f"expecting static_{name} of shape ({rows}, S, {size}), but got {tuple(given.shape)}"
            )
        setattr(o, name, given)


def _check_biases(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> None:
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together")
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("bias cannot be added to static key or value.")


def _append(o: _Heads, bias_k: Any, bias_v: Any, add_zero_attn: bool) -> None:
    """A learned key and value, and then zero ones, after the others; nothing masks them."""
    for name, bias in (("k", bias_k), ("v", bias_v)):
        x = getattr(o, name)
        rows = [] if bias is None else [o.split(bias.repeat(1, o.batch, 1))]
        if add_zero_attn:
            rows.append(x.new_zeros(x.shape[0], 1, x.shape[2]))
        setattr(o, name, torch.cat([x, *rows], dim=1) if rows else x)
    more = (bias_k is not None) + add_zero_attn
    for name in ("mask", "padding") if more else ():
        mask = getattr(o, name)
        setattr(o, name, None if mask is None else F.pad(mask, (0, more)))


def _join_masks(o: _Heads) -> None:
    """The padding mask added to the attention mask: (N * H, L or 1, S)."""
    if o.padding is None:
        return
    source = o.k.size(1)
    if tuple(o.padding.shape) != (o.batch, source):
        raise AssertionError(
            f"expecting key_padding_mask shape of {(o.batch, source)}, but got {o.padding.shape}"
        )
    by_heads = o.padding.view(o.batch, 1, 1, source).expand(-1, o.heads, -1, -1)
    by_heads = by_heads.reshape(o.batch * o.heads, 1, source)
    o.mask = by_heads if o.mask is None else o.mask + by_heads


def _attend_with_weights(o: _Heads, dropout_p: float, is_causal: bool) -> tuple[Any, Any]:
    """(output (L * N, E), weights (N, H, L, S))."""
    if is_causal and o.mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights; give attn_mask")
    _, length, size = o.q.shape
    scaled = o.q * math.sqrt(1.0 / size)
    if o.mask is None:
        scores = torch.bmm(scaled, o.k.transpose(-2, -1))
    else:
        scores = torch.baddbmm(o.mask, scaled, o.k.transpose(-2, -1))
    weights = F.softmax(scores, dim=-1)
    if dropout_p > 0.0:
        weights = F.dropout(weights, p=dropout_p)
    output = torch.bmm(weights, o.v).transpose(0, 1).contiguous()
    output = output.view(length * o.batch, o.heads * size)
    return output, weights.view(o.batch, o.heads, length, o.k.size(1))


def _attend(o: _Heads, dropout_p: float, is_causal: bool) -> tuple[Any, None]:
    """(output (L * N, E), None), by scaled_dot_product_attention."""
    _, length, size = o.q.shape
    mask = o.mask
    if mask is not None:
        if mask.size(0) == 1 and mask.dim() == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(o.batch, o.heads, mask.size(1), o.k.size(1))
    q, k, v = (x.reshape(o.batch, o.heads, x.size(1), size) for x in (o.q, o.k, o.v))
    output = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).contiguous()
    return output.view(o.batch * length, o.heads * size), None
