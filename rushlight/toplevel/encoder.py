"""torch's functions of what transformers' encoders are in evaluation, and of rows that are pruned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.autograd.node_classes import refusing
from rushlight.nn import functional as F


def _without_gradient(name: str, tensors: tuple[Tensor, ...], compute: Callable[[], Tensor]) -> Tensor:
    """What `compute` gives, and refuses a gradient where one would be recorded."""
    tracked = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    with torch.no_grad():
        result = compute()
    if not tracked or result.is_nested:
        return result
    refused: Tensor = refusing(result.requires_grad_(), f"derivative for aten::{name} is not implemented")
    return refused


def _check(
    operands: tuple[Tensor, Tensor, Tensor], size: int, heads: int, weight: Tensor, bias: Tensor
) -> None:
    """RuntimeError for what does not fit."""
    query, nested = operands[0], any(t.is_nested for t in operands)
    for t, name in zip(operands, ("query", "key", "value"), strict=True):
        if t.dim() != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {t.dim()}-D tensor")
    if not query.is_nested and query.shape[2] != size:
        raise RuntimeError(
            f"passed-in embed_dim {size} didn't match last dim of query {query.shape[2]}: expected the same"
        )
    if not nested and len({t.shape for t in operands}) > 1:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")
    if weight.dim() != 2:
        raise RuntimeError(f"expected 2-D `qkv_weight`, got {weight.dim()}-D tensor")
    if weight.shape[0] != 3 * size:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if weight.shape[1] != size:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if bias.dim() != 1:
        raise RuntimeError(f"expected 1-D `qkv_bias`, got {bias.dim()}-D tensor")
    if bias.shape[0] != 3 * size:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if size % heads:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`: expected a divisor of it")


def _padded(x: Any) -> Tensor:
    """A nested tensor with zeros behind each part."""
    made: Tensor = x.to_padded_tensor(0.0)
    return made


def _lengths(x: Tensor) -> list[int]:
    return [len(part) for part in x.unbind()]


def _padding(lengths: list[int], most: int) -> Tensor:
    """True where a position is behind the end of its sequence."""
    return torch.arange(most) >= torch.tensor(lengths)[:, None]


def _blocked(mask: Tensor | None, kind: int | None) -> Tensor | None:
    """The mask of scores (N, heads, L, S), True where nothing is looked at."""
    if mask is None:
        return None
    if kind is None:
        raise RuntimeError("Mask Type should be defined: expected 0 (L, L), 1 (N, L) or 2 (N, heads, L, L)")
    mask = mask.bool()
    return mask[:, None, None, :] if kind == 1 else mask


def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """nn.MultiheadAttention in evaluation, (N, L, E), also of nested tensors: result and weights.

    mask_type: 0 for a mask (L, L), 1 for one of padded keys (N, L), 2 for (N, heads, L, L); True, or another
    number than zero, is not looked at. Without need_weights the weights are None. No gradient.
    """
    _check((query, key, value), embed_dim, num_head, qkv_weight, qkv_bias)
    if query.is_nested and mask is not None:
        raise RuntimeError("NestedTensor with mask is not supported yet: leave the mask out")
    weights: list[Tensor] = []

    def compute() -> Tensor:
        blocked, padded = _blocked(mask, mask_type), [query, key, value]
        if query.is_nested:
            lengths = [_lengths(t) for t in padded]
            padded = list(map(_padded, padded))
            blocked = _padding(lengths[1], padded[1].shape[1])[:, None, None, :]
        parts = zip(padded, qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
        q, k, v = (F.linear(*part).unflatten(2, (num_head, -1)).transpose(1, 2) for part in parts)
        scores = q / (embed_dim // num_head) ** 0.5 @ k.transpose(2, 3)
        if blocked is not None:
            scores = scores.masked_fill(blocked, float("-inf"))
        shares = scores.softmax(-1)
        if blocked is not None:
            shares = shares.masked_fill(blocked, 0.0)
        result = F.linear((shares @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
        if query.is_nested:
            shares = shares.masked_fill(_padding(lengths[0], result.shape[1])[:, None, :, None], 0.0)
            result = torch.nested.nested_tensor(
                [part[:length] for part, length in zip(result, lengths[0], strict=True)]
            )
        weights.append(shares.sum(1) / num_head if average_attn_weights else shares)
        return result

    tensors = (query, key, value, qkv_weight, qkv_bias, proj_weight, proj_bias)
    found = _without_gradient("_native_multi_head_attention", tensors, compute)
    return found, weights[0] if need_weights else None


def _transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """nn.TransformerEncoderLayer in evaluation, (N, L, E), also of a nested tensor. No gradient.

    mask, mask_type: as of _native_multi_head_attention.
    """

    def attend(x: Tensor) -> Tensor:
        taken = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask)
        return _native_multi_head_attention(x, x, x, *taken, False, True, mask_type)[0]

    def forward(x: Tensor) -> Tensor:
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn_weight_2, ffn_bias_2)

    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), weight, bias, eps)

    def compute() -> Tensor:
        x = src
        if norm_first:
            x = x + attend(norm(x, norm_weight_1, norm_bias_1))
            return x + forward(norm(x, norm_weight_2, norm_bias_2))
        x = norm(x + attend(x), norm_weight_1, norm_bias_1)
        return norm(x + forward(x), norm_weight_2, norm_bias_2)

    tensors = (src, qkv_weight, qkv_bias, proj_weight, proj_bias, ffn_weight_1, ffn_weight_2)
    return _without_gradient("_transformer_encoder_layer_fwd", tensors, compute)


def _transform_bias_rescale_qkv(
    qkv: Tensor, qkv_bias: Tensor, num_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (N, heads, L, width) of (N, L, 3 * E), with a bias; queries are divided by the
    root of the width. A nested tensor is padded.
    """
    padded = _padded(qkv) if qkv.is_nested else qkv
    size = padded.size(2) // 3
    if size % num_heads:
        raise RuntimeError(
            f"Expected D % num_head == 0 to be true, but got false: {size} is no multiple of {num_heads}"
        )
    parts = (padded + qkv_bias).unflatten(2, (3, num_heads, -1)).permute(2, 0, 3, 1, 4).contiguous()
    q, k, v = parts.unbind()
    return q / (size // num_heads) ** 0.5, k, v


def _rowwise_prune(
    weight: Tensor, mask: Tensor, compressed_indices_dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The rows of a matrix that the mask keeps, and each row's place among them: -1 for others.

    Errors: RuntimeError for other shapes or dtypes.
    """
    if weight.dim() != 2:
        raise RuntimeError(f"'weights' should have 2 dimensions, got {weight.dim()}")
    if mask.numel() != len(weight):
        raise RuntimeError(
            "Number of elements in 'mask' should be equivalent to the number of rows in 'weights'."
            f" Got {mask.numel()} and {len(weight)}"
        )
    if compressed_indices_dtype not in (torch.int32, torch.int64):
        raise RuntimeError(
            "compressed_indices_dtype should be either int(int32) or long(int64), got "
            f"{compressed_indices_dtype}"
        )
    if mask.dtype is not torch.bool:
        raise RuntimeError(f"expected scalar type Bool but found {mask.dtype}")
    places = (mask.cumsum(0) - 1).masked_fill(~mask, -1)
    return weight[mask], places.to(compressed_indices_dtype)
