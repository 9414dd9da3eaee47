"""What ranks that save or load do together; which tensor an index of a checkpoint means."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.size import Size
from rushlight.distributed.checkpoint.api import (
    WRAPPED_EXCEPTION,
    CheckpointException,
    _is_wrapped_exception,
    _wrap_exception,
)
from rushlight.distributed.checkpoint.metadata import MetadataIndex
from rushlight.distributed.tensor.dtensor import DTensor

__all__ = ["find_state_dict_object", "find_tensor_shard"]


def _get_failure_dict(results: list[Any]) -> dict[int, WRAPPED_EXCEPTION]:
    return {rank: found for rank, found in enumerate(results) if _is_wrapped_exception(found)}


def _tried(step: Callable[[], Any]) -> Any:
    """What a step gives, or its exception."""
    try:
        return step()
    except BaseException as error:
        return _wrap_exception(error)


class _DistWrapper:
    """The ranks of a group, or this process alone; one of them, the coordinator, decides.

    A step that fails on some ranks raises CheckpointException on all.
    """

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist, self.coordinator_rank = group, use_dist, coordinator_rank
        self.rank: int = dist.get_rank(group) if use_dist else 0
        self.is_coordinator = not use_dist or self.rank == coordinator_rank
        whole = group is None or not use_dist
        self.global_coordinator_rank = (
            coordinator_rank if whole else dist.get_global_rank(group, coordinator_rank)
        )

    def get_rank(self) -> int:
        """This rank's number in the group."""
        return self.rank

    def get_world_size(self) -> int:
        """How many ranks."""
        return dist.get_world_size(self.group) if self.use_dist else 1

    def broadcast_object(self, object: Any) -> Any:
        """The coordinator's object."""
        if not self.use_dist:
            return object
        found = [object]
        dist.broadcast_object_list(found, src=self.global_coordinator_rank, group=self.group)
        return found[0]

    def gather_object(self, object: Any) -> list[Any] | None:
        """All ranks' objects, on the coordinator."""
        if not self.use_dist:
            return [object]
        found: list[Any] | None = [None] * self.get_world_size() if self.is_coordinator else None
        dist.gather_object(object, found, dst=self.global_coordinator_rank, group=self.group)
        return found

    def all_gather_object(self, object: Any) -> list[Any]:
        """All ranks' objects."""
        if not self.use_dist:
            return [object]
        found: list[Any] = [None] * self.get_world_size()
        dist.all_gather_object(found, object, group=self.group)
        return found

    def scatter_object(self, object_list: list[Any] | None) -> Any:
        """This rank's of the coordinator's objects."""
        if not self.use_dist:
            if object_list is None:
                raise AssertionError("object_list is None")
            return object_list[0]
        found = [None]
        dist.scatter_object_list(
            found,
            object_list if self.is_coordinator else None,
            src=self.global_coordinator_rank,
            group=self.group,
        )
        return found[0]

    def reduce_scatter(
        self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], list[Any]]
    ) -> Any:
        """A value of each rank; the coordinator makes one for each rank of all of them."""
        results = self._reduced(step, map_fun, reduce_fun)
        if isinstance(results, CheckpointException):
            results = [results] * self.get_world_size()
        return self._raised(self.scatter_object(results))

    def all_reduce(
        self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], Any]
    ) -> Any:
        """A value of each rank; the coordinator makes one for all of them."""
        return self._raised(self.broadcast_object(self._reduced(step, map_fun, reduce_fun)))

    def _reduced(self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], Any]) -> Any:
        """On the coordinator, what it makes of all values, or an exception."""
        values = self.gather_object(_tried(map_fun))
        if values is None:
            return None
        failures = _get_failure_dict(values)
        if not failures:
            found: Any = _tried(lambda: reduce_fun(values))
            if not _is_wrapped_exception(found):
                return found
            failures = {self.rank: found}
        return CheckpointException(step, failures)

    def all_gather(self, step: str, map_fun: Callable[[], Any]) -> list[Any]:
        """All ranks' values."""
        values = self.all_gather_object(_tried(map_fun))
        failures = _get_failure_dict(values)
        if failures:
            raise CheckpointException(step, failures)
        return values

    def broadcast(self, step: str, map_fun: Callable[[], Any]) -> Any:
        """The coordinator's value."""
        found: Any = _tried(map_fun) if self.is_coordinator else None
        if _is_wrapped_exception(found):
            found = CheckpointException(step, {self.rank: found})
        return self._raised(self.broadcast_object(found))

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.use_dist:
            dist.barrier(group=self.group)

    @staticmethod
    def _raised(found: Any) -> Any:
        if isinstance(found, CheckpointException):
            raise found
        return found


def find_tensor_shard(tensor: Any, index: MetadataIndex) -> Any:
    """The part of a tensor that this rank has and that begins where the index says."""
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    if hasattr(tensor, "__get_tensor_shard__"):
        return tensor.__get_tensor_shard__(index)
    if index.offset is not None and index.offset != Size([0] * tensor.ndim):
        raise _no_shard(index)
    return tensor


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """What an index means: a value, or this rank's part of a tensor. ValueError where it is not there."""
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    found = state_dict[index.fqn]
    if isinstance(found, torch.Tensor):
        return find_tensor_shard(found, index)
    if index.offset is not None:
        raise _no_shard(index)
    return found


def _no_shard(index: MetadataIndex) -> ValueError:
    return ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")


class _ReaderView(io.IOBase):
    """A part of a file, as a file."""

    def __init__(self, base_stream: Any, offset: int, len: int) -> None:
        super().__init__()
        self.base_stream, self.offset, self.len = base_stream, offset, len
        self.seek(0)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place in the part; its number in the file."""
        begin = self.offset + self.len if whence == os.SEEK_END else self.offset
        if whence == os.SEEK_CUR:
            begin = self.base_stream.tell()
        found: int = self.base_stream.seek(begin + offset)
        return found

    def tell(self) -> int:
        """The place in the part."""
        return int(self.base_stream.tell()) - self.offset

    def readable(self) -> bool:
        """Whether the file is."""
        return bool(self.base_stream.readable())

    def seekable(self) -> bool:
        """Whether the file is."""
        return bool(self.base_stream.seekable())

    def readinto(self, b: Any) -> int:
        """Fill a buffer, up to the part's end."""
        return int(self.base_stream.readinto(memoryview(b)[: self.len - self.tell()]))

    def read(self, size: int = -1) -> Any:
        """So many bytes, up to the part's end."""
        most = self.len - self.tell()
        return self.base_stream.read(most if size < 0 else min(size, most))


def _create_file_view(file: Any, offset: int, length: int) -> _ReaderView:
    return _ReaderView(file, offset, length)


def _normalize_device_info(device_type: str, device_id: int) -> str:
    return "cpu" if device_type == "cpu" else f"{device_type}:{device_id}"
