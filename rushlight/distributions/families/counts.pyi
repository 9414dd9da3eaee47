# Written by `python tools/stubs.py`.
"""Distributions of counts."""
from rushlight import Tensor
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.families.coins import LogOdds
from typing import Any

class Binomial(LogOdds):
    """Successes in `total_count` trials: the probability of k is (n choose k) probs^k (1 - probs)^(n - k)."""

    def __init__(self, total_count: float = 1, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor:
        """In nats; NotImplementedError unless all places have as many trials."""
    def enumerate_support(self, expand: bool = True) -> Tensor: ...
    has_enumerate_support: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the count's probability."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def support(self) -> Any: ...
    @property
    def variance(self) -> Tensor: ...
class NegativeBinomial(LogOdds):
    """Successes, of probability `probs`, before `total_count` failures (any number >= 0).

    The probability of k is gamma(n + k) / (k! gamma(n)) (1 - probs)^n probs^k: a Poisson distribution whose
    rate is a gamma variable.
    """

    def __init__(self, total_count: Any, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the count's probability."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class Poisson(ExponentialFamily):
    """Events of a `rate` in a unit of time: the probability of k is rate^k exp(-rate) / k!."""

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the count's probability."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
def clamp_by_zero(x: Tensor) -> Any:
    """max(x, 0), with the gradient 1/2 at 0."""
