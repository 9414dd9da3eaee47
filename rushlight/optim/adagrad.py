"""Adagrad (Duchi et al., JMLR 2011)."""

from __future__ import annotations

from typing import Any

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nn.parameter import is_lazy
from rushlight.optim.elementwise import Elementwise, StepBucket, number
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collects, gradient, stored, symbols


def formula(maximize: bool, weight_decay: bool) -> Formula:
    """`rate` is lr / (1 + (t - 1) * lr_decay)."""
    total, rate, eps = symbols("sum rate eps")
    g = gradient(maximize, weight_decay)
    new = stored(m.fma(g, g, total))
    below = stored(stored(m.sqrt(new)) + eps)
    return {"p": P - rate * g / below, "sum": new}


class Adagrad(Elementwise, formula=formula):
    """Steps by the gradient over the root of the sum of all squared gradients (J. Duchi et al., 2011).

    p -= rate * g / (sqrt(sum) + eps), rate = lr / (1 + (t - 1) * lr_decay). The sums begin at
    initial_accumulator_value. Sparse gradients step at their places; weight_decay, an L2 penalty, needs dense
    ones.
    """

    _defaults_of_older_groups = {"fused": None}
    _initial = {"sum": "initial_accumulator_value"}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        self._start(
            params,
            locals(),
            "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused",
        )
        for group in self.param_groups:
            for p in group["params"]:
                if is_lazy(p):
                    raise ValueError(
                        "Attempted to use an uninitialized parameter in Adagrad, whose sums have its shape. "
                        "Call forward once to initialize the parameters, and make the optimizer then"
                    )
                self._state_of(group, p, ("sum",))

    def share_memory(self) -> None:
        """Move the sums to memory that processes share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @collects("sum", "step")
    def _init_group(
        self,
        group: dict[str, Any],
        params_with_grad: list[Tensor],
        grads: list[Tensor],
        state_sums: list[Tensor],
        state_steps: list[Tensor],
    ) -> tuple[bool, bool]:
        """Append what a step of this group is about; (whether any gradient is sparse, whether any parameter
        is complex).
        """
        has_sparse_grad = has_complex = False
        for p in group["params"]:
            if p.grad is None:
                continue
            has_sparse_grad |= p.grad.is_sparse
            has_complex |= p.is_complex()
            params_with_grad.append(p)
            grads.append(p.grad)
            state = self._state_of(group, p, ("sum",))
            state_sums.append(state["sum"])
            state_steps.append(state["step"])
        return has_sparse_grad, has_complex

    def _sparse_step(self, group: dict[str, Any], p: Any, at: Any, g: Any) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self._state_of(group, p, ("sum",))
        state["step"] += 1
        state["sum"][at] += g * g
        rate = number(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        p[at] -= rate * g / (state["sum"][at].sqrt() + group["eps"])

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        return {"rate": lr / (1 + (step - 1) * group["lr_decay"])}
