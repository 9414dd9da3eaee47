"""RAdam: Adam with a rectified variance (arXiv:1908.03265)."""

from __future__ import annotations

import math
from typing import Any

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise, StepBucket
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collector, gradient, lerp, mean_of_squares, stored, symbols


def formula(
    maximize: bool, weight_decay: bool, decoupled_weight_decay: bool, rectified: bool = False
) -> Formula:
    """`rise` is 1 - beta1 ** t, `root` sqrt(1 - beta2 ** t), `rectify` the rectification."""
    mean, square, beta1, beta2, lr, rise = symbols("exp_avg exp_avg_sq beta1 beta2 lr rise")
    eps, root, rectify, shrink = symbols("eps root rectify shrink")
    g = gradient(maximize, weight_decay and not decoupled_weight_decay)
    p = stored(P * shrink) if weight_decay and decoupled_weight_decay else P
    first, second = lerp(mean, g, 1 - beta1), mean_of_squares(square, g, beta2)
    step = stored(stored(first / rise) * lr)
    if rectified:
        adaptive = stored(stored(1 / stored(stored(m.sqrt(second)) + eps)) * root)
        step = stored(stored(step * adaptive) * rectify)
    return {"p": p - step, "exp_avg": first, "exp_avg_sq": second}


class RAdam(Elementwise, formula=formula):
    """Adam that steps by the momentum alone until its variance can be estimated (arXiv:1908.03265): 5 steps
    at beta2 = 0.999.
    """

    _defaults_of_older_groups = {"decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
            "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable",
        )

    _init_group = collector(exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", state_steps="step")

    def _options(self, group: dict[str, Any], plan: StepBucket) -> tuple[Any, ...]:
        return *plan.switches, _length(group["betas"][1], plan.step) > 5.0

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        found = {"beta1": beta1, "beta2": beta2, "rise": 1 - beta1**step, "root": math.sqrt(1 - beta2**step)}
        rho, limit = _length(beta2, step), _limit(beta2)
        if rho > 5.0:
            found["rectify"] = math.sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
        return found


def _limit(beta2: float) -> float:
    return 2 / (1 - beta2) - 1


def _length(beta2: float, step: int) -> float:
    """The length of the approximated simple moving average."""
    return _limit(beta2) - 2 * step * (beta2**step) / (1 - beta2**step)
