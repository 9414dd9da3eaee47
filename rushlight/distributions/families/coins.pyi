# Written by `python tools/stubs.py`.
"""Distributions of a probability, which may be given by its log-odds instead."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from typing import Any

class Bernoulli(LogOdds, ExponentialFamily):
    """1 with probability `probs`, whose log-odds are `logits`, else 0; one of them is given."""

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor: ...
    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1 along dim 0."""
    has_enumerate_support: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the value's probability."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class ContinuousBernoulli(LogOdds, ExponentialFamily):
    """Numbers of [0, 1] with density C(p) p^x (1 - p)^(1 - x), where p is `probs`.

    G. Loaiza-Ganem, J. P. Cunningham, The continuous Bernoulli, 2019. Between `lims`, around p = 1/2, where
    the formulas are 0 / 0, their Taylor series are used.
    """

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None) -> None: ...
    def cdf(self, value: Any) -> Tensor:
        """The probability of what is not larger."""
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def icdf(self, value: Any) -> Tensor:
        """What has this probability below it."""
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor:
        """p / (2 p - 1) - 1 / log-odds."""
    @property
    def probs(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    support: Any
    @property
    def variance(self) -> Tensor:
        """p (p - 1) / (1 - 2 p)^2 + 1 / log-odds^2."""
class Geometric(LogOdds):
    """Failures before the first success: the probability of k is (1 - probs)^k probs."""

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None, validate_args: bool | None = None) -> None: ...
    def entropy(self) -> Tensor:
        """In nats: a coin's for each toss."""
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the count's probability."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class LogOdds(Distribution):
    """`probs` or `logits` = log(probs / (1 - probs)) is given; the other is computed when it is read."""

    arg_constraints: dict[Any, Any]
    @property
    def logits(self) -> Tensor: ...
    @property
    def param_shape(self) -> Any: ...
    @property
    def probs(self) -> Tensor: ...
