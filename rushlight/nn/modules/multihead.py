"""MultiheadAttention. Its arithmetic is in nn/multihead_attention.py."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn import functional as F, init
from rushlight.nn.modules.linear import NonDynamicallyQuantizableLinear
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import each_once, register_empty
from rushlight.nn.parameter import Parameter


class MultiheadAttention(Module):
    """softmax(Q K^T / sqrt(D)) V by heads, then a linear map.

    query (L, N, E), key (S, N, kdim), value (S, N, vdim); (N, L, E), ... with `batch_first`, or
    without N. in_proj_weight (3 * E, E) from Xavier's uniform distribution (q_proj_weight, ... where
    kdim or vdim differ), in_proj_bias and out_proj.bias 0. `add_bias_kv`: a learned key and value
    more; `add_zero_attn`: zero ones.
    """

    __module__ = "rushlight.nn.modules.activation"  # as in PyTorch: pickles say so

    __constants__ = ["batch_first"]
    bias_k: Any
    bias_v: Any

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError("embed_dim and num_heads must be greater than 0, got "
                             f"embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._register_projections(bias, {"device": device, "dtype": dtype})
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias,
                                                        device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            setattr(self, name, Parameter(torch.empty((1, 1, embed_dim), device=device, dtype=dtype))
                    if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, bias: bool, where: dict[str, Any]) -> None:
        size = self.embed_dim
        if self._qkv_same_embed_dim:
            shapes: dict[str, Any] = {"in_proj_weight": (3 * size, size), "q_proj_weight": None,
                                      "k_proj_weight": None, "v_proj_weight": None}
        else:
            shapes = {"q_proj_weight": (size, size), "k_proj_weight": (size, self.kdim),
                      "v_proj_weight": (size, self.vdim), "in_proj_weight": None}
        register_empty(self, **where, **shapes, in_proj_bias=3 * size if bias else None)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Modules pickled by PyTorch 1.1 lack the field.
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(self, query: Any, key: Any, value: Any, key_padding_mask: Any = None,
                need_weights: bool = True, attn_mask: Any = None,
                average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Any, Any]:
        """(output like query, weights (N, L, S) or None).

        key_padding_mask (N, S): True (or -inf) at keys to leave out. attn_mask (L, S) or
        (N * heads, L, S): True (or -inf) where not to attend. `is_causal`: a hint that attn_mask is
        the causal one. Without `average_attn_weights`: weights (N, heads, L, S).
        """
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = each_once(lambda x: x.transpose(1, 0), query, key, value)
        output, weights = F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads,
            self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
            self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return (output.transpose(1, 0) if swap else output), weights

    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> tuple[Any, Any]:
        """(one mask (N, heads, L, S), 2), or the only mask given and its kind, 0 or 1."""
        if key_padding_mask is None:
            return attn_mask, None if attn_mask is None else 0
        batch, length = key_padding_mask.shape
        merged = key_padding_mask.view(batch, 1, 1, length)
        if attn_mask is None:
            return key_padding_mask, 1
        merged = merged.expand(-1, self.num_heads, -1, -1)
        if attn_mask.dim() == 3:
            return attn_mask.view(batch, -1, length, length) + merged, 2
        return attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1) + merged, 2
