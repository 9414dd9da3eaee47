"""save() and load() by planners and storages: plans go to the coordinator, which says what each rank does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from rushlight.distributed.checkpoint.metadata import Metadata
from rushlight.distributed.checkpoint.saving import _plain, _Together


class _Ranks:
    """The ranks that save or load together."""

    def __init__(self, group: Any, no_dist: bool) -> None:
        self.alone = no_dist or not dist.is_initialized()
        self.group = group
        self.rank = 0 if self.alone else dist.get_rank(group)
        self.size = 1 if self.alone else dist.get_world_size(group)
        self.first = self.rank == 0

    def together(self, doing: str) -> Any:
        """A context after which all ranks raise where one has failed."""
        return _Together(None if self.alone else self.group, doing)

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, on all of them."""
        if self.alone:
            return [value]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, value, group=self.group)
        return found

    def decide(self, values: list[Any], choose: Callable[[list[Any]], Any], doing: str) -> Any:
        """What the first rank makes of all ranks' values, on all ranks."""
        with self.together(doing):
            made = choose(values) if self.first else None
        return self.gather(made)[0]


def save(
    state_dict: dict[str, Any], writer: Any, planner: Any, checkpoint_id: Any, group: Any, no_dist: bool
) -> Metadata:
    """Write a state dict by a planner (DefaultSavePlanner) to a storage; its metadata. Collective."""
    ranks = _Ranks(group, no_dist)
    planner = DefaultSavePlanner() if planner is None else planner
    writer.reset(checkpoint_id)
    with ranks.together("save()"):
        planner.set_up_planner(
            _plain(state_dict), storage_meta=writer.storage_meta(), is_coordinator=ranks.first
        )
        writer.set_up_storage_writer(ranks.first)
        mine = writer.prepare_local_plan(planner.create_local_plan())

    def choose(plans: list[Any]) -> Any:
        plans, metadata = planner.create_global_plan(plans)
        return writer.prepare_global_plan(plans), metadata

    metadata: Metadata
    plans, metadata = ranks.decide(ranks.gather(mine), choose, "save()")
    with ranks.together("save()"):
        results = writer.write_data(planner.finish_plan(plans[ranks.rank]), planner)
        results = results.value() if hasattr(results, "value") else results.result()
    everything = ranks.gather(results)
    with ranks.together("save()"):
        if ranks.first:
            writer.finish(metadata, everything)
    return metadata


def load(
    state_dict: dict[str, Any], reader: Any, planner: Any, checkpoint_id: Any, group: Any, no_dist: bool
) -> None:
    """Fill a state dict by a planner (by default DefaultLoadPlanner) from a storage. Collective."""
    ranks = _Ranks(group, no_dist)
    planner = DefaultLoadPlanner() if planner is None else planner
    reader.reset(checkpoint_id)
    plain = _plain(state_dict)
    with ranks.together("load()"):
        metadata = reader.read_metadata()
        planner.set_up_planner(plain, metadata, ranks.first)
        reader.set_up_storage_reader(metadata, ranks.first)
        mine = reader.prepare_local_plan(planner.create_local_plan())

    def choose(plans: list[Any]) -> Any:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    plans = ranks.decide(ranks.gather(mine), choose, "load()")
    with ranks.together("load()"), torch.no_grad():
        reader.read_data(planner.finish_plan(plans[ranks.rank]), planner).wait()
        for name, value in plain.items():
            if hasattr(state_dict[name], "load_state_dict"):
                state_dict[name].load_state_dict(value)
            else:
                state_dict[name] = value
