# Written by `python tools/stubs.py`.
"""Gamma distributions and what is made of gamma numbers."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.transformed_distribution import TransformedDistribution
from typing import Any

class Chi2(Gamma):
    """The sum of `df` squares of standard normals: gamma of concentration df / 2 and rate 1 / 2."""

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    @property
    def df(self) -> Tensor: ...
class Exponential(ExponentialFamily):
    """The time to an event that comes with a rate: density rate exp(-rate x)."""

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def cdf(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    has_rsample: bool
    def icdf(self, value: Any) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the rate."""
    @property
    def stddev(self) -> Tensor: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class FisherSnedecor(Distribution):
    """The quotient of two chi-squared numbers of `df1` and `df2` degrees, each over its degrees."""

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the degrees."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
class Gamma(ExponentialFamily):
    """Density rate^c x^(c - 1) exp(-rate x) / gamma(c), where c is the `concentration`."""

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def cdf(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density; value may be a number."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, at least the smallest normal number; the gradient flows into the parameters."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
class InverseGamma(TransformedDistribution):
    """1 / x of x gamma with this concentration and rate."""

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    @property
    def concentration(self) -> Any: ...
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def rate(self) -> Any: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class StudentT(Distribution):
    """loc + scale x / sqrt(z / df), of a standard normal x and a chi-squared z of `df` degrees."""

    def __init__(self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    support: Any
    @property
    def variance(self) -> Tensor:
        """inf where df is at most 2, nan where it is at most 1."""
