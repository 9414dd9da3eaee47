"""PyTorch's name for the module of process groups: the names of torch.distributed, and some with _."""

from __future__ import annotations

from typing import Any

from rushlight import distributed
from rushlight._engine.core.callers import warn
from rushlight._engine.names.alternatives import attribute
from rushlight.distributed.groups import default_group as _get_default_group, get_global_rank, world as _world

__all__ = ["_get_default_group", "_get_default_store", "_world"]


def _get_default_store() -> Any:
    """The store of the group of all ranks."""
    return _get_default_group().store


def _get_global_rank(group: Any, rank: int) -> int:
    """distributed.get_global_rank's older name."""
    warn(
        "`torch.distributed.distributed_c10d._get_global_rank` is deprecated, "
        "please use `torch.distributed.distributed_c10d.get_global_rank` instead",
        FutureWarning,
    )
    return get_global_rank(group, rank)


def __getattr__(name: str) -> Any:
    try:
        return getattr(distributed, name)
    except AttributeError:
        return attribute("rushlight.distributed.distributed_c10d", name)
