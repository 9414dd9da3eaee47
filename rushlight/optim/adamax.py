"""Adamax, the variant of Adam by the infinity norm (arXiv:1412.6980)."""

from __future__ import annotations

from typing import Any

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise, StepBucket
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collector, gradient, lerp, stored, symbols


def formula(maximize: bool, weight_decay: bool) -> Formula:
    """`rate` is lr / (1 - beta1 ** t)."""
    mean, norm, beta1, beta2, eps, rate = symbols("exp_avg exp_inf beta1 beta2 eps rate")
    g = gradient(maximize, weight_decay)
    first = lerp(mean, g, 1 - beta1)
    largest = m.maximum(stored(norm * beta2), stored(m.abs(g) + eps))
    return {"p": P - rate * first / largest, "exp_avg": first, "exp_inf": largest}


class Adamax(Elementwise, formula=formula):
    """Steps along the running mean of gradients over a decaying maximum of their sizes (arXiv:1412.6980,
    section 7.1).

    p -= lr / (1 - beta1^t) * m / u with u = max(beta2 u, |g| + eps). weight_decay: an L2 penalty, added to g.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._start(params, locals(), "lr betas eps weight_decay foreach maximize differentiable capturable")

    _init_group = collector(exp_avgs="exp_avg", exp_infs="exp_inf", state_steps="step")

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return {"beta1": beta1, "beta2": beta2, "rate": lr / (1 - beta1**step)}
