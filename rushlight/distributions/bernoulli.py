"""The distribution of a coin."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution, broadcast, inner, lazy, one_of
from rushlight.nn.functional import binary_cross_entropy_with_logits


class Odds(Distribution):
    """Of a probability `probs`, or its log-odds `logits`; one of them is given."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        [self.__dict__[name]] = broadcast(given)
        super().__init__(self.__dict__[name].shape, validate_args=validate_args)

    @lazy
    def logits(self) -> Any:
        """The logarithm of p / (1 - p)."""
        probs = inner(self.probs)
        return probs.log() - (-probs).log1p()

    @lazy
    def probs(self) -> Any:
        """The probability of 1."""
        return self.logits.sigmoid()

    param_shape = property(lambda self: vars(self).get("probs", vars(self).get("logits")).shape)


class Bernoulli(Odds):
    """1 with probability `probs`."""

    support = constraints.boolean
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, torch.nan))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Zeros and ones of the parameters' dtype."""
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the value's probability."""
        value = self._checked(value)
        logits, value = broadcast(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        """In nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1 along a new first dim."""
        values = torch.arange(2, dtype=self.probs.dtype).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
