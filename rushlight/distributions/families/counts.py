"""Distributions of counts."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions import constraints
from rushlight.distributions.constraints import nonnegative, nonnegative_integer
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.families.coins import LogOdds
from rushlight.distributions.families.gamma import Gamma
from rushlight.distributions.utils import broadcast_all, lazy_property
from rushlight.nn.functional import logsigmoid


class Poisson(ExponentialFamily):
    """Events of a `rate` in a unit of time: the probability of k is rate^k exp(-rate) / k!."""

    __module__ = f"{package()}.distributions.poisson"

    rate: Tensor

    arg_constraints = {"rate": nonnegative}
    support = nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        """rate."""
        return self.rate

    variance = mean

    @property
    def mode(self) -> Tensor:
        """The largest integer that is at most rate."""
        return self.rate.floor()

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the count's probability."""
        value, rate = broadcast_all(self._checked(value), self.rate)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (torch.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return torch.exp(x)


def clamp_by_zero(x: Tensor) -> Tensor:
    """max(x, 0), with the gradient 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


def _take_counted(
    made: LogOdds,
    validate_args: bool | None,
    total_count: Tensor | int,
    probs: Tensor | float | None,
    logits: Tensor | float | None,
) -> None:
    """Begin with a count of trials, in the dtype of the odds."""
    given = next((p for p in (probs, logits) if isinstance(p, Tensor)), None)
    if given is not None and isinstance(total_count, Tensor):
        total_count = total_count.type_as(given)
    made._take_odds(validate_args, probs, logits, total_count=total_count)


class Binomial(LogOdds):
    """Successes in `total_count` trials: the probability of k is (n choose k) probs^k (1 - probs)^(n - k)."""

    __module__ = f"{package()}.distributions.binomial"

    total_count: Tensor

    arg_constraints = {"total_count": constraints.nonnegative_integer, **LogOdds.arg_constraints}
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        _take_counted(self, validate_args, total_count, probs, logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """0 to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        """floor((n + 1) p), at most n."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the count's probability."""
        value, n = self._checked(value), self.total_count
        # n log(1 + exp(logits)), of an exponential that does not overflow.
        failing = n * clamp_by_zero(self.logits) + n * torch.log1p(torch.exp(-self.logits.abs()))
        orders = torch.lgamma(value + 1), torch.lgamma(n - value + 1)
        return value * self.logits - orders[0] - orders[1] - (failing - torch.lgamma(n + 1))

    def entropy(self) -> Tensor:
        """In nats; NotImplementedError unless all places have as many trials."""
        found = self.log_prob(self._counts("entropy", False))
        return -(found.exp() * found).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to total_count, which must be one number (NotImplementedError): (n + 1, *batch_shape)."""
        return self._counts("enumerate_support", expand)

    def _counts(self, what: str, expand: bool) -> Tensor:
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return self._enumerated(torch.arange(1 + most).to(self._param), expand)


class NegativeBinomial(LogOdds):
    """Successes, of probability `probs`, before `total_count` failures (any number >= 0).

    The probability of k is gamma(n + k) / (k! gamma(n)) (1 - probs)^n probs^k: a Poisson distribution whose
    rate is a gamma variable.
    """

    __module__ = f"{package()}.distributions.negative_binomial"

    total_count: Tensor

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | int,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        _take_counted(self, validate_args, total_count, probs, logits)

    @property
    def mean(self) -> Tensor:
        """n p / (1 - p)."""
        return self.total_count * torch.exp(self.logits)

    @property
    def variance(self) -> Tensor:
        """n p / (1 - p)^2."""
        return self.mean / torch.sigmoid(-self.logits)

    @property
    def mode(self) -> Tensor:
        """floor((n - 1) p / (1 - p)), at least 0."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the count's probability."""
        value, n = self._checked(value), self.total_count
        tosses = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = torch.lgamma(n + value) - torch.lgamma(1 + value) - torch.lgamma(n)
        return tosses + ways.masked_fill(n + value == 0, 0)
