"""Items of plans: what of a value is written, and which boxes of stored chunks fill this rank's.

A program's own class of tensors may have `__create_write_items__(fqn, tensor)`, `__create_chunk_list__()` and
`__get_tensor_shard__(index)`, which then say what is written and read of its tensors.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.size import Size
from rushlight.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from rushlight.distributed.checkpoint.planner import (
    LoadItemType,
    ReadItem,
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.distributed.tensor.placement_types import box

__all__ = ["create_read_items_for_chunk_list"]


# --- what is written --------------------------------------------------------------------------------


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """What this rank writes of a value."""
    if isinstance(object, DTensor):
        if object.device_mesh.get_coordinate() is None:
            return []
        local = object.to_local()
        chunks = [chunk for chunk in _create_chunk_list(object) if 0 not in chunk.sizes]
    elif hasattr(object, "__create_write_items__"):
        found: list[WriteItem] = object.__create_write_items__(fqn, object)
        return found
    elif hasattr(object, "__create_chunk_list__"):
        local, chunks = object, object.__create_chunk_list__()
    elif isinstance(object, torch.Tensor):
        return [_create_write_item_for_tensor(fqn, object)]
    else:
        return [_create_write_item_for_bytesio(fqn, object)]
    properties = TensorProperties.create_from_tensor(local)
    return [
        WriteItem(
            MetadataIndex(fqn, chunk.offsets),
            WriteItemType.SHARD,
            tensor_data=TensorWriteData(chunk, properties, object.size()),
        )
        for chunk in chunks
    ]


def _create_write_item_for_tensor(fqn: str, tensor: Any) -> WriteItem:
    chunk = _create_chunk_from_tensor(tensor)
    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(tensor), tensor.size())
    return WriteItem(MetadataIndex(fqn, chunk.offsets), WriteItemType.TENSOR, tensor_data=data)


def _create_write_item_for_bytesio(fqn: str, bytes: Any) -> WriteItem:
    return WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)


def _create_default_metadata_only_plan(state_dict: dict[str, Any]) -> SavePlan:
    return SavePlan([item for fqn, value in state_dict.items() for item in _create_write_items(fqn, value)])


# --- which parts of tensors a rank has ----------------------------------------------------------------


def _create_chunk_from_tensor(tensor: Any) -> ChunkStorageMetadata:
    return ChunkStorageMetadata(Size([0] * tensor.ndim), tensor.size())


def _create_chunk_list(tensor: Any) -> list[ChunkStorageMetadata]:
    """The boxes of a tensor that this rank has. ValueError for what is no tensor."""
    if isinstance(tensor, DTensor):
        offsets, sizes = box(tensor.shape, tensor.device_mesh, tensor.placements)
        return [ChunkStorageMetadata(Size(offsets), Size(sizes))]
    if hasattr(tensor, "__create_chunk_list__"):
        found: list[ChunkStorageMetadata] = tensor.__create_chunk_list__()
        return found
    if isinstance(tensor, torch.Tensor):
        return [_create_chunk_from_tensor(tensor)]
    raise ValueError(
        f"Unsupported Type, expecting one of [Tensor, DTensor, ShardedTensor] ,but got {type(tensor)}"
    )


# --- what is read -------------------------------------------------------------------------------------


def _create_read_item_for_byteio(
    dest_index: Any, dest_offset: int, storage_index: Any, storage_offset: int, length: int
) -> ReadItem:
    return ReadItem(
        LoadItemType.BYTE_IO,
        dest_index,
        Size((dest_offset,)),
        storage_index,
        Size((storage_offset,)),
        Size((length,)),
    )


def _create_read_item_for_tensor(
    dest_index: Any, dest_offsets: Any, storage_index: Any, storage_offsets: Any, lengths: Any
) -> ReadItem:
    return ReadItem(
        LoadItemType.TENSOR,
        dest_index,
        Size(dest_offsets),
        storage_index,
        Size(storage_offsets),
        Size(lengths),
    )


def _meet(a: ChunkStorageMetadata, b: ChunkStorageMetadata) -> bool:
    """Whether two boxes have anything in common."""
    return all(
        x < y + m and y < x + n for x, n, y, m in zip(a.offsets, a.sizes, b.offsets, b.sizes, strict=True)
    )


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """The boxes that stored chunks and a rank's own chunks have in common."""
    found = []
    for own_number, own in enumerate(local_chunks):
        for number, stored in enumerate(checkpoint_md.chunks):
            if not _meet(own, stored):
                continue
            begins = [max(a, b) for a, b in zip(own.offsets, stored.offsets, strict=True)]
            ends = [
                min(a + n, b + m)
                for a, n, b, m in zip(own.offsets, own.sizes, stored.offsets, stored.sizes, strict=True)
            ]
            found.append(
                _create_read_item_for_tensor(
                    MetadataIndex(fqn, own.offsets, own_number),
                    [begin - a for begin, a in zip(begins, own.offsets, strict=True)],
                    MetadataIndex(fqn, stored.offsets, number),
                    [begin - b for begin, b in zip(begins, stored.offsets, strict=True)],
                    [end - begin for end, begin in zip(ends, begins, strict=True)],
                )
            )
    return found


