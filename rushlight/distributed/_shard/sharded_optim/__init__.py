"""Optimizers of sharded tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rushlight.distributed._shard.sharded_optim.api import ShardedOptimizer
from rushlight.distributed._shard.sharded_tensor import ShardedTensor

__all__ = ["ShardedOptimizer", "named_params_with_sharded_tensor"]


def named_params_with_sharded_tensor(
    module: Any, prefix: str = "", recurse: bool = True
) -> Iterator[tuple[str, Any]]:
    """A module's parameters, and before them the sharded tensors that are its attributes."""
    seen = set()
    for path, inner in module.named_modules(prefix=prefix) if recurse else [(prefix, module)]:
        for name, value in vars(inner).items():
            if isinstance(value, ShardedTensor) and value not in seen:
                seen.add(value)
                yield f"{path}.{name}" if path else name, value
    yield from module.named_parameters()
