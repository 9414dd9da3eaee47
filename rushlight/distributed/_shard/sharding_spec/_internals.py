"""Whether boxes are a tensor's shards: none overlap, and they fill it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from rushlight.distributed._shard.metadata import ShardMetadata


def _check_shard_metadata_pair_overlap(shard1: ShardMetadata, shard2: ShardMetadata) -> bool:
    """Whether two boxes have anything in common."""
    return all(
        a < b + m and b < a + n
        for a, n, b, m in zip(
            shard1.shard_offsets,
            shard1.shard_sizes,
            shard2.shard_offsets,
            shard2.shard_sizes,
            strict=True,
        )
    )


def validate_non_overlapping_shards_metadata(shards: list[ShardMetadata]) -> None:
    """ValueError where two boxes overlap."""
    ordered = sorted(shards, key=lambda shard: shard.shard_offsets)
    for first, second in combinations(ordered, 2):
        if _check_shard_metadata_pair_overlap(first, second):
            raise ValueError(f"Shards {first} and {second} overlap")


def check_tensor(shards_metadata: Sequence[ShardMetadata], tensor_dims: Sequence[int]) -> None:
    """ValueError where boxes do not make up a tensor of these sizes."""
    rank = len(shards_metadata[0].shard_offsets)
    if len(tensor_dims) != rank:
        raise ValueError(f"Rank of tensor is {len(tensor_dims)}, but shards rank is {rank}")
    for shard in shards_metadata:
        for offset, length, size in zip(shard.shard_offsets, shard.shard_sizes, tensor_dims, strict=True):
            if offset + length > size:
                raise ValueError(
                    f"Shard offset {offset} and length {length} exceeds tensor dim: {size} for shard {shard}"
                )
    volume, whole = sum(math.prod(shard.shard_sizes) for shard in shards_metadata), math.prod(tensor_dims)
    if volume != whole:
        raise ValueError(
            f"Total volume of shards: {volume} does not match tensor volume: {whole}, in other words all "
            "the individual shards do not cover the entire tensor"
        )


def get_split_size(dim_size: int, chunks: int) -> int:
    """The size of all chunks but the last ones, as torch.chunk cuts."""
    return (dim_size + chunks - 1) // chunks


def get_chunked_dim_size(dim_size: int, split_size: int, idx: int) -> int:
    """The size of one chunk."""
    return max(min(dim_size, split_size * (idx + 1)) - split_size * idx, 0)


def get_chunk_sharding_params(
    sharding_dim_size: int, world_size: int, spec: Any, rank: int
) -> tuple[int, int]:
    """(where a rank's chunk begins, its size)."""
    split = get_split_size(sharding_dim_size, world_size)
    number = next(i for i, placement in enumerate(spec.placements) if placement.rank() == rank)
    return min(split * number, sharding_dim_size), get_chunked_dim_size(sharding_dim_size, split, number)
