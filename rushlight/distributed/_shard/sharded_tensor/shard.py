"""One shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed.remote_device import _remote_device

__all__ = ["Shard"]


@dataclass
class Shard:
    """A tensor of this rank, and which box of the whole one it is."""

    __slots__ = ["metadata", "tensor"]

    tensor: Any
    metadata: ShardMetadata

    def __post_init__(self) -> None:
        sizes, wanted = list(self.tensor.size()), self.metadata.shard_sizes
        if sizes != wanted:
            raise ValueError(
                "Shard tensor size does not match with metadata.shard_lengths! Found shard tensor size: "
                f"{sizes}, metadata.shard_lengths: {wanted}, "
            )
        placement = self.metadata.placement
        if placement is not None and placement.device() != self.tensor.device:
            raise ValueError(
                "Local shard tensor device does not match with local Shard's placement! Found local shard "
                f"tensor device: {self.tensor.device}, local shard metadata placement device: "
                f"{placement.device()}"
            )

    @classmethod
    def from_tensor_and_offsets(cls, tensor: Any, shard_offsets: list[int], rank: int) -> Shard:
        """The shard that a tensor of this rank is, beginning there."""
        placement = _remote_device(f"rank:{rank}/{tensor.device}")
        return cls(tensor, ShardMetadata(shard_offsets, list(tensor.size()), placement))
