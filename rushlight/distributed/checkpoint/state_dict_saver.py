"""save() and async_save()."""

from __future__ import annotations

import threading
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import tree_map
from rushlight.distributed.checkpoint import planned, saving
from rushlight.distributed.checkpoint.filesystem import FileSystemWriter
from rushlight.distributed.checkpoint.metadata import Metadata
from rushlight.distributed.communication.work import Future

__all__ = ["async_save", "save", "save_state_dict"]


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata | None:
    """Write a state dict, nested, with tensors and DTensors; collective.

    Without a planner and to a folder, it is Rushlight's form, which is replaced as a whole: values are what
    JSON can say. With a planner or another storage it is PyTorch's form, and the metadata is returned.
    A tensor that several ranks have is written once. Objects with state_dict() are asked for theirs.
    CheckpointException on all ranks where one fails.
    """
    plain = storage_writer is None or type(storage_writer) is FileSystemWriter
    if planner is None and plain:
        saving.save(
            state_dict,
            checkpoint_id=checkpoint_id,
            storage_writer=storage_writer,
            process_group=process_group,
            no_dist=no_dist,
        )
        return None
    if storage_writer is None:
        storage_writer = FileSystemWriter(saving._folder(checkpoint_id, None))
    return planned.save(state_dict, storage_writer, planner, checkpoint_id, process_group, no_dist)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    **options: Any,
) -> Future:
    """A future of save(), which writes a copy of the tensors as they are now.

    One process writes while it goes on computing; several write before it returns, since their messages would
    meet those of the training.
    """
    found = Future()
    state_dict = tree_map(_copied, saving._plain(state_dict))

    def run() -> None:
        try:
            found.set_result(
                save(
                    state_dict,
                    checkpoint_id=checkpoint_id,
                    storage_writer=storage_writer,
                    planner=planner,
                    process_group=process_group,
                )
            )
        except Exception as error:
            found.set_exception(error)

    if dist.is_initialized():
        run()
    else:
        threading.Thread(target=run, name="async_save").start()
    return found


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> Any:
    """save(), as it was once called."""
    warn(
        "'save_state_dict' is deprecated and will be removed in future versions.Please use 'save' instead.",
        FutureWarning,
    )
    return save(
        state_dict,
        storage_writer=storage_writer,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )
