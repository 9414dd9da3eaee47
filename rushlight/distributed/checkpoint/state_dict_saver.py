"""save() and async_save()."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any

import rushlight.distributed as dist
from rushlight._engine.core.callers import warn
from rushlight.distributed.checkpoint import planned
from rushlight.distributed.checkpoint.metadata import Metadata
from rushlight.distributed.checkpoint.staging import AsyncStager, DefaultStager, StagingOptions

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Who writes meanwhile. There are threads alone: a process would be sent all tensors first."""

    THREAD = "thread"
    PROCESS = "process"


def save(
    state_dict: dict[str, Any],
    *old: Any,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state dict, nested, with tensors, DTensors and other values; its metadata. Collective.

    A tensor that several ranks have is written once. Objects with state_dict() and load_state_dict() are
    asked for theirs. CheckpointException on all ranks where one fails. use_collectives=False: each rank
    writes by itself, with metadata of its own.
    """
    if old:
        warn(
            "The argument order of save has been changed. "
            "Please check the document to avoid future breakages."
        )
        (storage_writer,) = old
    no_dist = planned.alone(no_dist, "save")
    writer = planned.storage(storage_writer, checkpoint_id, reader=False)
    state_dict = planned.plain(state_dict)
    return planned.save(state_dict, writer, planner, process_group, no_dist, use_collectives=use_collectives)


@dataclass
class AsyncSaveResponse:
    """Futures of the copy and of what is written."""

    staging_completion: Future[None]
    upload_completion: Future[Any]


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any] | AsyncSaveResponse:
    """A future of save(), which writes a copy of the tensors as they are now.

    One process writes while it goes on computing; several write before it returns, since their messages would
    meet those of the training.
    """
    if async_stager is None and isinstance(storage_writer, AsyncStager):
        async_stager = storage_writer
    stager = async_stager or DefaultStager(StagingOptions(False, False, False, False))
    staged = stager.stage(planned.plain(state_dict))
    found: Future[Any] = Future()

    def run() -> None:
        try:
            found.set_result(
                save(
                    staged.result() if isinstance(staged, Future) else staged,
                    checkpoint_id=checkpoint_id,
                    storage_writer=storage_writer,
                    planner=planner,
                    process_group=process_group,
                    no_dist=no_dist,
                    use_collectives=use_collectives,
                )
            )
        except BaseException as error:
            found.set_exception(error)

    if dist.is_initialized() and not no_dist:
        run()
    else:
        threading.Thread(target=run, name="async_save").start()
    if isinstance(staged, Future):
        copied: Future[None] = Future()
        staged.add_done_callback(lambda done: _told(done, copied))
        return AsyncSaveResponse(copied, found)
    if stager.should_synchronize_after_execute:
        stager.synchronize_staging()
    return found


def _told(done: Future[Any], copied: Future[None]) -> None:
    """Say that a copy has been made, or why not."""
    error = done.exception()
    if error is None:
        copied.set_result(None)
    else:
        copied.set_exception(error)


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> Metadata:
    """save(), as it was once called."""
    warn(
        "'save_state_dict' is deprecated and will be removed in future versions.Please use 'save' instead.",
        FutureWarning,
    )
    storage_writer.reset()
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner)


def _save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
    use_collectives: bool = True,
) -> Metadata:
    return planned.save(
        state_dict, storage_writer, planner, process_group, no_dist, coordinator_rank, use_collectives
    )
