"""Adagrad (Duchi et al., JMLR 2011)."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.scalar import m
from rushlight.optim.checks import check_fused, check_lr, check_range
from rushlight.optim.elementwise import Elementwise, Plan, number
from rushlight.optim.updates import Formula, P, gradient, stored, symbols
from rushlight.tensor.tensor import Tensor


def formula(maximize: bool, decay: bool) -> Formula:
    """`rate` is lr / (1 + (t - 1) * lr_decay)."""
    total, rate, eps = symbols("sum rate eps")
    g = gradient(maximize, decay)
    new = stored(total + g * g)
    below = stored(stored(m.sqrt(new)) + eps)
    return Formula({"p": P - rate * (g / below), "sum": new}, ("rate", "eps", *(["wd"] if decay else [])))


class Adagrad(Elementwise):
    """Steps by the gradient over the root of the sum of all squared gradients."""

    _switches = ("maximize", "weight_decay", "fused")
    _formula = staticmethod(formula)

    def __init__(self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None,
                 *, maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check_range(lr_decay, "lr_decay")
        check_range(weight_decay, "weight_decay")
        check_range(initial_accumulator_value, "initial_accumulator_value")
        check_range(eps, "epsilon")
        check_fused(foreach, fused, differentiable)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(group, p, self._names(group))

    def share_memory(self) -> None:
        """Move the sums to memory that processes share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("fused", None)

    def _sparse_step(self, group: dict[str, Any], p: Any, at: Any, g: Any) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self._state_of(group, p, self._names(group))
        state["step"] += 1
        state["sum"][at] += g * g
        rate = number(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        p[at] -= rate * g / (state["sum"][at].sqrt() + group["eps"])

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _first(self, name: str, group: dict[str, Any], p: Tensor) -> Any:
        start = group["initial_accumulator_value"]
        return np.full_like(p._a, complex(start, start) if p.is_complex() else start)

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: Plan) -> list[Any]:
        decay = group["weight_decay"]
        return [lr / (1 + (step - 1) * group["lr_decay"]), group["eps"], *([decay] if decay else [])]
