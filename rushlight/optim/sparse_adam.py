"""SparseAdam: Adam for sparse gradients, which moves moments and parameters only where they are."""

from __future__ import annotations

from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.checks import check_betas, check_lr
from rushlight.optim.elementwise import number
from rushlight.optim.optimizer import Optimizer, ParamsT


class SparseAdam(Optimizer):
    """Adam's step at the places of each gradient alone, for embeddings with sparse=True.

    States of other rows stay as they are. RuntimeError for a dense gradient, ValueError for a sparse
    parameter.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            ([i, j], p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])
        ]
        if found := [place for place, p in places if p.is_sparse]:
            raise ValueError(f"Sparse params at indices {found}: SparseAdam requires dense parameter tensors")
        if found := [place for place, p in places if p.is_complex()]:
            raise ValueError(
                f"Complex params at indices {found}: SparseAdam does not support complex parameters"
            )

    def _step_group(self, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        for p in (p for p in group["params"] if p.grad is not None):
            if not p.grad.is_sparse:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
            state, grad = self.state[p], p.grad.coalesce()
            at, g = tuple(grad.indices()), -grad.values() if group.get("maximize") else grad.values()
            if not state:
                data = p.detach()
                state.update(step=0, exp_avg=data.new_zeros(p.shape), exp_avg_sq=data.new_zeros(p.shape))
            state["step"] += 1
            for name, beta, new in (("exp_avg", beta1, g), ("exp_avg_sq", beta2, g * g)):
                state[name][at] += (new - state[name][at]) * (1 - beta)
            below = state["exp_avg_sq"][at].sqrt() + group["eps"]
            right1, right2 = (1 - beta ** state["step"] for beta in (beta1, beta2))
            p[at] -= number(group["lr"]) * right2**0.5 / right1 * (state["exp_avg"][at] / below)
