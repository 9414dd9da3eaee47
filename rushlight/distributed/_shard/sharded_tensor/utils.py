"""Whether ranks' shards make up one tensor."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.size import Size
from rushlight.distributed._shard.sharded_tensor.metadata import ShardedTensorMetadata, TensorProperties
from rushlight.distributed._shard.sharded_tensor.shard import Shard
from rushlight.distributed._shard.sharding_spec._internals import (
    check_tensor,
    validate_non_overlapping_shards_metadata,
)


def _parse_and_validate_remote_device(pg: Any, remote_device: Any) -> tuple[Any, Any]:
    """(rank in the whole world, device) of a placement."""
    if remote_device is None:
        raise ValueError("remote device is None")
    rank, worker = remote_device.rank(), remote_device.worker_name()
    if rank is not None and pg is not None:
        known = dist.get_process_group_ranks(pg)
        if rank not in known:
            raise ValueError(f"Global rank {rank} does not exist in input process group: {known}")
    if worker is not None:
        from rushlight.distributed import rpc  # few programs name workers

        if not rpc._is_current_rpc_agent_set():
            raise RuntimeError(f"RPC framework needs to be initialized for using worker names: {worker}")
        for info in rpc._get_current_rpc_agent().get_worker_infos():
            if info.name == worker:
                return info.id, remote_device.device()
        raise ValueError(f"Invalid worker name: {worker}")
    return rank, remote_device.device()


def _validate_output_tensor_for_gather(my_rank: int, dst_rank: int, size: Any, dst_tensor: Any) -> None:
    """ValueError where the destination has no tensor of the whole size, or another rank has one."""
    if dst_rank != my_rank:
        if dst_tensor is not None:
            raise ValueError("Argument ``dst_tensor`` must NOT be specified on non-destination ranks.")
        return
    if dst_tensor is None:
        raise ValueError(f"Argument ``dst_tensor`` must be specified on destination rank {dst_rank}")
    if tuple(size) != tuple(dst_tensor.size()):
        raise ValueError(
            f"Argument ``dst_tensor`` have size {tuple(dst_tensor.size())},but should be {tuple(size)}"
        )


def _flatten_tensor_size(size: Any) -> Size:
    """Sizes, given one by one or as a sequence."""
    dims = list(size[0]) if len(size) == 1 and isinstance(size[0], Sequence) else list(size)
    if not all(isinstance(dim, int) for dim in dims):
        raise TypeError(f"size has to be a sequence of ints, found: {dims}")
    return Size(dims)


def _raise_if_mismatch(expected: Any, actual: Any, prop_name: str, ranks: Any, is_local: bool = True) -> None:
    if expected == actual:
        return
    if is_local:
        raise ValueError(
            f"Local shards' tensor {prop_name} property need to be the same on rank:{ranks}! Found one local "
            f"shard tensor {prop_name}={expected}, the other local shard tensor {prop_name}={actual}."
        )
    raise ValueError(
        f"ShardedTensor {prop_name} property does not match from different ranks! Found "
        f"{prop_name}={expected} on rank:{ranks[0]}, and {prop_name}={actual} on rank:{ranks[1]}."
    )


def build_metadata_from_local_shards(
    local_shards: list[Shard], global_size: Any, current_rank: int, pg: Any
) -> ShardedTensorMetadata:
    """What this rank's shards say of the tensor. ValueError where they do not fit together."""
    first = local_shards[0].tensor
    for shard in local_shards:
        tensor, entry = shard.tensor, shard.metadata
        rank, device = _parse_and_validate_remote_device(pg, entry.placement)
        if tensor.layout is not torch.strided or tensor.layout != first.layout:
            raise ValueError(
                f"Only torch.strided layout is currently supported, but found {tensor.layout} on "
                f"rank:{current_rank}!"
            )
        if not tensor.is_contiguous():
            raise ValueError("Only torch.contiguous_format memory_format is currently supported!")
        if rank != current_rank:
            raise ValueError(
                "Local shard metadata's rank does not match with the rank in its process group! Found "
                f"current rank in the process group: {current_rank}, "
                f"local ShardMetadata placement's rank: {rank}"
            )
        if tensor.device != device:
            raise ValueError(
                "Local shard tensor device does not match with local Shard's placement! Found local shard "
                f"tensor device: {tensor.device}, local shard metadata placement device: {device}"
            )
        _raise_if_mismatch(entry.shard_sizes, list(tensor.size()), "size", current_rank)
        _raise_if_mismatch(tensor.is_pinned(), first.is_pinned(), "pin_memory", current_rank)
        _raise_if_mismatch(tensor.dtype, first.dtype, "dtype", current_rank)
        _raise_if_mismatch(tensor.requires_grad, first.requires_grad, "requires_grad", current_rank)
    return ShardedTensorMetadata(
        [shard.metadata for shard in local_shards], global_size, TensorProperties.create_from_tensor(first)
    )


def build_global_metadata(
    gathered_metadatas: Sequence[ShardedTensorMetadata | None], recalc_metadata: bool = False
) -> ShardedTensorMetadata:
    """What all ranks' shards say together. ValueError where they do not make up one tensor."""
    told = [(rank, entry) for rank, entry in enumerate(gathered_metadatas) if entry is not None]
    if not told:
        raise ValueError("ShardedTensor have no local shards on all ranks!")
    first, whole = told[0][0], copy.deepcopy(told[0][1])
    mine = whole.tensor_properties
    for rank, entry in told[1:]:
        ranks, its = [first, rank], entry.tensor_properties
        _raise_if_mismatch(whole.size, entry.size, "global_size", ranks, is_local=False)
        _raise_if_mismatch(mine.dtype, its.dtype, "dtype", ranks, is_local=False)
        _raise_if_mismatch(mine.requires_grad, its.requires_grad, "requires_grad", ranks, is_local=False)
        _raise_if_mismatch(mine.pin_memory, its.pin_memory, "pin_memory", ranks, is_local=False)
        whole.shards_metadata.extend(entry.shards_metadata)
    if recalc_metadata:
        recalc_global_sharded_tensor_metadata(whole, 0)
    validate_non_overlapping_shards_metadata(whole.shards_metadata)
    check_tensor(whole.shards_metadata, whole.size)
    return whole


def recalc_global_sharded_tensor_metadata(
    global_sharded_tensor_metadata: ShardedTensorMetadata, sharded_dim: int
) -> None:
    """Offsets and the whole size as they follow from the shards' sizes, in the order of the ranks."""
    shards = global_sharded_tensor_metadata.shards_metadata
    if not all(shard.placement for shard in shards):
        raise AssertionError("currently only support rw, it should always have valid rank info")
    ordered = sorted(shards, key=lambda shard: shard.placement.rank())
    ends = list(accumulate(shard.shard_sizes[sharded_dim] for shard in ordered))
    for shard, end in zip(ordered, ends, strict=True):
        shard.shard_offsets[:] = [0] * len(shard.shard_sizes)
        shard.shard_offsets[sharded_dim] = end - shard.shard_sizes[sharded_dim]
    sizes = list(shards[0].shard_sizes)
    sizes[sharded_dim] = ends[-1]
    global_sharded_tensor_metadata.size = Size(sizes)
