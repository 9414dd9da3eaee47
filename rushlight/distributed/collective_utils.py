"""Values that one rank or every rank makes, shared with all; what goes wrong on one rank is raised on all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import rushlight.distributed as dist

__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]
T = TypeVar("T")


@dataclass
class SyncPayload(Generic[T]):
    """What a rank tells: its value, or that it has failed, and by what."""

    stage_name: str | None
    success: bool
    payload: T
    exception: Exception | None = None


def _told(data_or_fn: Any, stage_name: str | None, success: bool = True) -> SyncPayload[Any]:
    """A value, or what a function gives or raises."""
    if not callable(data_or_fn):
        return SyncPayload(stage_name, success, data_or_fn)
    try:
        return SyncPayload(stage_name, success, data_or_fn())
    except Exception as error:
        return SyncPayload(stage_name, False, None, error)


def broadcast(
    data_or_fn: T | Callable[[], T],
    *,
    success: bool = True,
    stage_name: str | None = None,
    rank: int = 0,
    pg: Any = None,
) -> T:
    """The rank's value, or what its function gives, on all ranks of the group; without one, of this process
    alone. success: False to say that it has failed, with None as the value. RuntimeError on all ranks where
    it has.
    """
    if not success and data_or_fn is not None:
        raise AssertionError("Data or Function is expected to be None if not successful")
    told = SyncPayload[Any](stage_name, success, None)
    if rank == (0 if pg is None else pg.rank()):
        told = _told(data_or_fn, stage_name, success)
    if pg is not None:
        sent = [told]
        dist.broadcast_object_list(sent, src=rank, group=pg)
        told = sent[0]
    if told.success:
        found: T = told.payload
        return found
    stage = "" if stage_name is None else f": stage {told.stage_name}"
    cause = "" if told.exception is None else f": exception {told.exception}"
    raise RuntimeError(f"Rank {rank} failed{stage}{cause}") from told.exception


def all_gather(data_or_fn: T | Callable[[], T], stage_name: str | None = None, pg: Any = None) -> list[T]:
    """The values of all ranks of the group, or what their functions give; without one, of this process alone.

    RuntimeError(text, [(rank, exception)]) on all ranks where one has failed; the text names the ranks
    that were at another stage.
    """
    own = _told(data_or_fn, stage_name)
    if pg is None:
        if not own.success:
            raise RuntimeError(f"all_gather failed with exception {own.exception}") from own.exception
        return [own.payload]
    everybody: list[Any] = [None] * dist.get_world_size(pg)
    all_gather_object_enforce_type(pg, everybody, own)
    stage, text = everybody[0].stage_name, ""
    failed: list[tuple[int, Exception]] = []
    for rank, told in enumerate(everybody):
        if told.stage_name != stage:
            text += f"Unexpected stage name received from rank {rank}: {told.stage_name} "
        elif not told.success and told.exception is not None:
            failed.append((rank, told.exception))
    if failed:
        raise RuntimeError(text, failed) from failed[0][1]
    return [told.payload for told in everybody if told.stage_name == stage]


def all_gather_object_enforce_type(
    pg: Any,
    object_list: list[Any],
    obj: Any,
    type_checker: Callable[[Any, Any], bool] = lambda x, y: type(x) is type(y),
) -> None:
    """all_gather_object whose objects are all of the first one's type; TypeError where one is not."""
    dist.all_gather_object(object_list, obj, group=pg)
    for rank, found in enumerate(object_list):
        if not type_checker(object_list[0], found):
            raise TypeError(
                f"Object type at index {rank} is {type(found)}, while first object type is "
                f"{type(object_list[0])}"
            )
