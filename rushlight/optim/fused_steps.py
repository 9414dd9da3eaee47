"""torch._fused_adam_, _fused_adamw_, _fused_sgd_: what programs' own optimizers call for lists of tensors.

`state_steps` count the step that is done already. Where `found_inf` is not 0 nothing is done; gradients are
divided, in place, by `grad_scale`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim import functional

Tensors = Sequence[Tensor]


def _ready(grads: Tensors, grad_scale: Tensor | None, found_inf: Tensor | None) -> bool:
    """Whether there is a step; gradients are then unscaled."""
    if found_inf:
        return False
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return True


def _adam(name: str, step: Callable[..., None], what: str) -> Callable[..., None]:
    """The function of this name that takes a step of Adam or of AdamW."""

    def fused(
        self: Tensors,
        grads: Tensors,
        exp_avgs: Tensors,
        exp_avg_sqs: Tensors,
        max_exp_avg_sqs: Tensors,
        state_steps: Tensors,
        *,
        lr: float | Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None:
        if not _ready(grads, grad_scale, found_inf):
            return
        with torch.no_grad():
            step(
                list(self),
                list(grads),
                list(exp_avgs),
                list(exp_avg_sqs),
                list(max_exp_avg_sqs),
                [done - 1 for done in state_steps],
                fused=True,
                lr=lr,
                beta1=beta1,
                beta2=beta2,
                weight_decay=weight_decay,
                eps=eps,
                amsgrad=amsgrad,
                maximize=maximize,
            )

    fused.__name__ = fused.__qualname__ = name
    fused.__doc__ = what
    return fused


_fused_adam_ = _adam("_fused_adam_", functional.adam, "A step of Adam.")
_fused_adamw_ = _adam("_fused_adamw_", functional.adamw, "A step of AdamW.")


def _fused_sgd_(
    self: Tensors,
    grads: Tensors,
    momentum_buffer_list: Tensors,
    *,
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of SGD; the first one fills the momentum's buffers."""
    if not _ready(grads, grad_scale, found_inf):
        return
    held: list[Any] = [None] * len(self) if is_first_step or not momentum else list(momentum_buffer_list)
    with torch.no_grad():
        functional.sgd(
            list(self),
            list(grads),
            held,
            fused=True,
            weight_decay=weight_decay,
            momentum=momentum,
            lr=lr,
            dampening=dampening,
            nesterov=nesterov,
            maximize=maximize,
        )
        for kept, made in zip(momentum_buffer_list, held, strict=False):
            if is_first_step and made is not None:
                kept.copy_(made)
