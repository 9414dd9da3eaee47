"""Hooks that take the place of DistributedDataParallel's all-reduce."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from rushlight.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    powerSGD_hook,
)

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class _Registering:
    """Registers a hook with a model; `rank` says that it is one of PowerSGD's."""

    def __init__(self, hook: Callable[..., Any], rank: int = 0) -> None:
        self.hook, self.rank = hook, rank

    def __call__(self, model: Any, state: Any = None, start_powerSGD_iter: int = 1_000) -> None:
        if self.rank:
            state = powerSGD_hook.PowerSGDState(state, self.rank, start_powerSGD_iter)
        model.register_comm_hook(state, self.hook)


class DDPCommHookType(Enum):
    """Hooks by name: `DDPCommHookType.FP16_COMPRESS.value(model=model, state=group)` registers one."""

    ALLREDUCE = _Registering(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Registering(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Registering(default_hooks.bf16_compress_hook)
    POWER_SGD = _Registering(powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = _Registering(powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = _Registering(powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = _Registering(powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = _Registering(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Let a DDP model communicate by a hook; state: its state, for PowerSGD the process group or None."""
    comm_hook_type.value(model=model, state=state)