def _create_read_items(fqn: str, md: Any, obj: Any) -> list[ReadItem]:
    """What this rank reads of a value. ValueError where a tensor is stored and the value is none."""
    if isinstance(md, BytesStorageMetadata):
        place = MetadataIndex(fqn)
        return [_create_read_item_for_byteio(place, 0, place, 0, 0)]
    try:
        chunks = _create_chunk_list(obj)
    except ValueError as error:
        raise ValueError(
            f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found {type(md)}"
        ) from error
    return create_read_items_for_chunk_list(fqn, md, chunks)


def _init_state_dict(state_dict: Any) -> Any:
    """Give tensors on the meta device memory, in place in dicts; the value that takes the place of one."""
    if isinstance(state_dict, torch.Tensor):
        if state_dict.device.type != "meta":  # not is_meta, which a ShardedTensor of several shards has not
            return state_dict
        if isinstance(state_dict, DTensor):
            local = torch.empty_like(state_dict.to_local(), device=state_dict.device_mesh.device_type)
            mesh, placements = state_dict.device_mesh, state_dict.placements
            return DTensor.from_local(
                local, mesh, placements, shape=state_dict.size(), stride=state_dict.stride()
            )
        return torch.empty_like(state_dict, device="cpu")
    if isinstance(state_dict, dict):
        for key, value in state_dict.items():
            state_dict[key] = _init_state_dict(value)
    elif isinstance(state_dict, (list, tuple)) and type(state_dict) in (list, tuple):
        return type(state_dict)(map(_init_state_dict, state_dict))
    return state_dict


# --- plans that stay as they were ---------------------------------------------------------------------


def _compare_save_plans(plan: SavePlan, other_plan: SavePlan) -> bool:
    """Whether two plans write the same."""

    def told(one: SavePlan) -> Any:
        return one.usable, [
            (
                item.type,
                item.index,
                item.index.index,
                item.tensor_data and (item.tensor_data.size, item.tensor_data.chunk),
            )
            for item in one.items
        ]

    return bool(told(plan) == told(other_plan))


def _contains_usable_plan(delta_plans: list[SavePlan]) -> bool:
    """Whether any plan has changed."""
    return any(plan and plan.usable for plan in delta_plans)


def _merge_delta_local_plans(cached_plans: list[SavePlan], delta_plans: list[SavePlan]) -> list[SavePlan]:
    """The plans; where one has not changed, the one before."""
    return [
        cached if plan and not plan.usable else plan
        for cached, plan in zip(cached_plans, delta_plans, strict=True)
    ]
