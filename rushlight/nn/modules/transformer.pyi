# Written by `python tools/stubs.py`.
"""Transformer encoders and decoders, as in "Attention Is All You Need"."""
from collections.abc import Callable, Sequence
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.container import ModuleList
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class Transformer(Module):
    """An encoder and a decoder (arXiv:1706.03762): src (S, N, E), tgt (T, N, E) -> (T, N, E).

    With `batch_first`: (N, S, E), ..., and N may be missing. d_model is E, and must be divisible by nhead;
    dim_feedforward: the width between the linear maps of a layer. All weight matrices are from Xavier's
    uniform distribution. custom_encoder, custom_decoder: modules in place of the usual ones.
    """

    batch_first: bool
    d_model: int
    decoder: Any
    encoder: Any
    nhead: int
    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = ..., custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None, src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """src (S, N, E) and tgt (T, N, E) -> (T, N, E); masks as of nn.MultiheadAttention.

        src_mask (S, S), tgt_mask (T, T), memory_mask (T, S); padding masks (N, S) and (N, T), True at what is
        left out. The `..._is_causal` hints say that a mask is the causal one. RuntimeError for other sizes of
        batch or features.
        """
    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: str | int | _device | None = None, dtype: _dtype | None = None) -> Any:
        """(sz, sz): -inf above the diagonal, 0 elsewhere."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class TransformerDecoder(Module):
    """`num_layers` copies of a layer, and `norm` at the end: (T, N, E), memory (S, N, E) -> (T, N, E)."""

    layers: Any
    norm: Any
    num_layers: int
    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None: ...
    __constants__: list[Any]
    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """tgt (T, N, E), memory (S, N, E); masks as of nn.MultiheadAttention."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory and a feed-forward network, with residuals and norms.

    tgt (T, N, E) and memory (S, N, E). `norm_first`: norms before, not after.
    """

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        """tgt (T, N, E) and memory (S, N, E) -> (T, N, E); masks as of Transformer.forward."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class TransformerEncoder(Module):
    """`num_layers` copies of a layer, and `norm` at the end, if there is one: (S, N, E) -> (S, N, E)."""

    enable_nested_tensor: bool
    layers: Any
    mask_check: bool
    norm: Any
    num_layers: int
    use_nested_tensor: Any
    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None, enable_nested_tensor: bool = True, mask_check: bool = True) -> None: ...
    __constants__: list[Any]
    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None) -> Tensor:
        """src (S, N, E); masks as of nn.MultiheadAttention."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a norm.

    src (S, N, E), or (N, S, E) with `batch_first`. `norm_first`: norms before, not after.
    """

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Tensor:
        """src (S, N, E) -> (S, N, E); src_mask (S, S), src_key_padding_mask (N, S), as of
        nn.MultiheadAttention.
        """
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _Layer(Module):
    """What both layers have: attentions and a feed-forward network, each with a norm and dropout."""

    activation: Any
    activation_relu_or_gelu: Any
    dropout: Any
    linear1: Linear
    linear2: Linear
    norm_first: bool
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = ..., layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
def _detect_is_causal_mask(mask: Tensor, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Whether the mask is the causal one; is_causal answers where it is given."""
def _generate_square_subsequent_mask(sz: int, device: str | int | _device | None = None, dtype: _dtype | None = None) -> Any:
    """(sz, sz): -inf above the diagonal, 0 elsewhere."""
def _get_activation_fn(activation: str) -> Callable[[Any], Any]: ...
def _get_clones(module: Any, n: int) -> ModuleList: ...
def _get_seq_len(src: Tensor, batch_first: bool) -> int: ...
def _relu_or_gelu(activation: Any) -> int:
    """1 for relu, 2 for gelu, 0 for others."""
def _why_not_nested(layer: Any) -> str:
    """What of a layer keeps PyTorch from running it on nested tensors; "" where nothing does."""
def _zeroes_padding(encoder: Any, src: Tensor, mask: Tensor, padding: int | str | Sequence[int]) -> bool:
    """Whether PyTorch runs on nested tensors here: its padded positions come back as zeros."""
__all__ = ['Transformer', 'TransformerDecoder', 'TransformerDecoderLayer', 'TransformerEncoder',
    'TransformerEncoderLayer']
