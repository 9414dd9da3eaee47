"""Planners: what each rank writes and reads, decided before anything is written or read."""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rushlight._engine.core.size import Size
from rushlight.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """What is written: a whole tensor, a chunk of one, or bytes."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which chunk of a tensor of which properties and shape."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """One thing that a rank writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the tensor that the item is of; None of bytes."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.size) * int(self.tensor_data.properties.dtype.itemsize)


@dataclass(frozen=True)
class ReadItem:
    """One thing that a rank reads: a box of a stored chunk, into a box of one of its own."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank writes. storage_data, planner_data: what the storage and the planner tell themselves."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Decides what is written; see DefaultSavePlanner. Methods are called in this order."""

    @abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        """On each rank: what is to be saved."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """On each rank: what it would write."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """On the coordinator: what each rank is to write, and the checkpoint's metadata."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """On each rank: its plan as it is carried out."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """The tensor or the BytesIO that an item stands for."""


class LoadPlanner(ABC):
    """Decides what is read, and where to; see DefaultLoadPlanner. Methods are called in this order."""

    @abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """On each rank: what is to be filled, from what."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """On each rank: what it reads."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """On the coordinator: what each rank reads."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """On each rank: its plan as it is carried out."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take over an item of bytes."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where an item of bytes may be read to."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The part of a tensor that an item is read into."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Told when what resolve_tensor gave has been filled."""
