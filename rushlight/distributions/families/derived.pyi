# Written by `python tools/stubs.py`.
"""What transforms make of normal and Cauchy numbers."""
from rushlight import Tensor
from rushlight.distributions.transformed_distribution import TransformedDistribution
from typing import Any

class Half(TransformedDistribution):
    """Of a base distribution around 0 of some `scale`: twice its density from 0 on."""

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def cdf(self, value: Any) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    has_rsample: bool
    def icdf(self, prob: Any) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, -inf below 0."""
    @property
    def mode(self) -> Tensor: ...
    @property
    def scale(self) -> Tensor: ...
    support: Any
class HalfCauchy(Half):
    """|x| of x Cauchy around 0 with half width `scale`; its mean is inf."""

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, -inf below 0; value may be a number where checks are off."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
class HalfNormal(Half):
    """|x| of x normal with mean 0 and standard deviation `scale`."""

    @property
    def mean(self) -> Tensor: ...
    @property
    def variance(self) -> Tensor: ...
class LogNormal(TransformedDistribution):
    """exp(x) of x normal with mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor: ...
    has_rsample: bool
    @property
    def loc(self) -> Any: ...
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    @property
    def scale(self) -> Any: ...
    support: Any
    @property
    def variance(self) -> Tensor: ...
class LogisticNormal(TransformedDistribution):
    """Probability vectors of K classes, which a stick-breaking transform makes of K - 1 normal numbers."""

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    has_rsample: bool
    @property
    def loc(self) -> Tensor: ...
    @property
    def scale(self) -> Tensor: ...
    support: Any
