"""Stochastic gradient descent, with momentum (Sutskever et al., ICML 2013)."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.optim import updates
from rushlight.optim.checks import check_fused, check_lr, check_range
from rushlight.optim.optimizer import Optimizer
from rushlight.tensor.tensor import Tensor, wrap


class SGD(Optimizer):
    """p -= lr * v with v = momentum * v + (1 - dampening) * (g + weight_decay * p)."""

    def __init__(self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_lr(lr)
        check_range(momentum, "momentum")
        check_range(weight_decay, "weight_decay")
        check_fused(foreach, fused, differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)

    def _update(self, group: dict[str, Any]) -> None:
        buckets: dict[Any, list[Tensor]] = {}
        momentum = group["momentum"]
        for p in group["params"]:
            if p.grad is None:
                continue
            first = bool(momentum) and self.state[p].get("momentum_buffer") is None
            buckets.setdefault((first, p._k.dtype.name), []).append(p)
        for (first, _), params in buckets.items():
            self._run(group, params, first)

    def _run(self, group: dict[str, Any], params: list[Tensor], first: bool) -> None:
        momentum, decay, lr = group["momentum"], group["weight_decay"], float(group["lr"])
        kernel = updates.sgd_kernel(bool(decay), bool(momentum), first, group["nesterov"], group["maximize"])
        arrays = [(p._a, p.grad._a) for p in params]
        scalars = [lr] + ([decay] if decay else [])
        touched = list(params)
        if momentum:
            if first:
                for p in params:
                    self.state[p]["momentum_buffer"] = wrap(np.zeros_like(p._a), p._k)
            buffers = [self.state[p]["momentum_buffer"] for p in params]
            arrays = [(*pair, b._a) for pair, b in zip(arrays, buffers, strict=True)]
            scalars += [] if first else [1 - group["dampening"]]
            scalars += [] if first and not group["nesterov"] else [momentum]
            touched += buffers
        kernel(arrays, scalars)
        updates.touch(touched)
