"""The distribution of a class."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution, inner, lazy, one_of


class Categorical(Distribution):
    """Classes 0 .. K-1 by their probabilities (..., K) or logarithms of these, up to a factor."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self.__dict__[name] = (given / given.sum(-1, keepdim=True) if logits is None
                               else given - given.logsumexp(-1, keepdim=True))
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy
    def logits(self) -> Any:
        """Logarithms of the probabilities."""
        return inner(self.probs).log()

    @lazy
    def probs(self) -> Any:
        """The probabilities, which sum to 1."""
        return self.logits.softmax(-1)

    @property
    def support(self) -> Any:  # type: ignore[override]
        """The classes' numbers."""
        return constraints.integer_interval(0, self._num_events - 1)

    mean = variance = property(
        lambda self: torch.full(self._extended_shape(), torch.nan, dtype=self.probs.dtype))
    mode = property(lambda self: self.probs.argmax(-1))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Classes as int64."""
        shape = torch.Size(sample_shape)
        found = torch.multinomial(self.probs.reshape(-1, self._num_events), shape.numel(), True).T
        return found.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of each class's probability."""
        value, logits = torch.broadcast_tensors(self._checked(value).long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """In nats."""
        return -(self.logits.clamp(min=torch.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    param_shape = property(lambda self: vars(self).get("probs", vars(self).get("logits")).shape)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All classes along a new first dim."""
        values = torch.arange(self._num_events).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
