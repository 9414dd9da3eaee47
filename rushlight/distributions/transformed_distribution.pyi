# Written by `python tools/stubs.py`.
"""Distributions of what transforms make of another distribution's values."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from typing import Any

class TransformedDistribution(Distribution):
    """Of y = t(x), with x of the base distribution: its density at y is x's over |det dy / dx|.

    transforms: a Transform or a list of them, the first of which is the first to be applied.
    """

    base_dist: Any
    transforms: Any
    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def cdf(self, value: Any) -> Tensor:
        """The probability of what is not larger; the base distribution has to tell its own."""
    @property
    def has_rsample(self) -> bool: ...
    def icdf(self, value: Any) -> Tensor: ...
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters of the base and of the transforms."""
    @property
    def support(self) -> Any:
        """The last transform's codomain."""
