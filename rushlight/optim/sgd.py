"""Stochastic gradient descent, with momentum (Sutskever et al., ICML 2013)."""

from __future__ import annotations

from typing import Any

from rushlight import sparse_coo_tensor, stack
from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise, StepBucket, number
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import DETACHED, Formula, P, collects, gradient, plus, stored, symbols


def formula(
    weight_decay: bool, momentum: bool, nesterov: bool, maximize: bool, apart: bool = False
) -> Formula:
    """`kept` is the momentum and `added` 1 - dampening, but 0 and 1 in the first step.

    apart: the buffer has no history (PyTorch's first one has not, even with differentiable=True).
    """
    old, lr, ahead, kept, added = symbols("momentum_buffer lr momentum kept added")
    g = gradient(maximize, weight_decay)
    if not momentum:
        return {"p": plus(P, g, -lr)}
    buffer = plus(stored(old * kept), g, added)
    buffer = m.cast(buffer, arg=DETACHED) if apart else buffer
    step = plus(g, buffer, ahead) if nesterov else buffer
    return {"p": plus(P, step, -lr), "momentum_buffer": buffer}


class SGD(Elementwise, formula=formula):
    """p -= lr * v with v = momentum * v + (1 - dampening) * (g + weight_decay * p); the first v is g itself.

    nesterov: p -= lr * (g + momentum * v) instead; ValueError unless there is a momentum and no dampening.
    """

    _counted = False
    _defaults_of_older_groups = {"nesterov": False, "fused": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        self._start(
            params,
            locals(),
            "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused",
        )

    @collects("momentum_buffer")
    def _init_group(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        momentum_buffer_list: list[Tensor | None],
    ) -> bool:
        """Append what a step of this group is about, with None for buffers that the first step begins;
        whether any gradient is sparse.
        """
        has_sparse_grad = False
        for p in group["params"]:
            if p.grad is None:
                continue
            params.append(p)
            grads.append(p.grad)
            has_sparse_grad |= p.grad.is_sparse
            if group["momentum"] != 0:
                momentum_buffer_list.append(self.state[p].get("momentum_buffer"))
        return has_sparse_grad

    def _sparse_step(self, group: dict[str, Any], p: Any, at: Any, g: Any) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if momentum := group["momentum"]:
            step, buffer = sparse_coo_tensor(stack(at), g, p.shape), self.state[p].get("momentum_buffer")
            buffer = step if buffer is None else buffer * momentum + step * (1 - group["dampening"])
            self.state[p]["momentum_buffer"] = buffer
            step = (step + buffer * momentum if group["nesterov"] else buffer).coalesce()
            at, g = tuple(step.indices()), step.values()
        p[at] -= number(group["lr"]) * g

    def _options(self, group: dict[str, Any], plan: StepBucket) -> tuple[Any, ...]:
        return *plan.switches, plan.step == 1 and bool(group.get("differentiable"))

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        if step == 1:
            return {"kept": 0.0, "added": 1.0}
        return {"kept": group["momentum"], "added": 1 - group["dampening"]}
