"""ZeroRedundancyOptimizer: each rank keeps the optimizer's state of its part of the parameters
(arXiv:1910.02054).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.pytree import tree_map
from rushlight.distributed.algorithms.join import Joinable, JoinHook
from rushlight.optim.optimizer import Optimizer, _cast

__all__ = ["ZeroRedundancyOptimizer"]


class _ZeroJoinHook(JoinHook):
    """A rank without inputs goes on taking part in the steps."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """`optimizer_class(params, **defaults)`, whose state lies spread over the ranks of `process_group`.

    Each parameter belongs to one rank, so that the ranks have about the same number of elements; step()
    updates a rank's own parameters (`optim` does it), then each rank gives its to the others. Every rank is
    to have all gradients, as DistributedDataParallel brings them. parameters_as_bucket_view changes nothing
    but the memory in PyTorch, and nothing here.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise RuntimeError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True is not there; without it the "
                "step follows the backward, with the same numbers"
            )
        Joinable.__init__(self)
        self._made = False
        self.optim: Any
        self.process_group: Any = dist.group.WORLD if process_group is None else process_group
        self.world_size = dist.get_world_size(self.process_group)
        self.rank = dist.get_rank(self.process_group)
        self.global_rank = dist.get_rank()
        self.parameters_as_bucket_view, self._overlap_with_ddp = parameters_as_bucket_view, False
        self._optim_defaults, self._optim_constructor = defaults, optimizer_class
        self._all_state_dicts: list[dict[str, Any]] = []
        params = _checked(params)
        Optimizer.__init__(self, params, defaults)
        self._made = True
        self._divide()

    # --- who has what ----------------------------------------------------------------------------

    def _divide(self) -> None:
        """Give each parameter to a rank, the largest ones first to whoever has least; make this rank's
        optimizer, which keeps what state it had.
        """
        sizes = [0] * self.world_size
        self._parts: list[list[dict[str, Any]]] = [[] for _ in sizes]
        self._owner: dict[int, int] = {}
        for group in self.param_groups:
            mine: list[list[Any]] = [[] for _ in sizes]
            for param in sorted(group["params"], key=_numel, reverse=True):
                rank = sizes.index(min(sizes))
                mine[rank].append(param)
                sizes[rank] += param.numel()
                self._owner[id(param)] = rank
            for part, held in zip(self._parts, mine, strict=True):
                part.append({**group, "params": held})
        before = self.optim.state if hasattr(self, "optim") else {}
        self.optim = self._optim_constructor(self._parts[self.rank], **self._optim_defaults)
        self.optim.state.update(before)
        _copy_options(self.optim.param_groups, self.param_groups)

    def _partition_parameters(self) -> list[list[dict[str, Any]]]:
        return self._parts

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; its parameters are given to ranks as well."""
        super().add_param_group(param_group)
        if self._made:
            self._divide()

    # --- steps -----------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """One step of this rank's part; then all ranks have all new parameters. Collective. What the closure
        returned, or None.
        """
        # few programs join uneven inputs
        from rushlight.distributed.algorithms.join import Join

        Join.notify_join_context(self)
        _copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        works = []
        for rank, part in enumerate(self._parts):
            sender = dist.get_global_rank(self.process_group, rank)
            for group in part:
                for param in group["params"]:
                    works.append(
                        dist.broadcast(param.detach(), sender, group=self.process_group, async_op=True)
                    )
        for work in works:
            if work is not None:
                work.wait()
        _copy_options(self.optim.param_groups, self.param_groups)
        return loss

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a Join: a rank without inputs steps with the others."""
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The group of ranks."""
        return self.process_group

    # --- checkpoints -----------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the state of all ranks to rank `to`, whose state_dict() then has all; collective."""
        _copy_options(self.param_groups, self.optim.param_groups)
        mine = tree_map(_on_cpu, self.optim.state_dict())
        found: Any = [None] * self.world_size if self.rank == to else None
        target = dist.get_global_rank(self.process_group, to)
        dist.gather_object(mine, found, target, group=self.process_group)
        self._all_state_dicts = found or []

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the plain optimizer's. RuntimeError where consolidate_state_dict() has not
        brought it to this rank.
        """
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.global_rank})` on all ranks beforehand if "
                "you meant to save the global state."
            )
        whole = super().state_dict()
        number = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        for part, local in zip(self._parts, self._all_state_dicts, strict=True):
            held = [p for group in part for p in group["params"]]
            for place, param in enumerate(held):
                if place in local["state"]:
                    whole["state"][number[id(param)]] = local["state"][place]
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back a whole state, of this optimizer or of the plain one; each rank keeps its part."""
        params = [p for group in self.param_groups for p in group["params"]]
        process = self._process_value_according_to_param_policy
        for place, state in state_dict["state"].items():
            param = params[place]
            if self._owner[id(param)] == self.rank:
                self.optim.state[param] = _cast(process, param, state, place, state_dict["param_groups"])
        super().load_state_dict({**state_dict, "state": {}})
        _copy_options(self.param_groups, self.optim.param_groups)


def _checked(params: Any) -> list[Any]:
    """The parameters, or groups of them, as a list; errors in PyTorch's words."""
    if isinstance(params, torch.Tensor):
        raise TypeError("`params` argument should be an iterable of Tensors, but got torch.FloatTensor")
    try:
        listed: list[Any] = list(params)
    except TypeError:
        raise TypeError(
            f"`params` argument should be an iterable of Tensors or dicts, but got {type(params)}"
        ) from None
    if not listed:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not (all(isinstance(p, torch.Tensor) for p in listed) or all(isinstance(p, dict) for p in listed)):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    return listed


def _numel(param: Any) -> int:
    return int(param.numel())


def _on_cpu(value: Any) -> Any:
    return value.cpu() if isinstance(value, torch.Tensor) else value


def _copy_options(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
    """Learning rates and all else that groups say."""
    for one, other in zip(source, target, strict=True):
        other.update({k: v for k, v in one.items() if k != "params"})
