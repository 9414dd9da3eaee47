"""torch.distributions: those of its distributions that models sample from and weigh values by."""
from __future__ import annotations

from typing import Any

from rushlight.distributions import constraints as constraints
from rushlight.distributions.bernoulli import Bernoulli
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.multivariate_normal import MultivariateNormal
from rushlight.distributions.normal import Normal

__all__ = ["Bernoulli", "Categorical", "Distribution", "MultivariateNormal", "Normal"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'torch.distributions' has no attribute {name!r} in Rushlight yet; "
                         f"there are {', '.join(__all__)}")
