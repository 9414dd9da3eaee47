"""RMSprop (Hinton's lecture 6e), plain and centered (arXiv:1308.0850)."""
from __future__ import annotations

from typing import Any

from rushlight.ops.scalar import m
from rushlight.optim.elementwise import Elementwise, Plan
from rushlight.optim.updates import Formula, P, gradient, lerp, mean_of_squares, plus, stored, symbols


def formula(maximize: bool, decay: bool, momentum: bool, centered: bool) -> Formula:
    """A centered mean of squares is the estimated variance."""
    squares, buffer, mean = symbols("square_avg momentum_buffer grad_avg")
    lr, alpha, eps, kept = symbols("lr alpha eps momentum")
    g = gradient(maximize, decay)
    second = mean_of_squares(squares, g, alpha)
    new, variance = {"square_avg": second}, second
    if centered:
        new["grad_avg"] = first = lerp(mean, g, 1 - alpha)
        variance = stored(m.fma(-first, first, second))
    below = stored(stored(m.sqrt(variance)) + eps)
    if not momentum:
        return Formula({"p": P - lr * g / below, **new}, ("lr", "alpha", "eps"))
    velocity = stored(stored(buffer * kept) + g / below)
    return Formula({"p": plus(P, velocity, -lr), "momentum_buffer": velocity, **new},
                   ("lr", "alpha", "eps", "momentum"))


class RMSprop(Elementwise):
    """Steps by the gradient over the root of the running mean of its squares."""

    _switches = ("maximize", "weight_decay", "momentum", "centered")
    _later = {"momentum": 0, "centered": False}
    _formula = staticmethod(formula)

    def __init__(self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False,
                 capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False) -> None:
        if not 0.0 <= alpha:
            raise ValueError(f"Invalid alpha value: {alpha}")
        self._start(params, locals(), "lr momentum alpha eps centered weight_decay capturable foreach "
                                      "maximize differentiable")

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", *(["momentum_buffer"] if group["momentum"] > 0 else []),
                *(["grad_avg"] if group["centered"] else []))

    def _options(self, group: dict[str, Any], plan: Plan) -> tuple[Any, ...]:
        return (group["maximize"], bool(group["weight_decay"]), group["momentum"] > 0,
                bool(group["centered"]))

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: Plan) -> list[Any]:
        return [lr, group["alpha"], group["eps"], *([group["momentum"]] if group["momentum"] > 0 else [])]
