# Written by `python tools/stubs.py`.
"""Distributions of numbers by their place and width."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from typing import Any

class Cauchy(_Placed):
    """Of the median `loc` and the half width `scale`: density 1 / (pi scale (1 + ((x - loc) / scale)^2)).

    It has no mean.
    """

    def cdf(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    def icdf(self, value: Any) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    @property
    def variance(self) -> Tensor: ...
class Laplace(_Placed):
    """Exponential on both sides of `loc`: density exp(-|x - loc| / scale) / (2 scale)."""

    def cdf(self, value: Any) -> Tensor:
        """The probability of what is not larger."""
    def entropy(self) -> Tensor: ...
    def icdf(self, value: Any) -> Tensor:
        """What has this probability below it."""
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    @property
    def variance(self) -> Tensor: ...
class Normal(_Placed, ExponentialFamily):
    """Of the mean `loc` and the standard deviation `scale` (tensors or numbers, broadcast).

    Its density is exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi)).
    """

    def cdf(self, value: Any) -> Tensor:
        """The probability of what is not larger."""
    def entropy(self) -> Tensor: ...
    def icdf(self, value: Any) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    @property
    def stddev(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
class Uniform(Distribution):
    """Of one density, 1 / (high - low), from `low` to below `high`."""

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None: ...
    @property
    def arg_constraints(self) -> Any: ...
    def cdf(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    has_rsample: bool
    def icdf(self, value: Any) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, -inf outside."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    @property
    def support(self) -> Any: ...
    @property
    def variance(self) -> Tensor: ...
class _Placed(Distribution):
    """Of a standard distribution's numbers times `scale`, plus `loc`, around which they are symmetric."""

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    has_rsample: bool
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    support: Any
