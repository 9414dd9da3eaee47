"""Shards by another ChunkShardingSpec."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed._shard._utils import narrow_tensor_by_index
from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed._shard.sharded_tensor.shard import Shard


def resharded(local: Any, before: list[ShardMetadata], after: list[ShardMetadata], group: Any) -> list[Shard]:
    """This rank's shard of those after, from all ranks' ones before; each rank has one. Collective."""
    own = dist.get_rank()
    was = {entry.placement.rank(): entry for entry in before if entry.placement is not None}
    will = {entry.placement.rank(): entry for entry in after if entry.placement is not None}
    ranks = dist.get_process_group_ranks(group)
    sent, received, boxes = [], [], []
    for rank in ranks:
        offsets, sizes = _common(was[own], will[rank])
        sent.append(narrow_tensor_by_index(local, offsets, sizes).contiguous())
        there, sizes = _common(will[own], was[rank])
        boxes.append((there, sizes))
        received.append(local.new_empty(sizes))
    dist.all_to_all(received, sent, group=group)
    made = local.new_empty(will[own].shard_sizes)
    for piece, (offsets, sizes) in zip(received, boxes, strict=True):
        with torch.no_grad():
            narrow_tensor_by_index(made, offsets, sizes).copy_(piece)
    return [Shard(made, will[own])]


def _common(inside: ShardMetadata, other: ShardMetadata) -> tuple[list[int], list[int]]:
    """(offsets in `inside`, sizes) of what two boxes have in common."""
    offsets, sizes = [], []
    for a, n, b, m in zip(
        inside.shard_offsets, inside.shard_sizes, other.shard_offsets, other.shard_sizes, strict=True
    ):
        begin = max(a, b)
        size = max(min(a + n, b + m) - begin, 0)
        offsets.append(begin - a if size else 0)
        sizes.append(size)
    return offsets, sizes
