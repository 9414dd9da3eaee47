"""Distributions of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import rushlight as torch
from rushlight import Size, Tensor
from rushlight._engine.lazy import package
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.families.counts import Binomial
from rushlight.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    one_of,
    probs_to_logits,
)
from rushlight.nn.functional import one_hot


class Categorical(Distribution):
    """Classes 0 .. K-1 by their probabilities (..., K) or logarithms of these, up to a factor."""

    __module__ = f"{package()}.distributions.categorical"

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = one_of(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        setattr(
            self,
            name,
            given / given.sum(-1, keepdim=True)
            if logits is None
            else given - given.logsumexp(-1, keepdim=True),
        )
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """Log-probabilities (..., K), normalised."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities (..., K), which sum to 1."""
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of probs and logits, (..., K)."""
        return self._param.size()

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The classes' numbers."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """NaN: classes have no mean."""
        return self._all(math.nan, self.probs)

    variance = mean

    @property
    def mode(self) -> Tensor:
        """The most probable class, int64: batch_shape."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Classes as int64."""
        shape = torch.Size(sample_shape)
        found = torch.multinomial(self.probs.reshape(-1, self._num_events), shape.numel(), True).T
        return found.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of each class's probability."""
        value, logits = torch.broadcast_tensors(self._checked(value).long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """-sum p log p, in nats; log-probabilities of -inf count as 0."""
        return -(self.logits.clamp(min=torch.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The classes' numbers along dim 0."""
        return self._enumerated(torch.arange(self._num_events, device=self._param.device), expand)


class OfClasses(Distribution):
    """Distributions of vectors with a number for each class; `_categorical` holds the parameters."""

    _only_here = True
    _categorical: Categorical

    arg_constraints = Categorical.arg_constraints

    @property
    def probs(self) -> Tensor:
        """Probabilities (..., K), which sum to 1."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Log-probabilities (..., K), normalised."""
        return self._categorical.logits

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        """The shape of probs and logits, (..., K)."""
        return self._categorical.param_shape

    def _take_classes(
        self, validate_args: bool | None, probs: Tensor | float | None, logits: Tensor | float | None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        Distribution.__init__(self, self._categorical.batch_shape, self.param_shape[-1:], validate_args)


class OneHotCategorical(OfClasses):
    """Vectors (..., K) with a one at a class drawn by probabilities (..., K) or their logarithms."""

    __module__ = f"{package()}.distributions.one_hot_categorical"

    support, has_enumerate_support = constraints.one_hot, True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take_classes(validate_args, probs, logits)

    @property
    def mean(self) -> Tensor:
        """The probabilities (..., K)."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """p (1 - p) of each class, (..., K)."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        """A one at the most probable class, (..., K)."""
        return self._hot(self._categorical.mode)

    def _hot(self, classes: Tensor) -> Tensor:
        return one_hot(classes, self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors of the parameters' dtype."""
        return self._hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-probability of the class at which a value (..., K) has its one: (...)."""
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self) -> Tensor:
        """Of the class, in nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The K vectors along dim 0."""
        return self._enumerated(torch.eye(*self._event_shape).to(self._param), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """With samples whose gradient is taken for the probabilities' (Y. Bengio et al., 2013)."""

    __module__ = f"{package()}.distributions.one_hot_categorical"

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn; their gradient flows into the probabilities as it is."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfClasses):
    """Counts (..., K) of `total_count` classes drawn: the probability is n! prod p_i^x_i / prod x_i!."""

    __module__ = f"{package()}.distributions.multinomial"

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._take_classes(validate_args, probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Counts that sum to at most total_count."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p, (..., K)."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """n p (1 - p) of each class, (..., K)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Counts of the parameters' dtype."""
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the counts' probability."""
        value, logits = broadcast_all(self._checked(value), self.logits)
        # 0^0 is 1.
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """In nats: of the classes drawn, less that of their order."""
        n = torch.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        orders = (self._binomial.log_prob(counts).exp() * torch.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + orders
