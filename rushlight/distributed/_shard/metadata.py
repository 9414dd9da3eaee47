"""Where a shard lies: in the whole tensor, and on which rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rushlight.distributed.remote_device import _remote_device

__all__ = ["ShardMetadata"]


@dataclass
class ShardMetadata:
    """A box of a tensor, where it begins and its sizes, and the rank and device that have it."""

    __slots__ = ["placement", "shard_offsets", "shard_sizes"]

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: Any  # a _remote_device, or None

    def __init__(
        self,
        shard_offsets: list[int],
        shard_sizes: list[int],
        placement: str | _remote_device | None = None,
    ) -> None:
        self.shard_offsets, self.shard_sizes = shard_offsets, shard_sizes
        self.placement = _remote_device(placement) if isinstance(placement, str) else placement
        if len(shard_offsets) != len(shard_sizes):
            raise ValueError(
                "shard_offsets and shard_sizes should have the same number of elements, found "
                f"{len(shard_offsets)} and {shard_sizes} respectively"
            )
        if any(offset < 0 for offset in shard_offsets):
            raise ValueError("shard_offsets should be >=0")
        if any(size < 0 for size in shard_sizes):
            raise ValueError("shard_sizes should be >= 0")

    def __hash__(self) -> int:
        return hash((*self.shard_offsets, *self.shard_sizes, self.placement))
