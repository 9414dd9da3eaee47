"""Relaxations of coins and classes: concrete distributions."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions import constraints
from rushlight.distributions.constraints import real, unit_interval
from rushlight.distributions.families.classes import Categorical, OfClasses
from rushlight.distributions.families.coins import LogOdds
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms import ExpTransform, SigmoidTransform
from rushlight.distributions.utils import broadcast_all, clamp_probs, of_base, probs_to_logits


class LogitRelaxedBernoulli(LogOdds):
    """The log-odds of RelaxedBernoulli's numbers: logistic around logits / temperature.

    C. J. Maddison, A. Mnih, Y. W. Teh, The concrete distribution, 2017, section B.
    """

    support = real

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take_odds(validate_args, probs, logits)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        shape = self._extended_shape(sample_shape)
        drawn = self._empty(sample_shape, self.probs).uniform_()
        odds = probs_to_logits(self.probs.expand(shape), is_binary=True)
        return (probs_to_logits(drawn, is_binary=True) + odds) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        value, logits = broadcast_all(self._checked(value), self.logits)
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1) that come near 0 or 1 as `temperature` (a tensor) goes to 0."""

    __module__ = f"{package()}.distributions.relaxed_bernoulli"

    arg_constraints = LogOdds.arg_constraints
    support, has_rsample = unit_interval, True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    temperature, logits, probs = of_base("temperature"), of_base("logits"), of_base("probs")


class ExpRelaxedCategorical(OfClasses):
    """The logarithm of RelaxedOneHotCategorical's vectors, in which its density is computed.

    C. J. Maddison, A. Mnih, Y. W. Teh, The concrete distribution, 2017, section C.3.
    """

    support, has_rsample = constraints.real_vector, True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take_classes(validate_args, probs, logits)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the parameters: logits and Gumbel numbers, normalised."""
        drawn = clamp_probs(self._empty(sample_shape, self.logits).uniform_())
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        k = self._event_shape[0]
        value, logits = broadcast_all(self._checked(value), self.logits)
        scale = torch.full_like(self.temperature, float(k)).lgamma() + (k - 1) * self.temperature.log()
        score = logits - value * self.temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probability vectors that come near one-hot ones as `temperature` (a tensor) goes to 0."""

    __module__ = f"{package()}.distributions.relaxed_categorical"

    arg_constraints = Categorical.arg_constraints
    support, has_rsample = constraints.simplex, True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(
            ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args),
            ExpTransform(),
            validate_args=validate_args,
        )

    temperature, logits, probs = of_base("temperature"), of_base("logits"), of_base("probs")
