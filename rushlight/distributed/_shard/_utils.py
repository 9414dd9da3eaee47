"""Boxes of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.distributed._shard.metadata import ShardMetadata

DEPRECATE_MSG = "Please use DTensor instead and we are deprecating ShardedTensor."


def narrow_tensor_by_index(tensor: Any, offsets: Sequence[int], sizes: Sequence[int]) -> Any:
    """A view of a box of a tensor."""
    for dim, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if size < tensor.size(dim):
            tensor = tensor.narrow(dim, offset, size)
    return tensor


def narrow_tensor(tensor: Any, metadata: ShardMetadata) -> Any:
    """A view of what a shard has of a tensor."""
    return narrow_tensor_by_index(tensor, metadata.shard_offsets, metadata.shard_sizes)
