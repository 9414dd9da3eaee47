# Written by `python tools/stubs.py`.
"""Mixtures of distributions of one kind."""
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from typing import Any

class MixtureSameFamily(Distribution):
    """One of K components, which a Categorical of K classes chooses.

    component_distribution: its last batch dim has size K; mixture_distribution's batch fits the others.
    """

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None) -> None: ...
    def __repr__(self) -> Any: ...
    arg_constraints: dict[Any, Any]
    def cdf(self, x: Tensor) -> Tensor:
        """The probability of what is not larger."""
    @property
    def component_distribution(self) -> Any: ...
    def log_prob(self, x: Tensor) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mixture_distribution(self) -> Any: ...
    @property
    def support(self) -> Any: ...
    @property
    def variance(self) -> Tensor:
        """The components' mean variance and the variance of their means."""
