"""torch.optim.swa_utils: averages of weights, equal (arXiv:1803.05407) or exponential."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import rushlight
from rushlight._engine.autograd.grad_mode import no_grad
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nn import Module
from rushlight.nn.modules.batchnorm import _BatchNorm
from rushlight.optim import updates
from rushlight.optim.lr_scheduler import LRScheduler
from rushlight.optim.lr_scheduler.cyclic import _per_group, check_strategy

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _toward() -> updates.Formula:
    """From an average ("p") towards a current value ("g")."""
    (weight,) = updates.symbols("weight")
    return {"p": updates.lerp(updates.P, updates.G, weight)}


def _lerp(averaged: list[Tensor], current: list[Tensor], weight: float) -> None:
    """All averages towards the current values, in place; a native call for those of one dtype."""
    groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
    for a, c in zip(averaged, current, strict=True):
        fits = a.is_floating_point() and a.dtype is c.dtype and a.shape == c.shape and not a._kind.lazy
        groups.setdefault((a.dtype, a._kind.backend) if fits and a.device == c.device else None, []).append(
            (a, c)
        )
    for a, c in groups.pop(None, []):
        a.copy_(a + (c - a) * weight)
    for (_, home), pairs in groups.items():
        kernel = updates.kernel(_toward, (), (), False)
        arrays = [(a._array, c._array) for a, c in pairs]
        if home is None:
            kernel(arrays, [weight])
        else:
            home.run_step(kernel, arrays, [weight])
        updates.touch([a for a, _ in pairs])


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """f(averages, currents, n): averages in place to decay * average + (1 - decay) * current."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        _lerp(ema_param_list, current_param_list, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """f(averages, currents, n): averages of n values in place to those of n + 1."""

    @no_grad()
    def swa_update(
        averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any
    ) -> None:
        _lerp(averaged_param_list, current_param_list, float(1 / (num_averaged + 1)))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """f(average, current, n): decay * average + (1 - decay) * current."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """f(average, current, n): the average of n + 1 values from that of n."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds averages of its parameters (and, with use_buffers, buffers).

    avg_fn(average, current, n) gives a new average, multi_avg_fn(averages, currents, n) writes to lists
    of them; without either it is the equal average. n_averaged counts the updates.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", rushlight.tensor(0, dtype=rushlight.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model answers."""
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> list[Tensor]:
        buffers: Iterable[Tensor] = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in chain(model.parameters(), buffers)]

    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters into the averages."""
        mine, theirs = self._averaged(self.module), self._averaged(model)
        if self.n_averaged == 0:
            for a, c in zip(mine, theirs, strict=True):
                a.copy_(c)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(mine, theirs, self.n_averaged)
        elif self.avg_fn is None:
            _lerp(mine, theirs, 1 / (int(self.n_averaged) + 1))
        else:
            for a, c in zip(mine, theirs, strict=True):
                a.copy_(self.avg_fn(a, c, self.n_averaged))
        if not self.use_buffers:
            for a, c in zip(self.module.buffers(), model.buffers(), strict=True):
                a.detach().copy_(c.detach())
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch norms again, in one pass over the loader's batches.

    Of tuples and lists the first element is taken; `device`: where batches are moved first. The model trains
    meanwhile, and has its momenta and mode back at the end.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # of all batches alike
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the present rates to swa_lr (one, or one for each group) in anneal_epochs (10) steps, then
    constant.

    anneal_strategy: "cos" or "linear"; ValueError for others.
    """

    def __init__(
        self,
        optimizer: Any,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(_per_group(optimizer, swa_lr, "swa_lr"), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        check_strategy(anneal_strategy)
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        """The first rate, found back from the present one, which is `alpha` of the way to swa_lr."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        """Take the function of this name, from the share of steps to that of the way to swa_lr."""
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def _share(self, step: int) -> float:
        """How much of the way to swa_lr is done."""
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and the function."""
        return {name: value for name, value in super().state_dict().items() if name != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state_dict()."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)

    def get_lr(self) -> list[Any]:
        """One rate per group; the first rates are found back from the present ones."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target, lr = group["swa_lr"], group["lr"]
            first = self._get_initial_lr(lr, target, before)
            rates.append(target * now + first * (1 - now))
        return rates
