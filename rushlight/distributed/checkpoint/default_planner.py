"""The planners that save() and load() use: nested dicts are flattened, each chunk is written once."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import rushlight as torch
from rushlight.distributed._shard._utils import narrow_tensor_by_index
from rushlight.distributed.checkpoint._nested_dict import flatten_state_dict
from rushlight.distributed.checkpoint._traverse import set_element
from rushlight.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)
from rushlight.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from rushlight.distributed.checkpoint.planner_helpers import (
    _create_default_metadata_only_plan,
    _create_read_items,
    _create_write_items,
    _init_state_dict,
    _meet,
)
from rushlight.distributed.checkpoint.utils import find_state_dict_object

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


class DefaultSavePlanner(SavePlanner):
    """Each rank writes its chunks of DTensors; what all have is written by one of them.

    flatten_state_dict: nested dicts become one, of dotted names. dedup_save_to_lowest_rank: what several
    have is written by the first of them instead of by whoever has least to write.
    """

    # What set_up_planner() is given, and then the plans and the metadata, as PyTorch's planner has them.
    state_dict: dict[str, Any]
    is_coordinator: bool
    plan: SavePlan
    global_plan: list[SavePlan]
    metadata: Metadata

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, tuple[Any, ...]] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        """What is to be saved."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """This rank's chunks; of what is no DTensor all, where it is the coordinator."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        self.plan = replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Each chunk once, and the metadata. ValueError where chunks overlap or leave gaps."""
        all_plans = _written_once(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(all_plans)
        if self.flatten_state_dict:
            merged: dict[str, Any] = {}
            for plan in plans:
                merged.update(plan.planner_data or {})
            metadata.planner_data = merged
        problems = _problems(metadata)
        if problems:
            raise ValueError("Failed to validate global plan: " + "; ".join(problems))
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """The plan as it came back."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        """The tensor, or a BytesIO of what torch.save writes."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What an item is of; a DTensor's part."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """A tensor as it is, all else as bytes."""
        if write_item.type != WriteItemType.BYTE_IO:
            return object
        buffer = io.BytesIO()
        torch.save(object, buffer)
        buffer.seek(0)
        return buffer


class DefaultLoadPlanner(LoadPlanner):
    """Fills tensors in place and puts other values in their places, whatever ranks wrote them.

    allow_partial_load: what the checkpoint lacks stays as it is; otherwise RuntimeError.
    """

    # What set_up_planner() is given.
    state_dict: dict[str, Any]
    metadata: Metadata | None
    is_coordinator: bool

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict: dict[str, Any] = {}
        self.mappings: dict[str, tuple[Any, ...]] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """What is to be filled; tensors on the meta device are given memory."""
        _init_state_dict(state_dict)
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """What this rank needs."""
        if self.metadata is None:
            raise AssertionError("set_up_planner() has not been given metadata")
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """The plan as it came back."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put what torch.save wrote at its place."""
        loaded, name = torch.load(value, weights_only=False), read_item.dest_index.fqn
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The box of a tensor that is filled."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Nothing: it was filled in place."""

    def lookup_tensor(self, index: MetadataIndex) -> Any:
        """This rank's part of a tensor."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: Any) -> Any:
        """The item's box of it."""
        return narrow_tensor_by_index(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Makes the state dict from the metadata: all of it, or what is at or below some keys."""

    def __init__(self, keys: Any = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _should_include_key(self, key: str, metadata: Metadata) -> bool:
        if self.keys is None or key in self.keys:
            return True
        path = [str(part) for part in (metadata.planner_data or {}).get(key, ())]
        return any(".".join(path[:depth]) in self.keys for depth in range(1, len(path) + 1))

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """What is to be filled: an empty dict, which gets new tensors."""
        if state_dict:
            raise AssertionError("not state_dict")
        if metadata is None:
            raise AssertionError("metadata is not None")
        ways = metadata.planner_data or {}
        for key, entry in metadata.state_dict_metadata.items():
            if self._should_include_key(key, metadata):
                is_tensor = isinstance(entry, TensorStorageMetadata)
                made = torch.empty(entry.size, dtype=entry.properties.dtype) if is_tensor else entry
                set_element(state_dict, ways.get(key, (key,)), made)
        super().set_up_planner(state_dict, metadata, is_coordinator)


# --- what both are made of ------------------------------------------------------------------------


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """A rank's chunks, tensors and values."""
    return SavePlan([item for name, value in state_dict.items() for item in _create_write_items(name, value)])


def _written_once(plans: list[SavePlan], to_first: bool) -> list[SavePlan]:
    """Of what several ranks have, all items but one taken out."""
    having: dict[MetadataIndex, list[int]] = {}
    size: dict[MetadataIndex, int] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            having.setdefault(item.index, []).append(rank)
            size[item.index] = item.tensor_storage_size() or 1
    load, writer = [0] * len(plans), {}
    for index, ranks in having.items():
        rank = ranks[0] if to_first else min(ranks, key=load.__getitem__)
        writer[index] = rank
        load[rank] += size[index]
    return [
        replace(plan, items=[item for item in plan.items if writer[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans, their items with the numbers of chunks, and the metadata of what they write."""
    known: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            index, data = item.index, item.tensor_data
            if data is None:
                known[index.fqn] = BytesStorageMetadata()
                items.append(item)
                continue
            entry = known.setdefault(index.fqn, TensorStorageMetadata(data.properties, data.size, []))
            number = len(entry.chunks)
            entry.chunks.append(data.chunk)
            hinted = MetadataIndex(index.fqn, index.offset, number)
            items.append(replace(item, index=hinted) if rewrite_index_hints else item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(known)


def _problems(metadata: Metadata) -> list[str]:
    """What is wrong with tensors' chunks."""
    found = []
    for name, entry in metadata.state_dict_metadata.items():
        if not isinstance(entry, TensorStorageMetadata) or not entry.size:
            continue
        for number, chunk in enumerate(entry.chunks):
            ends = [a + n for a, n in zip(chunk.offsets, chunk.sizes, strict=True)]
            if any(end > size for end, size in zip(ends, entry.size, strict=True)):
                found.append(f"{name}: chunk {number} lies outside of {tuple(entry.size)}")
        found += [f"{name}: chunk {number} overlaps another one" for number in _overlapping(entry.chunks)]
        if sum(chunk.sizes.numel() for chunk in entry.chunks) != entry.size.numel():
            found.append(f"{name}: the chunks do not fill {tuple(entry.size)}")
    return found


def _overlapping(chunks: list[ChunkStorageMetadata]) -> list[int]:
    """The numbers of chunks that overlap one that begins before them, or where they do."""
    dims = range(len(chunks[0].offsets)) if chunks else ()
    dim = max(dims, key=lambda dim: len({chunk.offsets[dim] for chunk in chunks}), default=0)
    found, before = [], list[ChunkStorageMetadata]()
    for number, chunk in sorted(enumerate(chunks), key=lambda pair: pair[1].offsets[dim]):
        begin = chunk.offsets[dim]
        before = [other for other in before if other.offsets[dim] + other.sizes[dim] > begin]
        if any(_meet(chunk, other) for other in before):
            found.append(number)
        before.append(chunk)
    return found


def _create_default_local_metadata(state_dict: dict[str, Any]) -> Metadata:
    """The metadata of what one rank alone has."""
    return create_default_global_save_plan([_create_default_metadata_only_plan(state_dict)])[1]


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """What a rank reads. RuntimeError for a missing name (if strict), ValueError for another shape."""
    items = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if (
            isinstance(entry, TensorStorageMetadata)
            and isinstance(value, torch.Tensor)
            and tuple(value.shape) != tuple(entry.size)
        ):
            raise ValueError(
                f"Size mismatch between saved {entry.size} and current: {value.size()} for {name}"
            )
        items += _create_read_items(name, entry, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are."""
    return all_plans
