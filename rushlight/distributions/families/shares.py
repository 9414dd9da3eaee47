"""Distributions of probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions.constraints import positive, positive_vector, simplex, unit_interval
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.families.implicit import (
    _dirichlet_rule as _Dirichlet_backward,  # noqa: F401
    standard_dirichlet,
)
from rushlight.distributions.utils import broadcast_all
from rushlight.nn.functional import one_hot


class Dirichlet(ExponentialFamily):
    """Probabilities x of K classes, with density prod x_i^(c_i - 1) gamma(sum c) / prod gamma(c_i).

    The concentrations c (..., K) are positive.
    """

    __module__ = f"{package()}.distributions.dirichlet"

    arg_constraints = {"concentration": positive_vector}
    support, has_rsample = simplex, True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """c over its sum, (..., K)."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self) -> Tensor:
        """mean (1 - mean) / (sum c + 1), (..., K)."""
        return self.mean * (1 - self.mean) / (self.concentration.sum(-1, True) + 1)

    @property
    def mode(self) -> Tensor:
        """Where the density is highest; a corner if all concentrations are below 1."""
        above = (self.concentration - 1).clamp(min=0)
        found = above / above.sum(-1, True)
        corner = one_hot(found.argmax(-1), found.shape[-1]).to(found)
        return torch.where((self.concentration < 1).all(-1, keepdim=True), corner, found)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the concentrations."""
        return standard_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return torch.xlogy(self.concentration - 1, self._checked(value)).sum(-1) - self._log_normalizer(
            self.concentration
        )

    def entropy(self) -> Tensor:
        """In nats."""
        c = self.concentration
        k, total = c.size(-1), c.sum(-1)
        return (
            self._log_normalizer(c)
            - (k - total) * torch.digamma(total)
            - ((c - 1) * torch.digamma(c)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The first of two shares: density x^(a - 1) (1 - x)^(b - 1) / B(a, b), a is concentration1."""

    __module__ = f"{package()}.distributions.beta"

    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support, has_rsample = unit_interval, True

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        both = torch.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """a, the exponent of x plus 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """b, the exponent of 1 - x plus 1."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        """a / (a + b)."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """(a - 1) / (a + b - 2), where a and b are above 1: the Dirichlet distribution's."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """a b / ((a + b)^2 (a + b + 1))."""
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the concentrations."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return self._dirichlet.log_prob(torch.stack([self._checked(value), 1.0 - value], -1))

    def entropy(self) -> Tensor:
        """The Dirichlet distribution's, in nats."""
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration1, self.concentration0)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)
