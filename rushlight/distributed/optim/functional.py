"""Optimizers that are handed gradients: steps of one parameter by its gradient, as a backward hook has it.

What distributed training steps by where gradients are not in `.grad`. Each is one of torch.optim, with
its defaults but lr of some; its state is kept for each parameter that has had a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.adadelta import Adadelta
from rushlight.optim.adagrad import Adagrad
from rushlight.optim.adam import Adam, AdamW
from rushlight.optim.adamax import Adamax
from rushlight.optim.optimizer import Optimizer
from rushlight.optim.rmsprop import RMSprop
from rushlight.optim.rprop import Rprop
from rushlight.optim.sgd import SGD

__all__: list[str] = []


class _Functional:
    """An optimizer without parameters of its own: it steps those that it is given, or those of `params`."""

    _of: type[Optimizer]
    _differing: dict[str, Any] = {}  # defaults that are not the optimizer's

    def __init__(
        self, params: list[Tensor], *args: Any, _allow_empty_param_list: bool = False, **kwargs: Any
    ) -> None:
        if not params and not _allow_empty_param_list:
            raise ValueError("optimizer got an empty parameter list")
        given = kwargs if args else {**self._differing, **kwargs}
        self._steps = self._of([Tensor([0.0])], *args, **given)
        self.defaults = {k: v for k, v in self._steps.defaults.items() if k != "params"}
        (self._group,) = self._steps.param_groups
        self._steps.state.clear()
        self.param_group = {"params": params}
        self.state = self._steps.state

    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """A step of one parameter by this gradient; nothing where there is none."""
        self._step([param], [grad])

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """A step of all parameters, each by its gradient; ValueError for more or fewer gradients."""
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError(
                "the gradients passed in does not equal to the size of the parameters!"
                f"Params length: {len(params)}. Gradients length: {len(gradients)}"
            )
        self._step(params, gradients)

    def _step(self, params: list[Tensor], gradients: Sequence[Tensor | None]) -> None:
        before = [p.grad for p in params]
        self._group["params"] = list(params)
        try:
            for p, gradient in zip(params, gradients, strict=True):
                p.grad = gradient
            self._steps.step()
        finally:
            for p, gradient in zip(params, before, strict=True):
                p.grad = gradient
            self._group["params"] = []


def _functional(of: type[Optimizer], **differing: Any) -> Any:
    name = f"_Functional{of.__name__}"
    module = f"torch.distributed.optim.functional_{of.__name__.lower()}"
    doc = f"{of.__name__} of parameters and gradients that it is handed."
    return type(
        name, (_Functional,), {"_of": of, "_differing": differing, "__module__": module, "__doc__": doc}
    )


_FunctionalAdadelta = _functional(Adadelta)
_FunctionalAdagrad = _functional(Adagrad)
_FunctionalAdam = _functional(Adam)
_FunctionalAdamax = _functional(Adamax, lr=1e-3)
_FunctionalAdamW = _functional(AdamW)
_FunctionalRMSprop = _functional(RMSprop)
_FunctionalRprop = _functional(Rprop)
_FunctionalSGD = _functional(SGD, lr=1e-2)


# What stands for each optimizer where gradients are handed to it; a program adds its own.
functional_optim_map: dict[Any, Any] = {
    made._of: made
    for made in (
        _FunctionalAdagrad,
        _FunctionalAdam,
        _FunctionalAdamW,
        _FunctionalSGD,
        _FunctionalAdadelta,
        _FunctionalRMSprop,
        _FunctionalRprop,
        _FunctionalAdamax,
    )
}


def register_functional_optim(key: Any, optim: Any) -> None:
    """Let `optim` stand for the optimizer `key`, if nothing does yet."""
    if key not in functional_optim_map:
        functional_optim_map[key] = optim


def as_functional_optim(optim_cls: type, *args: Any, **kwargs: Any) -> Any:
    """The optimizer of handed gradients that stands for a class, with these options; ValueError where none
    does.
    """
    try:
        found: Callable[..., Any] = functional_optim_map[optim_cls]
    except KeyError as error:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!") from error
    return found([], *args, **kwargs, _allow_empty_param_list=True)
