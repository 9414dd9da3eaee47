"""Mixtures of distributions of one kind."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.families.classes import Categorical


class MixtureSameFamily(Distribution):
    """One of K components, which a Categorical of K classes chooses.

    component_distribution: its last batch dim has size K; mixture_distribution's batch fits the others.
    """

    arg_constraints = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution"
            )
        chosen, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(a != b and 1 not in (a, b) for a, b in zip(reversed(chosen), reversed(batch))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
        classes, k = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if classes != k:
            raise ValueError(
                f"`mixture_distribution component` ({classes}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({k})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(batch, component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The Categorical that chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The K components, along the last batch dim."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """What all components allow."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _mixed(self, value: Tensor) -> Tensor:
        """The mean over the components of (*batch, K, *event)."""
        dims = len(self._event_shape)
        weights = self._mixture_distribution.probs
        return (weights.reshape((*weights.shape, *[1] * dims)) * value).sum(-1 - dims)

    def _for_each(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The components' means, weighed by their probabilities."""
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The components' mean variance and the variance of their means."""
        apart = (self._component_distribution.mean - self._for_each(self.mean)).pow(2)
        return self._mixed(self._component_distribution.variance) + self._mixed(apart)

    def cdf(self, x: Tensor) -> Tensor:
        """The probability of what is not larger."""
        found = self._component_distribution.cdf(self._for_each(x))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithm of the density."""
        found = self._component_distribution.log_prob(self._for_each(self._checked(x)))
        return torch.logsumexp(found + torch.log_softmax(self._mixture_distribution.logits, -1), -1)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        """Of each component, of which one is taken."""
        chosen = self._mixture_distribution.sample(sample_shape)
        drawn = self._component_distribution.sample(sample_shape)
        dim = len(sample_shape) + len(self._batch_shape)
        places = chosen.reshape((*chosen.shape, *[1] * (len(self._event_shape) + 1)))
        places = places.expand((*chosen.shape, 1, *self._event_shape))
        return drawn.gather(dim, places).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
