"""Causal masks for scaled_dot_product_attention, by the corner that their diagonal starts from."""
from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import rushlight as torch


class CausalVariant(IntEnum):
    """UPPER_LEFT: query i sees keys 0 .. i. LOWER_RIGHT: the last query sees all keys."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


def CausalBias(variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
    """The boolean mask (seq_len_q, seq_len_kv): True where a query may look."""
    offset = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
    return torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool).tril(diagonal=offset)


def causal_upper_left(*size: int) -> Any:
    """The mask of `is_causal=True`."""
    _check(size)
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> Any:
    """The mask with which the last query sees all keys, as in decoding with a cache."""
    _check(size)
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)


def _check(size: tuple[int, ...]) -> None:
    if len(size) != 2:
        raise AssertionError("causal bias only supports 2D tensors: give (queries, keys), got "
                             f"{len(size)} sizes")


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
