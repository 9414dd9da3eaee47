"""What transforms make of normal and Cauchy numbers."""

from __future__ import annotations

import math

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions.constraints import nonnegative, positive, real, simplex
from rushlight.distributions.families.real_line import Cauchy, Normal, _Placed
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms.elementwise import AbsTransform, ExpTransform
from rushlight.distributions.transforms.structured import StickBreakingTransform
from rushlight.distributions.utils import of_base


class Half(TransformedDistribution):
    """Of a base distribution around 0 of some `scale`: twice its density from 0 on."""

    _only_here = True
    _whole: type[_Placed]
    base_dist: _Placed

    arg_constraints = {"scale": positive}
    support, has_rsample = nonnegative, True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._whole(0, scale, False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The base distribution's."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, -inf below 0."""
        value = self._checked(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """2 F(x) - 1 of the base's F."""
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        """The base's at (p + 1) / 2."""
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        """The base's, less log 2."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Half):
    """|x| of x normal with mean 0 and standard deviation `scale`."""

    __module__ = f"{package()}.distributions.half_normal"

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        """scale sqrt(2 / pi)."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """scale^2 (1 - 2 / pi)."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(Half):
    """|x| of x Cauchy around 0 with half width `scale`; its mean is inf."""

    __module__ = f"{package()}.distributions.half_cauchy"

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        """inf."""
        return self._all(math.inf, self.scale)

    @property
    def variance(self) -> Tensor:
        """The Cauchy distribution's: inf."""
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, -inf below 0; value may be a number where checks are off."""
        if not self._validate_args:
            value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return super().log_prob(value)


class LogNormal(TransformedDistribution):
    """exp(x) of x normal with mean `loc` and standard deviation `scale`."""

    __module__ = f"{package()}.distributions.log_normal"

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = positive, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(
            Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args
        )

    loc, scale = of_base("loc"), of_base("scale")

    @property
    def mean(self) -> Tensor:
        """exp(loc + scale^2 / 2)."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        """exp(loc - scale^2)."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        """(exp(scale^2) - 1) exp(2 loc + scale^2)."""
        return self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp()

    def entropy(self) -> Tensor:
        """The normal's, plus loc."""
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Probability vectors of K classes, which a stick-breaking transform makes of K - 1 normal numbers."""

    __module__ = f"{package()}.distributions.logistic_normal"

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = simplex, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(
            base if base.batch_shape else base.expand([1]),
            StickBreakingTransform(),
            validate_args=validate_args,
        )

    # The base is Independent's batch of a normal distribution.
    loc, scale = of_base("base_dist.loc"), of_base("base_dist.scale")
