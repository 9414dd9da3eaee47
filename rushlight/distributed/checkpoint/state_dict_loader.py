"""load()."""

from __future__ import annotations

from typing import Any

import rushlight.distributed as dist
from rushlight._engine.core.callers import warn
from rushlight.distributed.checkpoint import planned
from rushlight.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *old: Any,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict from a checkpoint of any number of ranks; collective.

    Tensors and DTensors are written to in place, other values are put in their places; objects with
    load_state_dict() get theirs. CheckpointException on all ranks for a key that is missing, another shape, a
    damaged file.
    """
    if old:
        warn(
            "The argument order of load has been changed. "
            "Please check the document to avoid future breakages."
        )
        (storage_reader,) = old
    no_dist = planned.alone(no_dist, "load")
    reader = planned.storage(storage_reader, checkpoint_id, reader=True)
    planned.load_into(state_dict, reader, planner, process_group, no_dist)


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """load(), as it was once called."""
    warn(
        "'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' instead.",
        FutureWarning,
    )
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    planned.load(state_dict, storage_reader, planner, process_group, no_dist, coordinator_rank)


def _load_state_dict_from_keys(
    keys: Any = None, *, checkpoint_id: Any = None, storage_reader: Any = None, process_group: Any = None
) -> dict[str, Any]:
    """A new state dict with these keys of a checkpoint, or all; on this rank alone."""
    reader = planned.storage(storage_reader, checkpoint_id, reader=True)
    found: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner(keys={keys} if isinstance(keys, str) else keys)
    planned.load(found, reader, planner, process_group, not dist.is_initialized())
    return found
