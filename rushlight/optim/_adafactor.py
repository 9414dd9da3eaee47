"""Adafactor (arXiv:1804.04235): second moments kept as a row and a column for each matrix."""

from __future__ import annotations

from typing import Any

from rushlight._engine.tensors.limits import finfo
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import number, scalar
from rushlight.optim.optimizer import Optimizer, ParamsT


class Adafactor(Optimizer):
    """Steps relative to the parameter's size; `lr` bounds the relative step and scales the decay.

    eps: (least variance, least size of a parameter); None is the epsilon of the parameter's dtype.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for bad, text in (
            (not lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}"),
            (not beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is not None and not eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (not eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (not d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
            (not weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if bad:
                raise ValueError(text)
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                held = self.state.get(p)
                if held and not isinstance(held["step"], Tensor):
                    held["step"] = scalar(float(held["step"]))

    def _step_group(self, group: dict[str, Any]) -> None:
        names = "row_var", "col_var", "variance", "step"
        params: list[Tensor] = []
        grads: list[Tensor] = []
        states: tuple[list[Any], ...] = [], [], [], []
        self._init_group(group, params, grads, *states)
        for p, grad, *held in zip(params, grads, *states, strict=True):
            _step(p, -grad if group["maximize"] else grad, dict(zip(names, held, strict=True)), group)

    def _init_group(
        self,
        group: dict[str, Any],
        params_with_grad: list[Tensor],
        grads: list[Tensor],
        row_vars: list[Tensor | None],
        col_vars: list[Tensor | None],
        variances: list[Tensor | None],
        state_steps: list[Tensor],
    ) -> bool:
        """Append what a step of this group is about, None for states that a parameter has not; False: no
        parameter is complex.
        """
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            if p.grad.is_sparse:
                raise RuntimeError("Adafactor does not support sparse gradients")
            params_with_grad.append(p)
            grads.append(p.grad)
            state = self._state_of(p)
            row_vars.append(state.get("row_var"))
            col_vars.append(state.get("col_var"))
            variances.append(state.get("variance"))
            state_steps.append(state["step"])
        return False

    def _state_of(self, p: Tensor) -> dict[str, Any]:
        state = self.state[p]
        if not state:
            state["step"] = scalar(0.0)
            if p.dim() > 1:
                state["row_var"] = p.new_zeros((*p.shape[:-1], 1))
                state["col_var"] = p.new_zeros((*p.shape[:-2], 1, p.shape[-1]))
            else:
                state["variance"] = p.detach().new_zeros(p.shape)
        return state  # the optimizer's own dict


def _step(p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    lr, (least, smallest) = float(number(group["lr"])), group["eps"]
    least = finfo(p.dtype).eps if least is None else least
    state["step"] += 1
    count = state["step"].item()
    rate = max(smallest, _size(p)) * min(lr, 1 / count**0.5)
    if group["weight_decay"]:
        p.mul_(1 - lr * group["weight_decay"])
    update = _variance(grad, state, count ** group["beta2_decay"], least).clamp_(min=least * least)
    update.rsqrt_().mul_(grad)
    p.add_(update, alpha=-rate / max(1.0, _size(update) / group["d"]))


def _variance(grad: Tensor, state: dict[str, Any], weight: float, least: float) -> Tensor:
    """The running estimate of squared gradients, one step on."""
    if grad.dim() <= 1:
        variance: Tensor = state["variance"].lerp_(grad * grad, weight)
        return variance.clone()
    rows, columns = state["row_var"], state["col_var"]
    for axis, mean in ((-1, rows), (-2, columns)):
        mean.lerp_(grad.norm(dim=axis, keepdim=True).square_().div_(grad.shape[axis]), weight)
    product: Tensor = rows @ columns
    return product.div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))


def _size(t: Tensor) -> float:
    """The root of the mean square."""
    return float(t.norm(2).item() / t.numel() ** 0.5)
