"""Resilient backpropagation (Riedmiller and Braun, 1993)."""

from __future__ import annotations

from typing import Any

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise, StepBucket
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collects, gradient, stored, symbols


def formula(maximize: bool) -> Formula:
    """Sizes grow where the gradient keeps its sign; where it turns they shrink and nothing moves."""
    before, size, less, more, low, high = symbols("prev step_size less more low high")
    g = gradient(maximize, False)
    agreement = stored(g * before)
    factor = m.where(agreement > 0, more, m.where(agreement < 0, less, 1))
    new = stored(m.minimum(m.maximum(stored(size * stored(factor)), low), high))
    kept = m.where(agreement < 0, 0, g)
    return {"p": P - m.sgn(kept) * new, "prev": kept, "step_size": new}


class Rprop(Elementwise, formula=formula):
    """Steps by the signs of gradients alone, each element with a step size of its own (M. Riedmiller, 1993).

    A size starts at lr, is multiplied by etas[1] where the sign stays, by etas[0] where it turns, and lies
    within step_sizes. For gradients of the whole data: signs of small batches turn by chance.
    """

    _initial = {"step_size": "lr"}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        self._start(params, locals(), "lr etas step_sizes foreach maximize differentiable capturable")

    @collects("prev", "step_size", "step")
    def _init_group(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        prevs: list[Tensor],
        step_sizes: list[Tensor],
        state_steps: list[Tensor],
    ) -> bool:
        """Append what a step of this group is about; whether any parameter is complex."""
        return self._collect(
            group,
            params,
            grads,
            prev=prevs,
            step_size=step_sizes,
            step=state_steps,
        )

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        (less, more), (low, high) = group["etas"], group["step_sizes"]
        return {"less": less, "more": more, "low": low, "high": high}
