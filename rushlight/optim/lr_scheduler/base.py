"""The base of all schedulers: when to step, what to keep, the warnings about order."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import ref

from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import replayed
from rushlight._engine.lazy import all_subclasses
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from "
    "None, the closed form is used instead of the new chainable form, where available. Please open an issue "
    "if you are unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)


def copy_lr(value: Any) -> Any:
    """A learning rate that later in-place writes do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def set_lr(group: dict[str, Any], value: Any) -> None:
    """Give a parameter group its learning rate; a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(value))
    else:
        group["lr"] = value


def state_of(part: Any) -> Any:
    """What is saved of a scheduler, or of an object that is called; None for plain functions (and None)."""
    if part is None or isinstance(part, types.FunctionType):
        return None
    return part.__dict__.copy() if callable(part) else part.state_dict()


class LRScheduler:
    """The base of all schedulers: subclass with get_lr(), which gives one rate per parameter group for
    `last_epoch`.

    Making one is its first step. Call step() after optimizer.step(), after each epoch or batch as the
    schedule counts; a warning says where the order is wrong. last_epoch: where to go on, -1 for the
    beginning; KeyError if the groups have no "initial_lr" then.
    """

    __subclasses__ = all_subclasses("rushlight.optim.lr_scheduler")
    _is_initial = False
    _parts = ""  # the attribute that lists schedulers or functions, which may have states of their own

    # Whether get_lr() is called by step(), as get_lr() of subclasses asks.
    _get_lr_called_within_step: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copy_lr(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler "
                        "with last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume "
                        "training from a checkpoint but haven't properly loaded the optimizer state\n2. "
                        "You're using last_epoch >= 0 for a fresh training run (not recommended)"
                    )
        self.base_lrs = [copy_lr(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _count_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and plain functions; schedulers as their own states."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", self._parts)}
        if self._parts:
            state[self._parts] = [*map(state_of, getattr(self, self._parts))]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state_dict()."""
        rest = dict(state_dict)
        saved = rest.pop(self._parts) if self._parts else ()
        self.__dict__.update(rest)
        for part, state in zip(getattr(self, self._parts, ()), saved, strict=True):
            if not callable(part):
                part.load_state_dict(state)
            elif state is not None:
                part.__dict__.update(state)

    def get_last_lr(self) -> list[Any]:
        """The rates that are in force, one per parameter group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of `last_epoch`, one per parameter group; step() calls it."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr()")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
            )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            setattr(cls, "step", replayed(cls.__dict__["step"]))

    @replayed
    def step(self, epoch: int | None = None) -> None:
        """Move on by one step and set the optimizer's rates; `epoch` (deprecated) goes to that one."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
                "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
                "later, you should call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value "
                "of the learning rate schedule. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set_rates(self.get_lr if closed is None else closed)

    def _set_rates(self, rates: Callable[[], list[Any]]) -> None:
        self._get_lr_called_within_step = True
        try:
            values = rates()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_lr(group, lr)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [copy_lr(group["lr"]) for group in self.optimizer.param_groups]


def _count_steps(optimizer: Any) -> None:
    """Note on the optimizer that step() has been called, for the warning about order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # No bound method: the optimizer would hold itself, and live until garbage is collected.
    reference, inner = ref(optimizer), optimizer.step.__func__

    @wraps(inner)
    def step(*args: Any, **kwargs: Any) -> Any:
        held: Any = reference()
        held._opt_called = True
        return inner(held, *args, **kwargs)

    setattr(step, "_wrapped_by_lr_sched", True)
    optimizer.step = step


_LRScheduler = LRScheduler
