"""Relaxed coins and classes: continuous neighbours of theirs, which have gradients."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.bernoulli import Odds
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.discrete import OfCategories
from rushlight.distributions.distribution import broadcast, inner
from rushlight.distributions.transformed import TransformedDistribution
from rushlight.distributions.transforms import ExpTransform, SigmoidTransform


class LogitRelaxedBernoulli(Odds):
    """The log-odds of RelaxedBernoulli."""

    support = constraints.real
    has_rsample, shared = True, ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        shape = self._extended_shape(sample_shape)
        probs, drawn = inner(self.probs.expand(shape)), inner(torch.rand(shape, dtype=self.probs.dtype))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        logits, value = broadcast(self.logits, self._checked(value))
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class ExpRelaxedCategorical(OfCategories):
    """The logarithm of RelaxedOneHotCategorical."""

    support = constraints.real_vector
    has_rsample, shared = True, ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        drawn = inner(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-(drawn.log())).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        logits, value = broadcast(self.logits, self._checked(value))
        k = self._categorical._num_events
        norm = torch.full_like(self.temperature, float(k)).lgamma() + self.temperature.log().mul(k - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + norm


class _Relaxed(TransformedDistribution):
    """Of temperature, probs or logits."""

    _of: Any
    _by: Any
    temperature, probs, logits = (property(lambda self, n=n: getattr(self.base_dist, n))
                                  for n in ("temperature", "probs", "logits"))

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(self._of(temperature, probs, logits), self._by(), validate_args=validate_args)


class RelaxedBernoulli(_Relaxed):
    """Numbers from 0 to 1 near a coin's, the nearer the lower the temperature."""

    _of, _by, arg_constraints = LogitRelaxedBernoulli, SigmoidTransform, Odds.arg_constraints


class RelaxedOneHotCategorical(_Relaxed):
    """Probabilities near one-hot vectors, the nearer the lower the temperature."""

    _of, _by, arg_constraints = ExpRelaxedCategorical, ExpTransform, Categorical.arg_constraints
    support = constraints.simplex  # type: ignore[assignment]
