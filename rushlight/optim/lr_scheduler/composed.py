"""Schedulers of schedulers, and the one that watches a metric."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler, set_lr
from rushlight.optim.optimizer import Optimizer


def _check_same(schedulers: list[Any], optimizer: Any, name: str) -> None:
    if len(schedulers) < 1:
        chained = " to be chained" if name == "ChainedScheduler" else ""
        raise ValueError(f"{name} expects at least one scheduler{chained}, but got no scheduler.")
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau) and name == "SequentialLR":
            raise ValueError(
                "SequentialLR does not support `ReduceLROnPlateau` scheduler as it requires "
                "additional kwargs to be specified when calling `step`, but got one at "
                f"index {i} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got "
                f"scheduler {type(scheduler).__name__} at index {i} has "
                f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}."
            )


class SequentialLR(LRScheduler):
    """One scheduler after the other, changing at the milestones (numbers of steps, one fewer than
    schedulers).

    ValueError for another number of milestones, and for schedulers of other optimizers.
    """

    _parts = "_schedulers"

    def __init__(
        self, optimizer: Any, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _check_same(schedulers, optimizer, "SequentialLR")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got number of schedulers {len(schedulers)} and the number of "
                f"milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # Every scheduler has taken its first step when it was made: undo them, then the first's.
        for group in optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        for scheduler in schedulers:
            _undo(scheduler)
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Move on by one step."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo(scheduler: Any) -> None:
    if isinstance(scheduler, SequentialLR):
        for inner in scheduler._schedulers:
            _undo(inner)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(LRScheduler):
    """All schedulers at every step, each on the rates that the last one left. ValueError for two optimizers'
    schedulers.
    """

    _parts = "_schedulers"

    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        schedulers = list(schedulers)
        optimizer = schedulers[0].optimizer if optimizer is None and schedulers else optimizer
        _check_same(schedulers, optimizer, "ChainedScheduler")
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = self._rates()

    def step(self) -> None:
        """Move on by one step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


class ReduceLROnPlateau(LRScheduler):
    """The rate times factor (0.1) when a metric has not improved for `patience` (10) steps.

    mode: "min" or "max" is better. An improvement is by more than threshold, relative ("rel") or absolute
    ("abs"). cooldown: steps after a fall that do not count. min_lr: a rate, or one for each group; falls
    below eps are left out. ValueError for a factor of 1 or more.
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.factor, self.optimizer, self.patience = factor, optimizer, patience
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * count
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self._last_lr = self._rates()
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        """Note what an improvement is; ValueError for modes that there are not."""
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = float("inf") if mode == "min" else -float("inf")

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state_dict()."""
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Look at the metric, a number or a tensor of one element, and perhaps lower the rates."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _reduce_lr(self) -> None:
        for low, group in zip(self.min_lrs, self.optimizer.param_groups, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_lr(group, new)

    @property
    def in_cooldown(self) -> bool:
        """Whether the rates were lowered a short while ago."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        """is_better(), by which name older programs override it."""
        return self.is_better(a, best)

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` improves on `best` by the threshold."""
        gain = self.threshold if self.mode == "max" else -self.threshold
        wanted = best * (1 + gain) if self.threshold_mode == "rel" else best + gain
        return a > wanted if self.mode == "max" else a < wanted
