"""Methods of torch.nn's attention and transformer modules, as TorchScript."""

from __future__ import annotations

import math
from math import inf
from typing import Optional

import rushlight as torch
from rushlight import Tensor
from rushlight.jit import annotate


def _split_heads(x: Tensor, batch: int, heads: int):
    return x.reshape([x.size(0), batch * heads, -1]).transpose(0, 1)


def _added_mask(mask: Tensor, query: Tensor):
    if mask.dtype != torch.bool:
        return mask.to(query.dtype)
    return torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask, -inf)


def _projected(
    x: Tensor, weight: Tensor | None, own: Tensor | None, bias: Tensor | None, place: int, size: int
) -> Tensor:
    chosen = annotate(Optional[Tensor], None)
    if bias is not None:
        chosen = bias[place * size : (place + 1) * size]
    if own is not None:
        return torch.linear(x, own, chosen)
    assert weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
    return torch.linear(x, weight[place * size : (place + 1) * size], chosen)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    batched = query.dim() == 3
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, size = query.size(0), query.size(1), query.size(2)
    assert size == embed_dim_to_check, f"expected embedding dimension of {embed_dim_to_check}, got {size}"
    assert size % num_heads == 0, "embed_dim not divisible by num_heads"
    assert not is_causal or attn_mask is not None, "Need attn_mask if specifying the is_causal hint."
    weight = None if use_separate_proj_weight else in_proj_weight
    if weight is not None:
        q_proj_weight, k_proj_weight, v_proj_weight = None, None, None
    q = _projected(query, weight, q_proj_weight, in_proj_bias, 0, size)
    k = _projected(key, weight, k_proj_weight, in_proj_bias, 1, size)
    v = _projected(value, weight, v_proj_weight, in_proj_bias, 2, size)
    if bias_k is not None and bias_v is not None:
        k, v = torch.cat([k, bias_k.repeat([1, batch, 1])]), torch.cat([v, bias_v.repeat([1, batch, 1])])
    k = _split_heads(k, batch, num_heads) if static_k is None else static_k
    v = _split_heads(v, batch, num_heads) if static_v is None else static_v
    if add_zero_attn:
        zeros = torch.zeros([batch * num_heads, 1, size // num_heads], dtype=k.dtype, device=k.device)
        k, v = torch.cat([k, zeros], 1), torch.cat([v, zeros], 1)
    mask = _by_heads(attn_mask, key_padding_mask, query, num_heads, k.size(1))
    each = _scores(_split_heads(q, batch, num_heads), k, mask, dropout_p if training else 0.0)
    found = torch.bmm(each, v).transpose(0, 1)
    output = torch.linear(found.reshape([length, batch, size]), out_proj_weight, out_proj_bias)
    by_head = each.view([batch, num_heads, length, k.size(1)])
    weights = annotate(Optional[Tensor], None)
    if need_weights:
        weights = by_head.mean([1]) if average_attn_weights else by_head
    if not batched:
        return output.squeeze(1), weights.squeeze(0) if weights is not None else None
    return output, weights


def _scores(q: Tensor, k: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    scores = torch.bmm(q * math.sqrt(1.0 / float(q.size(-1))), k.transpose(-2, -1))
    if mask is not None:
        scores = scores + mask
    found = torch.softmax(scores, -1)
    return torch.dropout(found, dropout, True) if dropout > 0.0 else found


def _by_heads(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor, heads: int, source: int
) -> Tensor | None:
    mask = annotate(Optional[Tensor], None)
    if attn_mask is not None:
        mask = torch.pad(_added_mask(attn_mask, query), [0, source - attn_mask.size(-1)])
        if attn_mask.dim() == 2:
            mask = mask.unsqueeze(0)
    if key_padding_mask is not None:
        padding = torch.pad(_added_mask(key_padding_mask, query), [0, source - key_padding_mask.size(-1)])
        batch, size = padding.size(0), padding.size(1)
        padding = padding.view([batch, 1, 1, size]).expand([-1, heads, -1, -1])
        padding = padding.reshape([batch * heads, 1, size])
        mask = padding if mask is None else mask + padding
    return mask


class MultiheadAttention:
    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        size, weight, bias = self.embed_dim, self.in_proj_weight, self.in_proj_bias
        return (
            _projected(query, weight, self.q_proj_weight, bias, 0, size),
            _projected(key, weight, self.k_proj_weight, bias, 1, size),
            _projected(value, weight, self.v_proj_weight, bias, 2, size),
        )

    def _mask(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, batch: int, query: Tensor
    ) -> Tensor | None:
        mask = annotate(Optional[Tensor], None)
        if attn_mask is not None:
            mask = _added_mask(attn_mask, query)
            if attn_mask.dim() == 2:
                mask = mask.unsqueeze(0)
        if key_padding_mask is not None:
            padding = _added_mask(key_padding_mask, query)
            padding = (
                padding.view([batch, 1, 1, padding.size(-1)])
                .expand([-1, self.num_heads, -1, -1])
                .reshape([batch * self.num_heads, 1, padding.size(-1)])
            )
            mask = padding if mask is None else mask + padding
        return mask

    def _weighted(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, batch: int
    ) -> tuple[Tensor, Tensor]:
        probabilities = _scores(q, k, mask, dropout)
        return torch.bmm(probabilities, v), probabilities.view([batch, self.num_heads, q.size(1), k.size(1)])

    def _fused(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, batch: int
    ) -> Tensor:
        shape = [batch, self.num_heads, -1, self.head_dim]
        if mask is not None:
            mask = (
                mask.unsqueeze(0) if mask.size(0) == 1 else mask.view([batch, self.num_heads, -1, k.size(1)])
            )
        found = torch.scaled_dot_product_attention(q.view(shape), k.view(shape), v.view(shape), mask, dropout)
        return found.reshape([batch * self.num_heads, q.size(1), self.head_dim])

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        batched = query.dim() == 3
        if not batched:
            query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        length, batch, heads = query.size(0), query.size(1), self.num_heads
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        q, k, v = self._project(query, key, value)
        mask = self._mask(attn_mask, key_padding_mask, batch, query)
        if self.bias_k is not None:
            k, v = (
                torch.cat([k, self.bias_k.repeat([1, batch, 1])]),
                torch.cat([v, self.bias_v.repeat([1, batch, 1])]),
            )
            if mask is not None:
                mask = torch.pad(mask, [0, 1])
        q, k, v = _split_heads(q, batch, heads), _split_heads(k, batch, heads), _split_heads(v, batch, heads)
        if self.add_zero_attn:
            zeros = torch.zeros([batch * heads, 1, self.head_dim], dtype=k.dtype, device=k.device)
            k, v = torch.cat([k, zeros], 1), torch.cat([v, zeros], 1)
            if mask is not None:
                mask = torch.pad(mask, [0, 1])
        dropout = self.dropout if self.training else 0.0
        weights = annotate(Optional[Tensor], None)
        if need_weights:
            found, each = self._weighted(q, k, v, mask, dropout, batch)
            weights = each.mean([1]) if average_attn_weights else each
        else:
            found = self._fused(q, k, v, mask, dropout, batch)
        output = self.out_proj(found.transpose(0, 1).reshape([length, batch, self.embed_dim]))
        if not batched:
            if weights is not None:
                weights = weights.squeeze(0)
            return output.squeeze(1), weights
        return output.transpose(0, 1) if self.batch_first else output, weights


class _Layer:
    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ):
        return self.dropout1(self.self_attn(x, x, x, key_padding_mask, False, attn_mask, True, is_causal)[0])


class TransformerEncoderLayer:
    def _ff_block(self, x: Tensor):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ):
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))


class TransformerDecoderLayer:
    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ):
        return self.dropout2(
            self.multihead_attn(x, mem, mem, key_padding_mask, False, attn_mask, True, is_causal)[0]
        )

    def _ff_block(self, x: Tensor):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ):
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(
                self.norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal
            )
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self.norm3(x + self._ff_block(x))


class TransformerEncoder:
    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ):
        output = src
        causal = False if is_causal is None or mask is None else is_causal
        for layer in self.layers:
            output = layer(output, mask, src_key_padding_mask, causal)
        if self.norm is not None:
            output = self.norm(output)
        return output


class TransformerDecoder:
    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ):
        output = tgt
        causal = False if tgt_is_causal is None or tgt_mask is None else tgt_is_causal
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                causal,
                memory_is_causal,
            )
        if self.norm is not None:
            output = self.norm(output)
        return output


class Transformer:
    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ):
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )
