"""load()."""

from __future__ import annotations

import os
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.distributed.checkpoint import planned, saving
from rushlight.distributed.checkpoint.filesystem import FileSystemReader

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict from a checkpoint, PyTorch's or Rushlight's, of any number of ranks; collective.

    Tensors and DTensors are written to in place, other values are put in their places; objects with
    load_state_dict() get theirs. CheckpointException on all ranks for a key that is missing, another shape, a
    damaged file.
    """
    if storage_reader is None or type(storage_reader) is FileSystemReader:
        folder = saving._folder(checkpoint_id, storage_reader)
        own = os.path.exists(os.path.join(folder, saving.MANIFEST))
        if planner is None and (own or not os.path.exists(os.path.join(folder, ".metadata"))):
            saving.load(state_dict, checkpoint_id=folder, process_group=process_group, no_dist=no_dist)
            return
        storage_reader = FileSystemReader(folder)
    planned.load(state_dict, storage_reader, planner, checkpoint_id, process_group, no_dist)


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
    load(
        state_dict,
        storage_reader=storage_reader,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )
