"""Adamax, the variant of Adam by the infinity norm (arXiv:1412.6980)."""
from __future__ import annotations

from typing import Any

from rushlight.ops.scalar import m
from rushlight.optim.checks import check_betas, check_lr, check_range
from rushlight.optim.elementwise import Elementwise, Plan
from rushlight.optim.updates import Formula, P, gradient, lerp, stored, symbols


def formula(maximize: bool, decay: bool) -> Formula:
    """`rate` is lr / (1 - beta1 ** t)."""
    mean, norm, beta1, beta2, eps, rate = symbols("exp_avg exp_inf beta1 beta2 eps rate")
    g = gradient(maximize, decay)
    first = lerp(mean, g, 1 - beta1)
    largest = m.maximum(stored(norm * beta2), stored(m.abs(g) + eps))
    return Formula({"p": P - rate * (first / largest), "exp_avg": first, "exp_inf": largest},
                   ("beta1", "beta2", "eps", "rate", *(["wd"] if decay else [])))


class Adamax(Elementwise):
    """Steps along the running mean of gradients over a decaying maximum of their sizes."""

    _formula = staticmethod(formula)

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_range(eps, "epsilon")
        check_betas(betas)
        check_range(weight_decay, "weight_decay")
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return "exp_avg", "exp_inf"

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: Plan) -> list[Any]:
        (beta1, beta2), decay = group["betas"], group["weight_decay"]
        return [beta1, beta2, group["eps"], lr / (1 - beta1 ** step), *([decay] if decay else [])]
