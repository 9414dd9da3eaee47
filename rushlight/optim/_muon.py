"""Muon: momentum made orthogonal by Newton and Schulz's iteration (Jordan et al., 2024)."""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from typing import Any

import rushlight
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import number
from rushlight.optim.optimizer import Optimizer, ParamsT

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """For the matrices of hidden layers; vectors, embeddings and heads are AdamW's.

    adjust_lr_fn: "original" (the default) scales by sqrt(max(1, rows / columns)), "match_rms_adamw" by
    0.2 * sqrt(max(rows, columns)), so that AdamW's rates and decays can be used.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported: it is one of "
                f"{', '.join(map(repr, _ADJUSTMENTS[1:]))} or None"
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {p.size()}; give the others to AdamW"
                    )

    def _init_group(
        self,
        group: MutableMapping[str, Any],
        params_with_grad: list[Tensor],
        grads: list[Tensor],
        muon_momentum_bufs: list[Tensor],
    ) -> bool:
        """Append what a step of this group is about; False: no parameter is complex."""
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            if p.grad.is_sparse:
                raise RuntimeError("Muon does not support sparse gradients")
            params_with_grad.append(p)
            grads.append(p.grad)
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = rushlight.zeros_like(p.grad)
            muon_momentum_bufs.append(state["momentum_buffer"])
        return False

    def _step_group(self, group: dict[str, Any]) -> None:
        lr, momentum = number(group["lr"]), group["momentum"]
        params: list[Tensor] = []
        grads: list[Tensor] = []
        buffers: list[Tensor] = []
        self._init_group(group, params, grads, buffers)
        for p, grad, buffer in zip(params, grads, buffers, strict=True):
            buffer.lerp_(grad, 1 - momentum)
            update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            p.mul_(1 - lr * group["weight_decay"])
            p.add_(update, alpha=-_adjusted(lr, group["adjust_lr_fn"], *p.shape))


def orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Near the closest matrix of orthogonal rows or columns, in bfloat16: the singular values go towards 1
    by the polynomial a s + b s^3 + c s^5, `steps` times.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = matrix.bfloat16()
    tall = matrix.shape[0] > matrix.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = rushlight.addmm(x, rushlight.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjusted(lr: float, how: str | None, rows: int, columns: int) -> float:
    if how == "match_rms_adamw":
        return float(lr * 0.2 * math.sqrt(max(rows, columns)))
    return float(lr * math.sqrt(max(1, rows / columns)))
