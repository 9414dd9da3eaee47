"""PostLocalSGDOptimizer: an optimizer, and an averager that comes after each step."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.distributed.algorithms.model_averaging.averagers import ModelAverager
from rushlight.optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """`optim`, whose parameters `averager` averages after each step if it is time."""

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's, with the averager's count as "step"."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what state_dict() gave; a warning, and a count of 0, where it has no "step"."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warn(
                "Loaded state dict does not contain a step counter for an averager. "
                "Setting step counter to 0."
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:
        """One step, and the average if it is time."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """The optimizer's zero_grad()."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """The optimizer's add_param_group()."""
        self.optim.add_param_group(param_group)
