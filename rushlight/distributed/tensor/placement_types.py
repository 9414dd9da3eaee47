"""The placements by the name of PyTorch's module."""

from __future__ import annotations

from typing import Any

from rushlight.distributed.tensor.placements import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class _StridedShard(Shard):
    """What two parallel ways of sharding one dim would give; not there yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("_StridedShard: Rushlight shards a dim along one dim of a mesh")
