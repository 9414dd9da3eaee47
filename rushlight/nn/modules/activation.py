"""Activation functions as modules; and MultiheadAttention, which PyTorch keeps here too. Its arithmetic is in
nn/multihead_attention.py."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.nn import functional as F, init
from rushlight.nn.modules.function_module import FunctionModule, declared
from rushlight.nn.modules.linear import NonDynamicallyQuantizableLinear
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import each_once, register_empty
from rushlight.nn.parameter import Parameter


class Hardtanh(FunctionModule, function="hardtanh"):
    """x clipped to [min_val, max_val]. Any shape."""

    __constants__ = ["min_val", "max_val", "inplace"]
    _passed = ("min_val", "max_val", "inplace")
    _shown = "min_val=, max_val=, inplace="

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.inplace = inplace
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val must be larger than min_val, got {self.max_val} and {self.min_val}"
            )


class ReLU6(Hardtanh):
    """min(max(0, x), 6). Any shape."""

    _shown = "inplace="

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class PReLU(FunctionModule, function="prelu"):
    """x where x >= 0, else weight * x; one weight, or one for each channel (dim 1).

    weight: (num_parameters,), starts at `init`.
    """

    __constants__ = ["num_parameters"]
    _shown, _passed = "num_parameters=", ("weight",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        register_empty(self, device, dtype, weight=num_parameters)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)


class _AlongDim(FunctionModule, function=None, dim=None):
    dim: int | None


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Any) -> Any:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


globals().update(declared(__name__, _AlongDim))


class MultiheadAttention(Module):
    """softmax(Q K^T / sqrt(D)) V by heads, then a linear map.

    query (L, N, E), key (S, N, kdim), value (S, N, vdim); (N, L, E), ... with `batch_first`, or
    without N. in_proj_weight (3 * E, E) from Xavier's uniform distribution (q_proj_weight, ... where
    kdim or vdim differ), in_proj_bias and out_proj.bias 0. `add_bias_kv`: a learned key and value
    more; `add_zero_attn`: zero ones.
    """

    __constants__ = ["batch_first"]
    _lacking = {"_qkv_same_embed_dim": True}

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
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
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            setattr(
                self,
                name,
                Parameter(torch.empty((1, 1, embed_dim), device=device, dtype=dtype))
                if add_bias_kv
                else None,
            )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, bias: bool, where: dict[str, Any]) -> None:
        same, size = self._qkv_same_embed_dim, self.embed_dim
        shapes = {
            f"{name}_proj_weight": None if same else (size, width)
            for name, width in (("q", size), ("k", self.kdim), ("v", self.vdim))
        }
        register_empty(
            self,
            **where,
            in_proj_weight=(3 * size, size) if same else None,
            **shapes,
            in_proj_bias=3 * size if bias else None,
        )

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """(output like query, weights (N, L, S) or None).

        key_padding_mask (N, S): True (or -inf) at keys to leave out. attn_mask (L, S) or
        (N * heads, L, S): True (or -inf) where not to attend. `is_causal`: a hint that attn_mask is
        the causal one. Without `average_attn_weights`: weights (N, heads, L, S).
        """
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = each_once(lambda x: x.transpose(1, 0), query, key, value)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
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
