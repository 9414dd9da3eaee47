"""An optimizer of this rank's shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rushlight.distributed._shard.sharded_tensor import ShardedTensor
from rushlight.optim import Optimizer

__all__ = ["ShardedOptimizer"]


class ShardedOptimizer(Optimizer):
    """`optimizer_class` of the tensors that are named, of sharded ones of this rank's shards."""

    def __init__(
        self,
        named_params: Mapping[str, Any],
        optimizer_class: Any,
        *optimizer_args: Any,
        **optimizer_kwargs: Any,
    ) -> None:
        tensors: list[Any] = []
        for value in named_params.values():
            if isinstance(value, ShardedTensor):
                tensors += [shard.tensor for shard in value.local_shards()]
            else:
                tensors.append(value)
        self.named_params = named_params
        self._optim = optimizer_class(tensors, *optimizer_args, **optimizer_kwargs)
        self.param_groups = self._optim.param_groups
        self.state = self._optim.state

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Of the tensors."""
        self._optim.zero_grad(set_to_none)

    def step(self, closure: Any = None) -> Any:
        """Of the tensors."""
        return self._optim.step(closure)

    def state_dict(self) -> dict[str, Any]:
        """PyTorch has none either."""
        raise NotImplementedError("ShardedOptimizer state_dict not implemented yet!")

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """PyTorch has none either."""
        raise NotImplementedError("ShardedOptimizer load_state_dict not implemented yet!")

    def add_param_group(self, param_group: Any) -> None:
        """PyTorch has none either."""
        raise NotImplementedError("ShardedOptimizer add_param_group not implemented yet!")
