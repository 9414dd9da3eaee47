# Written by `python tools/stubs.py`.
"""Distributions of probabilities."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.exp_family import ExponentialFamily
from typing import Any

class Beta(ExponentialFamily):
    """The first of two shares: density x^(a - 1) (1 - x)^(b - 1) / B(a, b), a is concentration1."""

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    @property
    def concentration0(self) -> Tensor: ...
    @property
    def concentration1(self) -> Tensor: ...
    def entropy(self) -> Tensor: ...
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the concentrations."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
class Dirichlet(ExponentialFamily):
    """Probabilities x of K classes, with density prod x_i^(c_i - 1) gamma(sum c) / prod gamma(c_i).

    The concentrations c (..., K) are positive.
    """

    concentration: Tensor | float
    def __init__(self, concentration: Tensor | float, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor:
        """Where the density is highest; a corner if all concentrations are below 1."""
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the concentrations."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
