"""Adadelta (arXiv:1212.5701)."""

from __future__ import annotations

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import Formula, P, collector, gradient, mean_of_squares, plus, stored, symbols


def formula(maximize: bool, weight_decay: bool) -> Formula:
    """The step is the gradient times the ratio of two running roots of mean squares."""
    squares, deltas, lr, rho, eps = symbols("square_avg acc_delta lr rho eps")
    g = gradient(maximize, weight_decay)
    new = mean_of_squares(squares, g, rho)
    below = stored(m.sqrt(stored(new + eps)))
    delta = stored(stored(stored(m.sqrt(stored(deltas + eps))) / below) * g)
    return {"p": plus(P, delta, -lr), "square_avg": new, "acc_delta": mean_of_squares(deltas, delta, rho)}


class Adadelta(Elementwise, formula=formula):
    """Steps in the units of the parameter: the learning rate is only a factor, 1 by default
    (arXiv:1212.5701).

    p -= lr * d, d = sqrt(u + eps) / sqrt(v + eps) * g, with running means v of g^2 and u of d^2 of decay rho.
    """

    _graph_devices = "['cuda', 'xpu', 'hpu', 'privateuseone']"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        self._start(params, locals(), "lr rho eps weight_decay maximize capturable foreach differentiable")

    _init_group = collector(square_avgs="square_avg", acc_deltas="acc_delta", state_steps="step")
