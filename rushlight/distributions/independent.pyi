# Written by `python tools/stubs.py`.
"""Batches of distributions as distributions of larger values."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from typing import Any

class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch dims are dims of the value."""

    base_dist: Any
    reinterpreted_batch_ndims: Any
    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: Any, validate_args: bool | None = None) -> None: ...
    def __repr__(self) -> Any: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor: ...
    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The base distribution's; NotImplementedError if batch dims were reinterpreted."""
    @property
    def has_enumerate_support(self) -> bool: ...
    @property
    def has_rsample(self) -> bool: ...
    def log_prob(self, value: Any) -> Tensor:
        """The sum of the parts'."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, without a gradient."""
    @property
    def support(self) -> Any:
        """What the base distribution's support is for each part."""
    @property
    def variance(self) -> Tensor: ...
