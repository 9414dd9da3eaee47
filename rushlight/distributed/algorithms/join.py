"""Training with uneven inputs: a rank that has none left shadows the others' communication."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.callers import warn


class JoinHook:
    """What a rank does after it has joined; subclass it."""

    def main_hook(self) -> None:
        """Shadow one iteration of the ranks that have not joined."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Run when all have joined."""


class _JoinConfig(NamedTuple):
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """What can take part in a Join: it calls Join.notify_join_context(self) before each iteration's
    communication.
    """

    @abstractmethod
    def __init__(self) -> None:
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a Join with these options."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors that are exchanged."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of ranks."""


class Join:
    """A context in which ranks have different numbers of iterations.

    `joinables` in order; `enable=False` switches it off; with `throw_on_early_termination` all ranks raise
    RuntimeError as soon as one has no inputs left. kwargs go to the joinables' hooks.
    ValueError: no joinable, or joinables of different groups.
    """

    def __init__(
        self,
        joinables: list[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [j.join_process_group for j in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        for number, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)
        self._group, self._device = groups[0], joinables[0].join_device

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if not self._enable or kind:
            return
        last, iterations = True, 0
        while self._sum(0):
            if self._throw:
                self._sum(1)
                raise RuntimeError(f"Rank {dist.get_rank(self._group)} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            last, iterations = False, iterations + 1
            if iterations == 1000:
                warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{dist.get_rank(self._group)} has at least 1000 fewer inputs than other "
                    "currently-active ranks. This level of skew could lead to performance "
                    "degradation during training."
                )
        for hook in self._hooks:
            hook.post_hook(last)

    def _sum(self, mine: int) -> float:
        return _all_reduce(mine, self._device, self._group)[0].item()

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Tell the ranks that have joined that this one has not; the Work that counts such ranks, or None."""
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = _all_reduce(1, device, group, async_op=True)[1]
        if config.throw_on_early_termination and _all_reduce(0, device, group)[0].item():
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _all_reduce(number: int, device: Any, group: Any, async_op: bool = False) -> tuple[torch.Tensor, Any]:
    counted = torch.full((1,), float(number), device=device)
    return counted, dist.all_reduce(counted, group=group, async_op=async_op)
