"""Distributions of what transforms make of another distribution's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Size, Tensor
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.independent import Independent
from rushlight.distributions.transforms.base import ComposeTransform, Transform
from rushlight.distributions.utils import sum_rightmost


class TransformedDistribution(Distribution):
    """Of y = t(x), with x of the base distribution: its density at y is x's over |det dy / dx|.

    transforms: a Transform or a list of them, the first of which is the first to be applied.
    """

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        base, dims = base_distribution, len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        before, after = whole.domain.event_dim, whole.codomain.event_dim
        shape = base.batch_shape + base.event_shape
        if len(shape) < before:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {before}, but got {shape}."
            )
        # Parameters of the transforms may have a larger batch than the base.
        made = torch.Size(whole.forward_shape(shape))
        expanded = torch.Size(whole.inverse_shape(made))
        if shape != expanded:
            base = base.expand(expanded[: len(expanded) - dims])
        self.base_dist = Independent(base, before - dims) if before > dims else base
        cut = len(made) - max(after, dims + after - before)
        super().__init__(made[:cut], made[cut:], validate_args=validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name != "base_dist":
            return super()._expanded(name, value, batch_shape)
        shape = torch.Size(ComposeTransform(self.transforms).inverse_shape(batch_shape + self._event_shape))
        return value.expand(shape[: len(shape) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The last transform's codomain."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self) -> bool:
        """Whether the base distribution can draw with gradients."""
        return self.base_dist.has_rsample

    def _forward(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters of the base and of the transforms."""
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        y, dims = self._checked(value), len(self._event_shape)
        found: Tensor | float = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            found = found - sum_rightmost(
                transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim
            )
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, probability: Tensor) -> Tensor:
        """A probability of what lies below, or above where the transforms decrease."""
        sign = ComposeTransform(self.transforms).sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not larger; the base distribution has to tell its own."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The transforms of the base's icdf, at 1 - p where they are decreasing."""
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
