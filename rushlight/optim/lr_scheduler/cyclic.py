"""Cyclic rates (arXiv:1506.01186) and the one-cycle policy (arXiv:1708.07120)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from rushlight.optim.lr_scheduler.base import LRScheduler, copy_lr, set_lr, state_of


def _per_group(optimizer: Any, value: Any, name: str) -> list[Any]:
    if isinstance(value, (list, tuple)):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has "
                f"{len(value)} values, param_groups has {len(optimizer.param_groups)}."
            )
        return [copy_lr(one) for one in value]
    return [copy_lr(value) for _ in optimizer.param_groups]


def check_strategy(name: str) -> None:
    """ValueError for a name that is no way to anneal."""
    if name not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {name}")


class _Momenta(LRScheduler):
    """Schedulers that move the momentum (or beta1) against the rate."""

    _only_here = True
    use_beta1: bool  # whether the momentum is the first of `betas`

    def _take_momentum(self, base: Any, top: Any, last_epoch: int) -> None:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch != -1:
            return
        for group, high, low in zip(
            optimizer.param_groups,
            _per_group(optimizer, top, "max_momentum"),
            _per_group(optimizer, base, "base_momentum"),
            strict=True,
        ):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class OneCycleLR(_Momenta):
    """Up from max_lr / div_factor (25) to max_lr, then down to that over final_div_factor (1e4)
    (arXiv:1708.07120).

    The rise takes the share pct_start (0.3) of total_steps, or of epochs * steps_per_epoch. three_phase: down
    as far as up first. anneal_strategy: "cos" or "linear". cycle_momentum: momentum (or beta1) goes the other
    way, between max_momentum and base_momentum. Call step() after each batch; ValueError after total_steps.
    """

    def __init__(
        self,
        optimizer: Any,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_strategy(anneal_strategy)
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = self._phases(pct_start, three_phase)
        if last_epoch == -1:
            for group, top in zip(
                optimizer.param_groups, _per_group(optimizer, max_lr, "max_lr"), strict=True
            ):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._take_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
        total, low, high = self.total_steps, "base_momentum", "max_momentum"
        rows = [
            (float(pct_start * total) - 1, "initial_lr", "max_lr", high, low),
            (float(2 * pct_start * total) - 2, "max_lr", "initial_lr", low, high),
            (total - 1, "initial_lr", "min_lr", high, high),
        ]
        if not three_phase:
            rows[1:] = [(total - 1, "max_lr", "min_lr", low, high)]
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        return [dict(zip(names, row, strict=True)) for row in rows]

    @staticmethod
    def _annealing_cos(start: float, end: float, pct: float) -> float:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: float, end: float, pct: float) -> float:
        return (end - start) * pct + start

    def _anneal_func(self, start: float, end: float, pct: float) -> float:
        own = self.__dict__
        kind = own.get("_anneal_func_type")
        if kind is None:  # a state of old brought the function itself
            return float(own["anneal_func"](start, end, pct))
        return (self._annealing_cos if kind == "cos" else self._annealing_linear)(start, end, pct)

    def get_lr(self) -> list[Any]:
        """One rate per group; sets the groups' momenta as well."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        anneal = self._anneal_func
        values = []
        for group in self.optimizer.param_groups:
            start = 0.0
            for i, phase in enumerate(self._schedule_phases):
                end = phase["end_step"]
                if step <= end or i == len(self._schedule_phases) - 1:
                    part = (step - start) / (end - start)
                    break
                start = end
            values.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self._set_momentum(group, momentum)
        return values


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    given: dict[str, Any] = {"total_steps": total_steps}
    if total_steps is None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if None in given.values():
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


class CyclicLR(_Momenta):
    """Up and down between base_lr and max_lr, in step_size_up (2000) and step_size_down steps
    (arXiv:1506.01186).

    mode: "triangular"; "triangular2" halves each cycle's height; "exp_range" scales it by gamma^step; or a
    scale_fn of one's own. cycle_momentum: the momentum goes the other way. Call step() after each batch.
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        lows = _per_group(optimizer, base_lr, "base_lr")
        if last_epoch == -1:
            for low, group in zip(lows, optimizer.param_groups, strict=True):
                set_lr(group, low)
        self.max_lrs = _per_group(optimizer, max_lr, "max_lr")
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums = _per_group(optimizer, base_momentum, "base_momentum")
            self.max_momentums = _per_group(optimizer, max_momentum, "max_momentum")
            self._take_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """How far a cycle (or step) x may rise, from 0 to 1."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return self._scale_fn_ref(x)

    def _init_scale_fn(self) -> None:
        """Take the mode's own scale function, unless there is one of the program's own."""
        if self._scale_fn_custom is not None:
            return
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"
        self._scale_fn_ref: Callable[[float], float] = {
            "triangular": self._triangular_scale_fn,
            "triangular2": self._triangular2_scale_fn,
        }.get(self.mode) or partial(self._exp_range_scale_fn, self.gamma)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return float(1 / (2.0 ** (x - 1)))

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return float(gamma**x)

    def get_lr(self) -> list[Any]:
        """One rate per group; sets the groups' momenta as well."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [
            low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * scale)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a plain scale function."""
        state = {**super().state_dict(), "_scale_fn_custom": state_of(self._scale_fn_custom)}
        state.pop("_scale_fn_ref", None)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state_dict()."""
        saved = state_dict.get("_scale_fn_custom")
        super().load_state_dict({**state_dict, "_scale_fn_custom": self._scale_fn_custom})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self._init_scale_fn()
