"""Ways to cut a tensor, and ops that are done in a way of their own for one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rushlight.distributed._shard.metadata import ShardMetadata
from rushlight.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata, TensorProperties
from rushlight.distributed._shard.sharding_spec._internals import (
    check_tensor,
    get_chunked_dim_size,
    get_split_size,
    validate_non_overlapping_shards_metadata,
)
from rushlight.distributed.remote_device import _remote_device

_CUSTOM_SHARDING_SPEC_OPS: dict[str, dict[Any, Any]] = {}


class PlacementSpec(ABC):  # noqa: B024 -- PyTorch's has no method either
    """Where something lies."""


@dataclass
class DevicePlacementSpec(PlacementSpec):
    """On a device of some rank."""

    device: Any

    def __post_init__(self) -> None:
        if not isinstance(self.device, _remote_device):
            self.device = _remote_device(self.device)


class ShardingSpec(ABC):
    """How tensors are cut."""

    @abstractmethod
    def build_metadata(self, tensor_sizes: Any, tensor_properties: TensorProperties) -> ShardedTensorMetadata:
        """The shards of a tensor of these sizes."""

    @abstractmethod
    def shard(self, tensor: Any, src_rank: int = 0, process_group: Any = None) -> Any:
        """A ShardedTensor of what `src_rank` has; collective."""


def _has_custom_op(sharding_spec: Any, op: Any) -> bool:
    return op in _CUSTOM_SHARDING_SPEC_OPS.get(type(sharding_spec).__qualname__, {})


def _dispatch_custom_op(
    sharding_spec: Any, op: Any, types: Any, args: Any, kwargs: Any, process_group: Any
) -> Any:
    if not _has_custom_op(sharding_spec, op):
        raise RuntimeError(f"Custom op: {op} not registered for {type(sharding_spec).__qualname__}")
    return _CUSTOM_SHARDING_SPEC_OPS[type(sharding_spec).__qualname__][op](types, args, kwargs, process_group)


def custom_sharding_spec_op(sharding_spec_class: Any, func: Any) -> Callable[..., Any]:
    """A decorator: how an op is done on tensors that are cut in this way."""
    ops = _CUSTOM_SHARDING_SPEC_OPS.setdefault(sharding_spec_class.__qualname__, {})

    def keep(done: Any) -> Any:
        ops[func] = done
        return done

    return keep


@dataclass
class EnumerableShardingSpec(ShardingSpec):
    """By a list of all shards."""

    shards: list[ShardMetadata]

    def __post_init__(self) -> None:
        if not self.shards:
            raise ValueError(f"Empty shard list provided: {self.shards}")
        ranks = [len(shard.shard_offsets) for shard in self.shards]
        for before, rank in zip(ranks, ranks[1:], strict=False):
            if before != rank:
                raise ValueError(f"Found inconsistent ranks for shards: {before} and {rank}")
        validate_non_overlapping_shards_metadata(self.shards)

    def build_metadata(self, tensor_sizes: Any, tensor_properties: TensorProperties) -> ShardedTensorMetadata:
        """These shards, if they make up the tensor."""
        check_tensor(self.shards, tensor_sizes)
        return ShardedTensorMetadata(self.shards, tensor_sizes, tensor_properties)

    def shard(self, tensor: Any, src_rank: int = 0, process_group: Any = None) -> Any:
        """PyTorch has none either."""
        raise NotImplementedError("EnumerableShardingSpec.shard not implemented yet!")


def _infer_sharding_spec_from_shards_metadata(shards_metadata: list[ShardMetadata]) -> ShardingSpec:
    """A ChunkShardingSpec where the shards are those of one, else a list of them."""
    from rushlight.distributed._shard.sharding_spec.chunk_sharding_spec import ChunkShardingSpec  # a circle

    dims = {dim for shard in shards_metadata for dim, offset in enumerate(shard.shard_offsets) if offset}
    if len(dims) == 1:
        (dim,) = dims
        ordered = sorted(shards_metadata, key=lambda shard: shard.shard_offsets[dim])
        whole = sum(shard.shard_sizes[dim] for shard in ordered)
        split = get_split_size(whole, len(ordered))
        if all(
            shard.shard_offsets[dim] == split * number
            and shard.shard_sizes[dim] == get_chunked_dim_size(whole, split, number)
            for number, shard in enumerate(ordered)
        ):
            return ChunkShardingSpec(dim=dim, placements=[shard.placement for shard in ordered])
    return EnumerableShardingSpec(shards_metadata)
