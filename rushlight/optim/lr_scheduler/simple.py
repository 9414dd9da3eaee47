"""Schedulers of one formula, in their chainable form (each step from the last rate)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rushlight.optim.lr_scheduler.base import LRScheduler


class _Factors(LRScheduler):
    """Schedulers by functions of the epoch: one for all groups, or one for each."""

    _only_here = True
    _parts = "lr_lambdas"
    _refuses = False  # what cannot be called

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        if several and len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda) if several else [lr_lambda] * count
        for f in self.lr_lambdas if self._refuses else ():
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, last_epoch)


class LambdaLR(_Factors):
    """initial_lr * lr_lambda(epoch). lr_lambda: a function, or a list with one for each group (ValueError for
    others).
    """

    def get_lr(self) -> list[Any]:
        """One rate per group."""
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Factors):
    """The last rate * lr_lambda(epoch). lr_lambda: a function, or a list with one for each group."""

    _refuses = True

    def get_lr(self) -> list[Any]:
        """One rate per group."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [
            group["lr"] * f(self.last_epoch)
            for f, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class _Scaled(LRScheduler):
    """Schedulers that scale the rates of all groups alike."""

    _only_here = True

    def _factor(self) -> float | None:
        """What the last rates are multiplied by at this epoch; None: they stay."""
        raise NotImplementedError

    def _share(self) -> float:
        """What is left of the initial rates at this epoch."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """One rate per group."""
        self._warn_outside_step()
        factor = self._factor()
        if factor is None:
            return self._rates()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self._share() for base in self.base_lrs]


class StepLR(_Scaled):
    """The rate times gamma (0.1) after every step_size steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else None

    def _share(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_Scaled):
    """The rate times gamma (0.1) at each milestone, a number of steps; twice at one that is listed twice."""

    def __init__(
        self, optimizer: Any, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        here = self.milestones.get(self.last_epoch)
        return None if here is None else self.gamma**here

    def _share(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_Scaled):
    """The initial rate times factor (1/3) for total_iters (5) steps, then the initial rate."""

    def __init__(
        self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _share(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_Scaled):
    """The initial rate times a factor that goes from start_factor (1/3) to end_factor (1) in total_iters (5)
    steps.
    """

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _share(self) -> float:
        done = min(self.total_iters, self.last_epoch)
        return self.start_factor + (self.end_factor - self.start_factor) * done / self.total_iters


class ExponentialLR(_Scaled):
    """The rate times gamma at every step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _share(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_Scaled):
    """initial_lr * (1 - step / total_iters)^power; 0 from total_iters (5) on."""

    def __init__(
        self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        now, before = self.last_epoch / self.total_iters, (self.last_epoch - 1) / self.total_iters
        return float(((1.0 - now) / (1.0 - before)) ** self.power)

    def _share(self) -> float:
        return float((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)
