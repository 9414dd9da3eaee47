"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

from __future__ import annotations

from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise, StepBucket, number, scalar
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collector, gradient, plus, stored, symbols


def formula(maximize: bool, weight_decay: bool, averaging: bool = False) -> Formula:
    """`kept` is 1 - lambd * eta; the average `ax` is the parameter until averaging begins."""
    average, eta, kept, mu = symbols("ax eta kept mu")
    new = plus(stored(P * kept), gradient(maximize, weight_decay), -eta)
    return {"p": new, "ax": average + stored(stored(new - average) * mu) if averaging else new}


class ASGD(Elementwise, formula=formula):
    """SGD with a falling rate `eta`, and the average `ax` of parameters from step t0 on (B. Polyak, A.
    Juditsky, 1992).

    eta = lr / (1 + lambd * lr * t)^alpha; p shrinks by 1 - lambd * eta before each step. The average is in
    the state.
    """

    _number_states = ("eta", "mu")
    _initial = {"eta": "lr", "mu": 1.0}
    _capture_states = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        self._start(
            params, locals(), "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        )

    _init_group = collector(mus="mu", axs="ax", etas="eta", state_steps="step")

    def _run(self, group: dict[str, Any], plan: StepBucket) -> None:
        super()._run(group, plan)
        self._carry_on(group, plan)

    def _carry_on(self, group: dict[str, Any], plan: StepBucket) -> None:
        step, lr = plan.step, number(group["lr"])
        # Through tensors of the default dtype, whatever loading a state has made of the numbers.
        plan.carry("eta", scalar(lr / ((1 + group["lambd"] * lr * step) ** group["alpha"]))._array)
        plan.carry("mu", scalar(1 / max(1, step - group["t0"]))._array)

    def _options(self, group: dict[str, Any], plan: StepBucket) -> tuple[Any, ...]:
        return *plan.switches, bool(plan.number("mu") != 1)

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        eta, mu = plan.number("eta").item(), plan.number("mu").item()
        return {"eta": eta, "kept": 1 - group["lambd"] * eta, "mu": mu}
