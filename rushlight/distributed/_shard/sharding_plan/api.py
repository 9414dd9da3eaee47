"""Plans for shard_module()."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

from rushlight.distributed._shard.sharder import Sharder
from rushlight.distributed._shard.sharding_spec import ShardingSpec

__all__ = ["ShardingPlan", "ShardingPlanner"]


@dataclass
class ShardingPlan:
    """By name: how parameters are sharded, how modules' results are then, which give their shard alone."""

    plan: dict[str, ShardingSpec | Sharder]
    output_plan: dict[str, ShardingSpec] | None = None
    return_local_tensor: list[str] | None = None


class ShardingPlanner(abc.ABC):
    """Makes a plan for a module."""

    @abc.abstractmethod
    def build_plan(self, module: Any) -> ShardingPlan:
        """The plan."""
