"""Causal masks for scaled_dot_product_attention, by the corner that their diagonal starts from."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import rushlight as torch


class CausalVariant(IntEnum):
    """UPPER_LEFT: query i sees keys 0 .. i. LOWER_RIGHT: the last query sees all keys."""

    UPPER_LEFT, LOWER_RIGHT = 1, 2


def CausalBias(variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
    """The boolean mask (seq_len_q, seq_len_kv): True where a query may look."""
    offset = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
    return torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool).tril(diagonal=offset)


def causal_upper_left(*size: int) -> Any:
    """The mask of `is_causal=True`."""
    return _mask(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> Any:
    """The mask with which the last query sees all keys, as in decoding with a cache."""
    return _mask(CausalVariant.LOWER_RIGHT, size)


def _mask(variant: CausalVariant, size: tuple[int, ...]) -> Any:
    if len(size) != 2:
        raise AssertionError(f"causal bias only supports 2D tensors: (queries, keys), got {len(size)} sizes")
    return CausalBias(variant, *size)


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
