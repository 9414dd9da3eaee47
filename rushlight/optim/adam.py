"""Adam (arXiv:1412.6980) and AdamW (arXiv:1711.05101)."""
from __future__ import annotations

import math
from typing import Any

from rushlight.ops.scalar import Expr, m
from rushlight.optim.checks import check_betas, check_fused, check_lr, check_range, check_tensor_betas
from rushlight.optim.elementwise import Elementwise, Plan, number
from rushlight.optim.updates import (Formula, P, gradient, lerp, mean_of_squares, stored, symbols)


def formula(decoupled: bool, decay: bool, amsgrad: bool, maximize: bool) -> Formula:
    """Scalars that depend on lr are computed once per step: step_size = lr / (1 - beta1 ** t),
    root = sqrt(1 - beta2 ** t), shrink = 1 - lr * weight_decay."""
    mean, square, peak = symbols("exp_avg exp_avg_sq max_exp_avg_sq")
    beta1, beta2, eps, step_size, root, shrink = symbols("beta1 beta2 eps step_size root shrink")
    g = gradient(maximize, decay and not decoupled)
    p: Expr = stored(P * shrink) if decay and decoupled else P
    first, second = lerp(mean, g, 1 - beta1), mean_of_squares(square, g, beta2)
    largest = m.maximum(peak, second) if amsgrad else second
    denominator = stored(stored(stored(m.sqrt(largest)) / root) + eps)
    new = {"p": p - step_size * (first / denominator), "exp_avg": first, "exp_avg_sq": second}
    if amsgrad:
        new["max_exp_avg_sq"] = largest
    extra = () if not decay else ("shrink",) if decoupled else ("wd",)
    return Formula(new, ("beta1", "beta2", "eps", "step_size", "root", *extra))


class Adam(Elementwise):
    """Steps along running means of gradients over the root of running means of their squares."""

    _decoupled = False
    _switches = ("amsgrad", "maximize", "weight_decay", "decoupled_weight_decay", "fused")
    _formula = staticmethod(formula)

    def __init__(self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        check_lr(lr, foreach, capturable)
        check_range(eps, "epsilon")
        check_betas(betas)
        check_range(weight_decay, "weight_decay")
        check_tensor_betas(betas, foreach, capturable)
        check_fused(foreach, fused, differentiable)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                    "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
                    "capturable": capturable, "differentiable": differentiable, "fused": fused,
                    "decoupled_weight_decay": decoupled_weight_decay or self._decoupled}
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("decoupled_weight_decay", self._decoupled)
            group.setdefault("fused", None)

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))

    def _options(self, group: dict[str, Any], plan: Plan) -> tuple[Any, ...]:
        return (group["decoupled_weight_decay"], bool(group["weight_decay"]), group["amsgrad"],
                group["maximize"])

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: Plan) -> list[Any]:
        beta1, beta2 = map(number, group["betas"])
        found = [beta1, beta2, group["eps"], lr / (1 - beta1 ** step), math.sqrt(1 - beta2 ** step)]
        decay = group["weight_decay"]
        if decay:
            found.append(1 - lr * decay if group["decoupled_weight_decay"] else decay)
        return found


class AdamW(Adam):
    """Adam with decoupled weight decay: p shrinks by lr * weight_decay before each step."""

    _decoupled = True

    def __init__(self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach,
                         maximize=maximize, capturable=capturable, differentiable=differentiable,
                         fused=fused, decoupled_weight_decay=True)
