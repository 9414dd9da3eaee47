"""Batches of distributions as distributions of larger values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight import Tensor
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import of_base, sum_rightmost


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch dims are dims of the value."""

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether the base distribution can draw with gradients."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """Whether the base distribution lists its values, and no batch dim became one of the value."""
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """What the base distribution's support is for each part."""
        found = self.base_dist.support
        more = self.reinterpreted_batch_ndims
        return constraints.independent(found, more) if more else found

    mean, mode, variance = of_base("mean"), of_base("mode"), of_base("variance")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, without a gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The sum of the parts'."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The base's, summed over the dims that are the value's now."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The base distribution's; NotImplementedError if batch dims were reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
