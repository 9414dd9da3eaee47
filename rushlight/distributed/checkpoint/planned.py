"""save() and load() by planners and storages: plans go to the coordinator, which says what each rank does."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from inspect import signature
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.callers import warn
from rushlight.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from rushlight.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from rushlight.distributed.checkpoint.metadata import Metadata
from rushlight.distributed.checkpoint.utils import _DistWrapper


def storage(given: Any, checkpoint_id: Any, reader: bool) -> Any:
    """The storage that is given, or one for where `checkpoint_id` says."""
    if given is not None:
        if checkpoint_id is not None:
            given.reset(checkpoint_id)
        return given
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    for kind in _kinds(reader):
        if kind.validate_checkpoint_id(checkpoint_id):
            made = kind(checkpoint_id)
            made.reset(checkpoint_id)
            return made
    raise RuntimeError(
        "Cannot detect which StorageReader or StorageWriter to use. Please specify the "
        "storage_reader/storage_writer."
    )


def _kinds(reader: bool) -> Iterator[Any]:
    """The storages that may know a place, most likely first."""
    yield FileSystemReader if reader else FileSystemWriter
    if find_spec("fsspec"):
        from rushlight.distributed.checkpoint import _fsspec_filesystem as fsspec_files  # not everywhere

        yield fsspec_files.FsspecReader if reader else fsspec_files.FsspecWriter


def alone(no_dist: bool, doing: str) -> bool:
    """Whether this process saves or loads by itself, and says so."""
    if no_dist or not dist.is_initialized():
        warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to "
            f"{doing} in a single process."
        )
        return True
    return False


def _stateful(value: Any) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def plain(state: dict[str, Any]) -> dict[str, Any]:
    """The state dict; of objects that have one, theirs."""
    return {k: v.state_dict() if _stateful(v) else v for k, v in state.items()}


def save(
    state_dict: dict[str, Any],
    writer: Any,
    planner: Any,
    group: Any,
    no_dist: bool,
    coordinator: int = 0,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state dict by a planner (DefaultSavePlanner) to a storage; its metadata. Collective."""
    ranks = _DistWrapper(group, not no_dist, coordinator)
    planner = DefaultSavePlanner() if planner is None else planner
    written: list[Any] = []

    def plan() -> Any:
        if "storage_meta" in signature(planner.set_up_planner).parameters:
            planner.set_up_planner(
                state_dict=state_dict,
                storage_meta=writer.storage_meta(),
                is_coordinator=ranks.is_coordinator,
            )
        else:
            warn(
                "The function definition for SavePlanner.set_up_planner has been updated to include the "
                "storage_meta argument. Please update your implementation to include this parameter."
            )
            planner.set_up_planner(state_dict, ranks.is_coordinator)
        _set_up(writer.set_up_storage_writer, ranks, use_collectives)
        return writer.prepare_local_plan(planner.create_local_plan())

    def choose(plans: list[Any]) -> Any:
        plans, metadata = planner.create_global_plan(plans)
        written.append(metadata)
        return writer.prepare_global_plan(plans)

    def finish(results: list[Any]) -> Any:
        writer.finish(metadata=written[0], results=results)
        return written[0]

    def write(central: Any) -> Any:
        found = writer.write_data(planner.finish_plan(central), planner)
        found.wait()
        return found.value()

    def by_itself() -> None:
        finish([write(choose([plan()])[0])])

    metadata: Metadata
    if use_collectives:
        central = ranks.reduce_scatter("plan", plan, choose)
        metadata = ranks.all_reduce("write", lambda: write(central), finish)
    else:  # who fails tells the others, which wait
        ranks.all_gather("write", by_itself)
        metadata = written[0]
    return metadata


def _set_up(function: Any, ranks: _DistWrapper, use_collectives: bool, *before: Any) -> None:
    """Tell a storage which rank it is of, if it takes that."""
    more = {"rank": ranks.rank, "use_collectives": use_collectives}
    if "kwargs" in signature(function).parameters:
        function(*before, ranks.is_coordinator, **more)
    else:
        function(*before, ranks.is_coordinator)


def _metadata(reader: Any, ranks: _DistWrapper) -> tuple[Metadata, bool]:
    """(the metadata, whether it is that of all ranks); a rank's own where there is no other."""
    told = ["metadata is None"]
    try:
        return reader.read_metadata(), True
    except Exception as error:
        told.append(f"global metadata read failed: {error}")
    if "kwargs" in signature(reader.read_metadata).parameters:
        try:
            return reader.read_metadata(rank=ranks.rank), False
        except Exception as error:
            told.append(f"rank local metadata read failed: {error}")
    raise AssertionError("; ".join(told))


def load(
    state_dict: dict[str, Any], reader: Any, planner: Any, group: Any, no_dist: bool, coordinator: int = 0
) -> None:
    """Fill a state dict by a planner (by default DefaultLoadPlanner) from a storage. Collective."""
    ranks = _DistWrapper(group, not no_dist, coordinator)
    planner = DefaultLoadPlanner() if planner is None else planner

    def plan() -> Any:
        metadata, whole = _metadata(reader, ranks)
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        _set_up(reader.set_up_storage_reader, ranks, whole, metadata)
        return reader.prepare_local_plan(planner.create_local_plan())

    def choose(plans: list[Any]) -> Any:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    central = ranks.reduce_scatter("plan", plan, choose)

    def read() -> None:
        with torch.no_grad():
            reader.read_data(planner.finish_plan(central), planner).wait()

    ranks.all_gather("read", read)


def load_into(state_dict: dict[str, Any], reader: Any, planner: Any, group: Any, no_dist: bool) -> None:
    """load() into a state dict that may have objects with a state dict of their own."""
    found = {key: value for key, value in sorted(plain(state_dict).items())}
    load(found, reader, planner, group, no_dist)
    for key, value in found.items():
        if _stateful(state_dict[key]):
            state_dict[key].load_state_dict(value)
        else:
            state_dict[key] = value
