"""Chunks along one dim, one for each of a list of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed._shard._utils import narrow_tensor
from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata, TensorProperties
from rushlight.distributed._shard.sharded_tensor.shard import Shard
from rushlight.distributed._shard.sharding_spec._internals import get_chunked_dim_size, get_split_size
from rushlight.distributed._shard.sharding_spec.api import ShardingSpec
from rushlight.distributed.remote_device import _remote_device

__all__ = ["ChunkShardingSpec"]


@dataclass
class ChunkShardingSpec(ShardingSpec):
    """As torch.chunk cuts along `dim`; chunk number i lies at placements[i]."""

    dim: Any
    placements: list[Any]

    def __post_init__(self) -> None:
        self._verify_dim(self.dim)
        for number, place in enumerate(self.placements):  # in the caller's list, as PyTorch does
            if not isinstance(place, _remote_device):
                self.placements[number] = _remote_device(place)

    @staticmethod
    def _verify_dim(dim: Any) -> None:
        if isinstance(dim, str):
            raise NotImplementedError("ChunkShardingSpec does not support named dimension yet!")
        if not isinstance(dim, int):
            raise ValueError(f"Sharding dim needs to be an integer, found: {dim}")

    def build_metadata(self, tensor_sizes: Any, tensor_properties: TensorProperties) -> ShardedTensorMetadata:
        """The chunks of a tensor of these sizes."""
        self._verify_dim(self.dim)
        rank = len(tensor_sizes)
        if not -rank <= self.dim < rank:
            raise ValueError(f"Invalid sharding dim: {self.dim}")
        whole = tensor_sizes[self.dim]
        split = get_split_size(whole, len(self.placements))
        shards = []
        for number, placement in enumerate(self.placements):
            sizes, offsets = list(tensor_sizes), [0] * rank
            offsets[self.dim] = split * number
            sizes[self.dim] = get_chunked_dim_size(whole, split, number)
            shards.append(ShardMetadata(offsets, sizes, placement))
        return ShardedTensorMetadata(shards, tensor_sizes, tensor_properties)

    def shard(self, tensor: Any, src_rank: int = 0, process_group: Any = None) -> Any:
        """A ShardedTensor of what rank `src_rank` of the group has; collective."""
        # A circle.
        from rushlight.distributed._shard.sharded_tensor.api import ShardedTensor
        from rushlight.distributed._shard.sharded_tensor.utils import _parse_and_validate_remote_device

        metadata = self.build_metadata(tensor.size(), TensorProperties.create_from_tensor(tensor))
        split = get_split_size(tensor.size(self.dim), len(self.placements))
        shape = list(tensor.size())
        shape[self.dim] = split  # all ranks are sent as much
        first = dist.get_rank(process_group) == src_rank
        sent = [tensor.new_zeros(shape) for _ in range(dist.get_world_size(process_group) if first else 0)]
        mine, received = None, None
        for entry in metadata.shards_metadata:
            rank, device = _parse_and_validate_remote_device(process_group, entry.placement)
            if first:
                at = sent[rank if process_group is None else dist.get_group_rank(process_group, rank)]
                with torch.no_grad():
                    piece = narrow_tensor(tensor, entry)
                    at.narrow(self.dim, 0, piece.size(self.dim)).copy_(piece)
            if rank == dist.get_rank():
                mine = entry
                received = torch.empty(shape, dtype=tensor.dtype, layout=tensor.layout, device=device)
        if mine is None or received is None:
            raise AssertionError
        source = src_rank if process_group is None else dist.get_global_rank(process_group, src_rank)
        dist.scatter(received, sent or None, src=source, group=process_group)
        local = narrow_tensor(received, ShardMetadata([0] * len(shape), mine.shard_sizes)).contiguous()
        local.requires_grad = tensor.requires_grad
        made = ShardedTensor._init_from_local_shards_and_global_metadata(
            [Shard(local, mine)], metadata, process_group=process_group
        )
        made._sharding_spec = self
        return made
