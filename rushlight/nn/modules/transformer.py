"""Transformer encoders and decoders, as in "Attention Is All You Need"."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.backends import mha
from rushlight.nn import functional as F, init
from rushlight.nn.modules.activation import MultiheadAttention
from rushlight.nn.modules.container import ModuleList
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.normalization import LayerNorm
from rushlight.nn.multihead_attention import _canonical_mask, _none_or_dtype

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
    """(sz, sz): -inf above the diagonal, 0 elsewhere."""
    return torch.triu(torch.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _get_seq_len(src: Any, batch_first: bool) -> int:
    return int(src.size(0 if src.dim() == 2 or not batch_first else 1))


def _get_clones(module: Any, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _get_activation_fn(activation: str) -> Callable[[Any], Any]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _detect_is_causal_mask(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether the mask is the causal one; is_causal answers where it is given."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _generate_square_subsequent_mask(
        mask.size(-2) if size is None else size, device=mask.device, dtype=mask.dtype
    )
    return bool(mask.size() == causal.size() and (mask == causal).all())


class Transformer(Module):
    """An encoder and a decoder (arXiv:1706.03762): src (S, N, E), tgt (T, N, E) -> (T, N, E).

    With `batch_first`: (N, S, E), ..., and N may be missing. d_model is E, and must be divisible by nhead;
    dim_feedforward: the width between the linear maps of a layer. All weight matrices are from Xavier's
    uniform distribution. custom_encoder, custom_decoder: modules in place of the usual ones.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = (
            custom_encoder
            if custom_encoder is not None
            else TransformerEncoder(TransformerEncoderLayer(*layer), num_encoder_layers, norm())
        )
        self.decoder = (
            custom_decoder
            if custom_decoder is not None
            else TransformerDecoder(TransformerDecoderLayer(*layer), num_decoder_layers, norm())
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """src (S, N, E) and tgt (T, N, E) -> (T, N, E); masks as of nn.MultiheadAttention.

        src_mask (S, S), tgt_mask (T, T), memory_mask (T, S); padding masks (N, S) and (N, T), True at what is
        left out. The `..._is_causal` hints say that a mask is the causal one. RuntimeError for other sizes of
        batch or features.
        """
        if src.dim() == 3:
            n = 0 if self.batch_first else 1
            if src.size(n) != tgt.size(n):
                raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    generate_square_subsequent_mask = staticmethod(_generate_square_subsequent_mask)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, and `norm` at the end, if there is one: (S, N, E) -> (S, N, E)."""

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _why_not_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"encoder_layer{reason}"
            )

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """src (S, N, E); masks as of nn.MultiheadAttention."""
        padding = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(mask), "mask", src.dtype
        )
        mask = _canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        causal = _detect_is_causal_mask(
            mask, is_causal, _get_seq_len(src, self.layers[0].self_attn.batch_first)
        )
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if _zeroes_padding(self, src, mask, src_key_padding_mask):
            output = output.masked_fill(src_key_padding_mask.bool().unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)


def _zeroes_padding(encoder: Any, src: Any, mask: Any, padding: Any) -> bool:
    """Whether PyTorch runs on nested tensors here: its padded positions come back as zeros."""
    first = encoder.layers[0]
    if (
        padding is None
        or mask is not None
        or first.training
        or src.dim() != 3
        or not getattr(encoder, "use_nested_tensor", False)
        or not mha.get_fastpath_enabled()
    ):
        return False
    tracked = torch.is_grad_enabled() and any(p.requires_grad for p in (src, *first.parameters()))
    if tracked or torch.is_autocast_enabled(src.device.type) or padding.dtype != torch.bool:
        return False
    # Only where each sequence is followed, not preceded, by its padding.
    return not encoder.mask_check or bool((padding[:, 1:] >= padding[:, :-1]).all())


def _why_not_nested(layer: Any) -> str:
    """What of a layer keeps PyTorch from running it on nested tensors; "" where nothing does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        ".norm_first was True": layer.norm_first,
        ".self_attn.batch_first was not True(use batch_first for better inference performance)": (
            not attention.batch_first
        ),
        ".self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        ".self_attn was passed bias=False": attention.in_proj_bias is None,
        ".activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        ".norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        ".self_attn.num_heads is odd": attention.num_heads % 2,
    }
    return next((words for words, holds in reasons.items() if holds), "")


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, and `norm` at the end: (T, N, E), memory (S, N, E) -> (T, N, E)."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """tgt (T, N, E), memory (S, N, E); masks as of nn.MultiheadAttention."""
        output = tgt
        causal = _detect_is_causal_mask(
            tgt_mask, tgt_is_causal, _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        )
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class _Layer(Module):
    """What both layers have: attentions and a feed-forward network, each with a norm and dropout."""

    _only_here = True
    __constants__ = ["norm_first"]

    _attentions: tuple[str, ...] = ("self_attn",)
    _lacking = {"activation": F.relu}

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(
                self,
                name,
                MultiheadAttention(
                    d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where
                ),
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = torch.nn.Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for i in blocks:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        for i in blocks:
            setattr(self, f"dropout{i}", torch.nn.Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation
        if len(self._attentions) == 1:  # PyTorch's encoders look at it
            self.activation_relu_or_gelu = _relu_or_gelu(self.activation)

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )[0]
        return self.dropout1(x)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a norm.

    src (S, N, E), or (N, S, E) with `batch_first`. `norm_first`: norms before, not after.
    """

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        """src (S, N, E) -> (S, N, E); src_mask (S, S), src_key_padding_mask (N, S), as of
        nn.MultiheadAttention.
        """
        padding = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(src_mask), "src_mask", src.dtype
        )
        mask = _canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Any) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _relu_or_gelu(activation: Any) -> int:
    """1 for relu, 2 for gelu, 0 for others."""
    if activation is F.relu or isinstance(activation, torch.nn.ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, torch.nn.GELU) else 0


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory and a feed-forward network, with residuals and norms.

    tgt (T, N, E) and memory (S, N, E). `norm_first`: norms before, not after.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """tgt (T, N, E) and memory (S, N, E) -> (T, N, E); masks as of Transformer.forward."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        x = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x: Any) -> Any:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
