"""Adam (arXiv:1412.6980) and AdamW (arXiv:1711.05101)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight.optim import updates
from rushlight.optim.checks import check_betas, check_fused, check_lr, check_range
from rushlight.optim.optimizer import Optimizer
from rushlight.tensor.tensor import Tensor, wrap


class _Plan:
    """What stays the same from step to step while the same parameters have gradients."""

    __slots__ = ("params", "grads", "arrays", "states", "steps", "step", "kernel", "key", "touched")

    def __init__(self, params: list[Tensor], states: list[dict[str, Any]], key: Any, kernel: Any,
                 names: tuple[str, ...]) -> None:
        self.params, self.key, self.kernel = params, key, kernel
        self.steps = [s["step"] for s in states]
        self.step = int(self.steps[0].item())
        self.grads = [p.grad for p in params]
        self.states = states
        self.arrays = [(_real(p._a), _real(p._grad._a), *[_real(s[n]._a) for n in names])
                       for p, s in zip(params, states, strict=True)]
        self.touched = [*params, *[s[n] for s in states for n in names]]


class Adam(Optimizer):
    """Steps along running means of gradients over the root of running means of their squares."""

    _decoupled = False

    def __init__(self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        check_lr(lr, foreach, capturable)
        check_range(eps, "epsilon")
        check_betas(betas)
        check_range(weight_decay, "weight_decay")
        check_fused(foreach, fused, differentiable)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                    "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
                    "capturable": capturable, "differentiable": differentiable, "fused": fused,
                    "decoupled_weight_decay": decoupled_weight_decay or self._decoupled}
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("_plans", None)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("maximize", False)
            group.setdefault("decoupled_weight_decay", self._decoupled)
            for p in group["params"]:
                held = self.state.get(p)
                if held and not isinstance(held["step"], Tensor):
                    held["step"] = wrap(np.array(float(held["step"]), np.float32))

    def _state_of(self, p: Tensor, amsgrad: bool) -> dict[str, Any]:
        state = self.state[p]
        if not state:
            state["step"] = wrap(np.zeros((), np.float32))
            for name in ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else [])):
                state[name] = wrap(np.zeros_like(p._a), p._k)
        return state

    def _update(self, group: dict[str, Any]) -> None:
        for plan in self._plans_of(group):
            self._run(group, plan)

    def _run(self, group: dict[str, Any], plan: _Plan) -> None:
        plan.step += 1
        step = plan.step
        # A tensor's rate is a number of its own dtype, in all that is computed from it.
        lr = group["lr"].numpy()[()] if isinstance(group["lr"], Tensor) else group["lr"]
        beta1, beta2 = group["betas"]
        for s in plan.steps:
            s._a[...] = step
        scalars = [beta1, beta2, group["eps"], float(lr / (1 - beta1 ** step)), math.sqrt(1 - beta2 ** step)]
        decay = group["weight_decay"]
        if decay:
            scalars.append(float(1 - lr * decay) if group["decoupled_weight_decay"] else decay)
        plan.kernel(plan.arrays, scalars)
        updates.touch(plan.touched)

    def _plans_of(self, group: dict[str, Any]) -> list[_Plan]:
        plans: dict[int, list[_Plan]] = self.__dict__.setdefault("_plans", {})
        found = plans.get(id(group))
        if found is None or not self._still(group, found):
            found = plans[id(group)] = self._make_plans(group)
        return found

    def _still(self, group: dict[str, Any], plans: list[_Plan]) -> bool:
        """Whether the plans hold: same parameters with gradients, same options, same memory."""
        count = 0
        key = _key(group)
        for plan in plans:
            if plan.key != key:
                return False
            for p, arrays, state in zip(plan.params, plan.arrays, plan.states, strict=True):
                if p._a is not arrays[0] or self.state.get(p) is not state:
                    return False
            count += len(plan.params)
        have = 0
        for p in group["params"]:
            try:
                have += p._grad is not None
            except AttributeError:
                continue
        if have != count:
            return False
        return all(self._renew(plan) for plan in plans)

    @staticmethod
    def _renew(plan: _Plan) -> bool:
        # Gradients are new memory at every step; everything else stays.
        for i, p in enumerate(plan.params):
            g = p.grad
            if g is None or g._a.dtype != p._a.dtype:
                return False
            old = plan.arrays[i]
            if old[1] is not g._a:
                plan.arrays[i] = (old[0], g._a, *old[2:])
        return True

    def _make_plans(self, group: dict[str, Any]) -> list[_Plan]:
        amsgrad, key = group["amsgrad"], _key(group)
        names = ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else []))
        buckets: dict[Any, list[Tensor]] = {}
        for p in group["params"]:
            if p.grad is None:
                continue
            if getattr(p.grad, "is_sparse", False):
                raise RuntimeError(f"{type(self).__name__} does not support sparse gradients, please "
                                   "consider SparseAdam instead")
            state = self._state_of(p, amsgrad)
            buckets.setdefault((int(state["step"].item()), p._k.dtype.name), []).append(p)
        kernel = updates.adam_kernel(group["decoupled_weight_decay"], bool(group["weight_decay"]),
                                     amsgrad, group["maximize"])
        return [_Plan(params, [self.state[p] for p in params], key, kernel, names)
                for params in buckets.values()]


def _real(a: Any) -> Any:
    """Complex numbers as pairs of real ones, which are stepped apart."""
    return a if a.dtype.kind != "c" else a[..., None].view(a.real.dtype)


def _key(group: dict[str, Any]) -> Any:
    return (group["amsgrad"], group["maximize"], bool(group["weight_decay"]),
            group["decoupled_weight_decay"], len(group["params"]))


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
