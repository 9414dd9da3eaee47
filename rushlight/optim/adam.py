"""Adam (arXiv:1412.6980) and AdamW (arXiv:1711.05101)."""

from __future__ import annotations

import math
from typing import Any

from rushlight._engine.lazy import package
from rushlight._engine.ops.expressions import Expr, m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.checks import check_lr, check_tensor_betas
from rushlight.optim.elementwise import Elementwise, StepBucket, number
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collector, gradient, lerp, mean_of_squares, stored, symbols


def formula(amsgrad: bool, maximize: bool, weight_decay: bool, decoupled_weight_decay: bool) -> Formula:
    """Scalars that depend on lr are computed once per step: step_size = lr / (1 - beta1 ** t),
    root = sqrt(1 - beta2 ** t), shrink = 1 - lr * weight_decay.
    """
    mean, square, peak = symbols("exp_avg exp_avg_sq max_exp_avg_sq")
    beta1, beta2, eps, step_size, root, shrink = symbols("beta1 beta2 eps step_size root shrink")
    g = gradient(maximize, weight_decay and not decoupled_weight_decay)
    p: Expr = stored(P * shrink) if weight_decay and decoupled_weight_decay else P
    first, second = lerp(mean, g, 1 - beta1), mean_of_squares(square, g, beta2)
    largest = m.maximum(peak, second) if amsgrad else second
    denominator = stored(stored(stored(m.sqrt(largest)) / root) + eps)
    new = {"p": p - step_size * first / denominator, "exp_avg": first, "exp_avg_sq": second}
    if amsgrad:
        new["max_exp_avg_sq"] = largest
    return new


class Adam(Elementwise, formula=formula):
    """Steps along running means of gradients over the root of running means of their squares
    (arXiv:1412.6980).

    p -= lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), with m = beta1 m + (1 - beta1) g and v =
    beta2 v + (1 - beta2) g^2. weight_decay is added to g as an L2 penalty, or, with decoupled_weight_decay,
    taken off p. amsgrad: the greatest v so far. lr and betas may be tensors of one element. Errors as of
    Optimizer.
    """

    _defaults_of_older_groups = {"amsgrad": False, "decoupled_weight_decay": False, "fused": None}

    _sparse_instead = ", please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr, foreach, capturable)
        check_tensor_betas(betas, foreach, capturable)
        self._start(
            params,
            locals(),
            "lr betas eps weight_decay amsgrad maximize foreach capturable "
            "differentiable fused decoupled_weight_decay",
        )

    _init_group = collector(
        exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", max_exp_avg_sqs="max_exp_avg_sq", state_steps="step"
    )

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        if beta1.__class__ is not float or beta2.__class__ is not float:
            beta1, beta2 = number(beta1), number(beta2)
        return {
            "beta1": beta1,
            "beta2": beta2,
            "step_size": lr / (1 - beta1**step),
            "root": math.sqrt(1 - beta2**step),
        }


class AdamW(Adam):
    """Adam with decoupled weight decay: p shrinks by lr * weight_decay before each step (arXiv:1711.05101).

    The default weight_decay is 0.01; everything else is Adam's.
    """

    __module__ = f"{package()}.optim.adamw"

    _defaults_of_older_groups = {**Adam._defaults_of_older_groups, "decoupled_weight_decay": True}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
