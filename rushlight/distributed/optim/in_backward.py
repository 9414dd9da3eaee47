"""Optimizers that step as soon as a gradient has come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def _apply_optimizer_in_backward(
    optimizer_class: type, params: Iterable[Any], optimizer_kwargs: dict[str, Any], register_hook: bool = True
) -> None:
    """Give each parameter an optimizer of its own, which steps when backward has brought its gradient, and
    drops it. register_hook=False: the optimizers are made, and called by nobody.
    """
    for param in params:
        found = optimizer_class([param], **optimizer_kwargs)
        param._in_backward_optimizers = [*getattr(param, "_in_backward_optimizers", ()), found]
        param._optimizer_classes = [*getattr(param, "_optimizer_classes", ()), optimizer_class]
        param._optimizer_kwargs = [*getattr(param, "_optimizer_kwargs", ()), optimizer_kwargs]
        if register_hook and len(param._in_backward_optimizers) == 1:
            param.register_post_accumulate_grad_hook(_step)


def _step(param: Any) -> None:
    for optimizer in param._in_backward_optimizers:
        optimizer.step()
    param.grad = None


def _get_in_backward_optimizers(module: Any) -> list[Any]:
    """The optimizers that a module's parameters have been given."""
    return [one for param in module.parameters() for one in getattr(param, "_in_backward_optimizers", ())]
