"""SparseAdam: Adam for gradients of the sparse layout, which Rushlight's tensors do not have."""
from __future__ import annotations

from typing import Any

from rushlight.optim.checks import check_betas, check_lr
from rushlight.optim.optimizer import Optimizer


class SparseAdam(Optimizer):
    """Takes its options; a step with dense gradients is refused, and there are no others."""

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        check_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _update(self, group: dict[str, Any]) -> None:
        if any(p.grad is not None for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
