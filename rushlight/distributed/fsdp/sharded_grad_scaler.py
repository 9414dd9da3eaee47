"""Loss scaling where each rank holds a part of the gradients (torch.distributed.fsdp.sharded_grad_scaler)."""

from __future__ import annotations

from typing import Any

import rushlight.distributed as dist
from rushlight.amp.grad_scaler import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A GradScaler whose ranks leave a step out together: where one rank's part of the gradients holds inf or
    nan, all know it. The ranks are those of `process_group`, by default all.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(
            device,
            init_scale=init_scale,
            backoff_factor=backoff_factor,
            growth_factor=growth_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        if self._enabled:
            self.process_group = dist.group.WORLD if process_group is None else process_group

    def unscale_(self, optimizer: Any) -> None:
        """GradScaler's, then the ranks agree on whether all gradients are finite; collective."""
        if not self._enabled:
            return
        super().unscale_(optimizer)
        self._agree(self._per_optimizer_states[id(optimizer)]["found_inf_per_device"])

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        found = super()._check_inf_per_device(optimizer)
        self._agree(found)
        return found

    def _agree(self, found: dict[Any, Any]) -> None:
        for one in found.values():
            dist.all_reduce(one, dist.ReduceOp.MAX, group=self.process_group)
