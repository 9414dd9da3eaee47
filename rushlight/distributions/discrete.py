"""Distributions of counts and of one-hot vectors: Poisson, Geometric, Binomial, Multinomial and others."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.bernoulli import Odds
from rushlight.distributions.categorical import Categorical
from rushlight.distributions.continuous import Gamma
from rushlight.distributions.distribution import Distribution, Parametric, broadcast, one_of
from rushlight.nn.functional import binary_cross_entropy_with_logits, logsigmoid, one_hot


class Poisson(Parametric):
    """How many events of a rate happen."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    has_rsample = False
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, of the rate's dtype."""
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the count's probability."""
        rate, value = broadcast(self.rate, self._checked(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class Geometric(Odds):
    """How many trials of success `probs` fail before one succeeds."""

    support = constraints.nonnegative_integer
    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs}")

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, of the parameters' dtype."""
        with torch.no_grad():
            drawn = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(
                torch.finfo(self.probs.dtype).tiny, 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the count's probability."""
        value, probs = broadcast(self._checked(value), self.probs)
        sure = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-sure).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """In nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class _Trials(Odds):
    """Trials of one probability, `total_count` of them."""

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        count, given = broadcast(total_count, probs if logits is None else logits)
        self.total_count = count.type_as(given)
        super().__init__(*((given, None) if logits is None else (None, given)), validate_args)


class Binomial(_Trials):
    """How many of `total_count` trials succeed."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, **Odds.arg_constraints}
    has_enumerate_support = True
    support = property(  # type: ignore[assignment]
        lambda self: constraints.integer_interval(0, self.total_count))
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, of the parameters' dtype."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the count's probability."""
        value, n, odds = self._checked(value), self.total_count, self.logits
        norm = n * odds.clamp(min=0) + n * (-odds.abs()).exp().log1p() - (n + 1).lgamma()
        return value * odds - (value + 1).lgamma() - (n - value + 1).lgamma() - norm

    def entropy(self) -> Any:
        """In nats; NotImplementedError for unequal counts."""
        weights = self.log_prob(self.enumerate_support(False))
        return -(weights.exp() * weights).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All counts along a new first dim; NotImplementedError for unequal total counts."""
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = torch.arange(1 + most, dtype=self.total_count.dtype)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class NegativeBinomial(_Trials):
    """How many trials succeed before `total_count` have failed."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer
    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts, of the parameters' dtype."""
        with torch.no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return torch.poisson(rate)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the count's probability."""
        value, n = self._checked(value), self.total_count
        odds = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return odds - norm.masked_fill(n + value == 0.0, 0.0)


class OfCategories(Distribution):
    """What vectors (..., K) say of K classes, whose probabilities or logits are given."""

    arg_constraints = Categorical.arg_constraints

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)


class OneHotCategorical(OfCategories):
    """Vectors with a one at a class's place."""

    support = constraints.one_hot
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        """The likeliest class's vector."""
        return one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors of the probabilities' dtype."""
        drawn = self._categorical.sample(torch.Size(sample_shape))
        return one_hot(drawn, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of each vector's probability."""
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self) -> Any:
        """In nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All vectors along a new first dim."""
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self.probs.dtype).view(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose values have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Vectors drawn, whose gradient flows into the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfCategories):
    """How often each class comes in `total_count` draws."""

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    support = property(lambda self: constraints.multinomial(self.total_count))  # type: ignore[assignment]
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts of the probabilities' dtype."""
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the counts' probability."""
        logits, value = broadcast(self.logits, self._checked(value))
        logits = logits.masked_fill((value == 0) & (logits == -torch.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Any:
        """In nats."""
        n, single = torch.tensor(self.total_count), Binomial(self.total_count, self.probs)
        support = single.enumerate_support(False)[1:]
        weights = (single.log_prob(support).exp() * (support + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + weights
