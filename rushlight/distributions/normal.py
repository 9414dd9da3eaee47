"""The normal distribution."""
from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution, broadcast, noise


class Normal(Distribution):
    """Of the mean `loc` and the standard deviation `scale` (tensors or numbers, broadcast)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, without a gradient."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return self.loc + noise(self.loc, self._extended_shape(sample_shape)) * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        away = (self._checked(value) - self.loc) ** 2 / (2 * self.variance)
        return -away - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        steps = (self._checked(value) - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + torch.erf(steps / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """In nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)
