"""Which parameters of a module are sharded how."""

from rushlight.distributed._shard.sharding_plan.api import ShardingPlan, ShardingPlanner

__all__ = ["ShardingPlan", "ShardingPlanner"]
