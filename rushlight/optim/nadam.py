"""NAdam: Adam with Nesterov's momentum (Dozat, 2016)."""

from __future__ import annotations

from typing import Any

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise, StepBucket
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collector, gradient, lerp, mean_of_squares, stored, symbols


def formula(maximize: bool, weight_decay: bool, decoupled_weight_decay: bool) -> Formula:
    """`now` and `ahead` are the rates of the gradient and of the mean; `rise` is 1 - beta2 ** t."""
    mean, square, beta1, beta2, eps = symbols("exp_avg exp_avg_sq beta1 beta2 eps")
    rise, now, ahead, shrink = symbols("rise now ahead shrink")
    g = gradient(maximize, weight_decay and not decoupled_weight_decay)
    p = stored(P * shrink) if weight_decay and decoupled_weight_decay else P
    first, second = lerp(mean, g, 1 - beta1), mean_of_squares(square, g, beta2)
    below = stored(stored(m.sqrt(stored(second / rise))) + eps)
    return {"p": stored(p - now * g / below) - ahead * first / below, "exp_avg": first, "exp_avg_sq": second}


class NAdam(Elementwise, formula=formula):
    """Adam that looks one step of momentum ahead, with a momentum that grows towards beta1 (T. Dozat, 2016).

    The momentum of step t is beta1 * (1 - 0.96^(t * momentum_decay) / 2).
    """

    _number_states = ("mu_product",)
    _initial = {"mu_product": 1.0}
    _capture_states = "params, mu_products and state_steps"
    _defaults_of_older_groups = {"decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        self._start(
            params,
            locals(),
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay "
            "maximize foreach capturable differentiable",
        )

    _init_group = collector(
        exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", mu_products="mu_product", state_steps="step"
    )

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        mu, after = (beta1 * (1.0 - 0.5 * (0.96 ** (t * group["momentum_decay"]))) for t in (step, step + 1))
        product: Any
        if group["differentiable"]:
            for state in plan.states:
                state["mu_product"].mul_(mu)
            product = plan.states[0]["mu_product"]
        else:
            plan.carry("mu_product", plan.number("mu_product") * mu)
            product = plan.number("mu_product").item()
        return {
            "beta1": beta1,
            "beta2": beta2,
            "rise": 1 - beta2**step,
            "now": lr * (1.0 - mu) / (1.0 - product),
            "ahead": lr * after / (1.0 - product * after),
        }
