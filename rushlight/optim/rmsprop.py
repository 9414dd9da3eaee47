"""RMSprop (Hinton's lecture 6e), plain and centered (arXiv:1308.0850)."""

from __future__ import annotations

from rushlight._engine.ops.expressions import m
from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim.elementwise import Elementwise
from rushlight.optim.optimizer import ParamsT
from rushlight.optim.updates import (
    Formula,
    P,
    collector,
    gradient,
    lerp,
    mean_of_squares,
    plus,
    stored,
    symbols,
)


def formula(maximize: bool, weight_decay: bool, momentum: bool, centered: bool) -> Formula:
    """A centered mean of squares is the estimated variance."""
    squares, buffer, mean = symbols("square_avg momentum_buffer grad_avg")
    lr, alpha, eps, kept = symbols("lr alpha eps momentum")
    g = gradient(maximize, weight_decay)
    second = mean_of_squares(squares, g, alpha)
    first = lerp(mean, g, 1 - alpha)
    variance = stored(m.fma(-first, first, second)) if centered else second
    below = stored(stored(m.sqrt(variance)) + eps)
    new = {"p": P - lr * g / below, "square_avg": second}
    if momentum:
        new["momentum_buffer"] = velocity = stored(stored(buffer * kept) + g / below)
        new["p"] = plus(P, velocity, -lr)
    return {**new, "grad_avg": first} if centered else new


class RMSprop(Elementwise, formula=formula):
    """Steps by the gradient over the root of the running mean of its squares (G. Hinton, lecture 6e).

    p -= lr * g / (sqrt(v) + eps) with v = alpha v + (1 - alpha) g^2. centered: v less the square of the
    running mean of g. momentum: of the steps; weight_decay: an L2 penalty, added to g.
    """

    _defaults_of_older_groups = {"momentum": 0, "centered": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not alpha >= 0.0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        self._start(
            params,
            locals(),
            "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable",
        )

    _init_group = collector(
        square_avgs="square_avg",
        momentum_buffer_list="momentum_buffer",
        grad_avgs="grad_avg",
        state_steps="step",
    )
