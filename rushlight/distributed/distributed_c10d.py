"""PyTorch's name for the module of process groups: the names of torch.distributed, and some with _."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rushlight import distributed
from rushlight._engine.core.callers import warn
from rushlight._engine.names.alternatives import attribute
from rushlight.distributed.groups import default_group as _get_default_group, get_global_rank, world as _world


def _get_default_store() -> Any:
    """The store of the group of all ranks."""
    return _get_default_group().store


def _resolve_process_group(group_name: str) -> Any:
    """The group of a name. RuntimeError where there is none."""
    if group_name not in _world.groups:
        raise RuntimeError(f"Could not resolve the process group registered under the name {group_name}")
    return _world.groups[group_name]


def _get_global_rank(group: Any, rank: int) -> int:
    """distributed.get_global_rank's older name."""
    warn(
        "`torch.distributed.distributed_c10d._get_global_rank` is deprecated, "
        "please use `torch.distributed.distributed_c10d.get_global_rank` instead",
        FutureWarning,
    )
    return get_global_rank(group, rank)


def _get_process_group_store(pg: Any) -> Any:
    """A group's store."""
    return pg.store


def _get_pg_config(group: Any = None) -> dict[str, Any]:
    """A group's name, backends, size and ranks."""
    found = _get_default_group(group)
    return {
        "pg_name": found.group_name,
        "pg_desc": found.group_desc,
        "backend_config": distributed.get_backend_config(found),
        "pg_size": found.size(),
        "ranks": distributed.get_process_group_ranks(found),
    }


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is outside of a group."""
    return group is not None and group == distributed.GroupMember.NON_GROUP_MEMBER


def _store_based_barrier(
    rank: int,
    store: Any,
    group_name: str,
    rendezvous_count: int,
    timeout: timedelta,
    logging_interval: timedelta = timedelta(seconds=10),
) -> None:
    """Wait until `rendezvous_count` processes have come to a store. DistStoreError after the timeout."""
    key = f"store_based_barrier_key:{group_name}"
    if store.add(key, 1) == rendezvous_count:
        store.set(f"{key}:last_worker", "1")
    try:
        store.wait([f"{key}:last_worker"], timeout)
    except distributed.DistStoreError as error:
        raise distributed.DistStoreError(
            f"Timed out initializing process group in store based barrier on rank {rank}, for key: {key} "
            f"(world_size={rendezvous_count}, num_workers_joined={store.add(key, 0)}, timeout={timeout} "
            f"error={error})"
        ) from None


def __getattr__(name: str) -> Any:
    try:
        return getattr(distributed, name)
    except AttributeError:
        return attribute("rushlight.distributed.distributed_c10d", name)
