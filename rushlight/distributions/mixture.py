"""MixtureSameFamily: one of several distributions of a kind, by chance."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.constraints import Constraint
from rushlight.distributions.distribution import Distribution


class MixtureSameFamily(Distribution):
    """A Categorical (*batch, K classes) chooses among distributions of batch_shape (*batch, K)."""

    def __init__(self, mixture_distribution: Any, component_distribution: Any,
                 validate_args: bool | None = None) -> None:
        mixture, parts = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of "
                             "torch.distributions.Categorical")
        if not isinstance(parts, Distribution):
            raise ValueError("The Component distribution needs to be an instance of "
                             "torch.distributions.Distribution")
        batch = parts.batch_shape[:-1]
        if any(1 not in (a, b) and a != b for a, b in zip(reversed(mixture.batch_shape), reversed(batch))):
            raise ValueError(f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible "
                             f"with `component_distribution.batch_shape`({batch})")
        if (count := mixture.logits.shape[-1]) != parts.batch_shape[-1]:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({parts.batch_shape[-1]})")
        self.mixture_distribution, self.component_distribution = mixture, parts
        super().__init__(batch, parts.event_shape, validate_args=validate_args)

    @property
    def support(self) -> Any:  # type: ignore[override]
        """What all components allow."""
        base = self.component_distribution.support
        return Constraint(f"MixtureSameFamilyConstraint({base!r})", lambda value: base.check(
            value.unsqueeze(-1 - base.event_dim)).all(-1), base.event_dim, base.is_discrete)

    def _summed(self, values: Any) -> Any:
        events = len(self._event_shape)
        probs = self.mixture_distribution.probs
        return (probs.reshape(*probs.shape, *[1] * events) * values).sum(-1 - events)

    @property
    def mean(self) -> Any:
        """The components' means, weighed."""
        return self._summed(self.component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The components' variances, weighed, and that of their means."""
        away = self.component_distribution.mean - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._summed(self.component_distribution.variance) + self._summed(away.pow(2.0))

    def cdf(self, x: Any) -> Any:
        """The probability of what is not larger."""
        return self._summed(self.component_distribution.cdf(x.unsqueeze(-1 - len(self._event_shape))))

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density."""
        x = self._checked(x).unsqueeze(-1 - len(self._event_shape))
        weights = torch.log_softmax(self.mixture_distribution.logits, -1)
        return torch.logsumexp(self.component_distribution.log_prob(x) + weights, -1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, without a gradient."""
        with torch.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            index = chosen.reshape(*chosen.shape, 1, *[1] * len(self._event_shape))
            return drawn.gather(dim, index.expand(*chosen.shape, 1, *self._event_shape)).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
