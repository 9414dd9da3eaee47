# Written by `python tools/stubs.py`.
"""Distributions of extremes and of what lasts."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.transformed_distribution import TransformedDistribution
from typing import Any

class GeneralizedPareto(Distribution):
    """What exceeds a threshold: P(x > loc + scale z) is (1 + c z)^(-1 / c), exp(-z) for concentration c = 0.

    S. Coles, An introduction to statistical modeling of extreme values, 2001, section 4.2.
    """

    def __init__(self, loc: Tensor | float, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def cdf(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    has_rsample: bool
    def icdf(self, value: Any) -> Tensor:
        """What has this probability below it."""
    def log_cdf(self, value: Any) -> Any: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of what is larger."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    @property
    def support(self) -> Any:
        """From loc on, up to loc - scale / c for negative c."""
    @property
    def variance(self) -> Tensor: ...
class Gumbel(TransformedDistribution):
    """loc - scale log(-log u) of a uniform u: density exp(y - exp(y)) / scale of y = (loc - x) / scale."""

    loc: Any
    scale: Any
    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def stddev(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class Kumaraswamy(TransformedDistribution):
    """Density a b x^(a - 1) (1 - x^a)^(b - 1), of concentration1 a and concentration0 b.

    P. Kumaraswamy, A generalized probability density function for double-bounded random processes, 1980;
    moments and entropy: M. C. Jones, Kumaraswamy's distribution, 2009.
    """

    concentration0: Any
    concentration1: Any
    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class Pareto(TransformedDistribution):
    """Density alpha scale^alpha / x^(alpha + 1) from `scale` on."""

    alpha: Any
    scale: Any
    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def support(self) -> Any: ...
    @property
    def variance(self) -> Tensor: ...
class Weibull(TransformedDistribution):
    """scale x^(1 / k) of an exponential x, where k is the `concentration`."""

    concentration: Any
    scale: Any
    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    @property
    def concentration_reciprocal(self) -> Any: ...
    def entropy(self) -> Tensor:
        """In nats."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
