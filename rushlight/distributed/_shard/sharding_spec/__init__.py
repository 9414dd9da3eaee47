"""How a tensor is cut into shards."""

from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed._shard.sharding_spec.api import (
    DevicePlacementSpec,
    EnumerableShardingSpec,
    PlacementSpec,
    ShardingSpec,
    _infer_sharding_spec_from_shards_metadata,
)
from rushlight.distributed._shard.sharding_spec.chunk_sharding_spec import ChunkShardingSpec

__all__ = [
    "ChunkShardingSpec",
    "DevicePlacementSpec",
    "EnumerableShardingSpec",
    "PlacementSpec",
    "ShardMetadata",
    "ShardingSpec",
    "_infer_sharding_spec_from_shards_metadata",
]
