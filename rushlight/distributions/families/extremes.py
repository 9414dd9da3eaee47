"""Distributions of extremes and of what lasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions.constraints import (
    dependent_property,
    greater_than_eq,
    interval,
    positive,
    real,
    unit_interval,
)
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.families.gamma import Exponential
from rushlight.distributions.families.real_line import Uniform
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms.elementwise import AffineTransform, ExpTransform, PowerTransform
from rushlight.distributions.utils import broadcast_all, euler_constant


class Gumbel(TransformedDistribution):
    """loc - scale log(-log u) of a uniform u: density exp(y - exp(y)) / scale of y = (loc - x) / scale."""

    __module__ = f"{package()}.distributions.gumbel"

    arg_constraints = {"loc": real, "scale": positive}
    support = real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        base = Uniform(
            torch.full_like(self.loc, limits.tiny),
            torch.full_like(self.loc, 1 - limits.eps),
            validate_args=validate_args,
        )
        super().__init__(
            base,
            [
                ExpTransform().inv,
                AffineTransform(0, -torch.ones_like(self.scale)),
                ExpTransform().inv,
                AffineTransform(loc, -self.scale),
            ],
            validate_args=validate_args,
        )

    @property
    def mean(self) -> Tensor:
        """loc + scale * Euler's constant."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """loc."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """pi scale / sqrt(6)."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        """pi^2 scale^2 / 6."""
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        y = (self.loc - self._checked(value)) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        """log(scale) + 1 + Euler's constant."""
        return self.scale.log() + (1 + euler_constant)


class Weibull(TransformedDistribution):
    """scale x^(1 / k) of an exponential x, where k is the `concentration`."""

    __module__ = f"{package()}.distributions.weibull"

    arg_constraints = {"scale": positive, "concentration": positive}
    support = positive

    def __init__(
        self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def concentration_reciprocal(self) -> Tensor:
        """1 / concentration."""
        return self.concentration.reciprocal()

    def _moment(self, n: int) -> Tensor:
        """The mean of (x / scale)^n."""
        return torch.exp(torch.lgamma(1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        """scale gamma(1 + 1 / k)."""
        return self.scale * self._moment(1)

    @property
    def variance(self) -> Tensor:
        """scale^2 (gamma(1 + 2 / k) - gamma(1 + 1 / k)^2)."""
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    @property
    def mode(self) -> Tensor:
        """scale ((k - 1) / k)^(1 / k)."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    def entropy(self) -> Tensor:
        """In nats."""
        each = self.concentration_reciprocal
        return euler_constant * (1 - each) + torch.log(self.scale * each) + 1


class Pareto(TransformedDistribution):
    """Density alpha scale^alpha / x^(alpha + 1) from `scale` on."""

    __module__ = f"{package()}.distributions.pareto"

    arg_constraints = {"alpha": positive, "scale": positive}

    def __init__(
        self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(
            Exponential(self.alpha, validate_args=validate_args),
            [ExpTransform(), AffineTransform(0, self.scale)],
            validate_args=validate_args,
        )

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From scale on."""
        return greater_than_eq(self.scale)

    @property
    def mode(self) -> Tensor:
        """scale."""
        return self.scale

    @property
    def mean(self) -> Tensor:
        """alpha scale / (alpha - 1), inf for alpha <= 1."""
        return self._power(1) * self.scale / (self._power(1) - 1)

    @property
    def variance(self) -> Tensor:
        """scale^2 alpha / ((alpha - 1)^2 (alpha - 2)), inf for alpha <= 2."""
        return self.scale.pow(2) * self._power(2) / ((self._power(2) - 1).pow(2) * (self._power(2) - 2))

    def _power(self, least: Any) -> Tensor:
        return self.alpha.clamp(min=least)

    def entropy(self) -> Tensor:
        """log(scale / alpha) + 1 + 1 / alpha."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """What exceeds a threshold: P(x > loc + scale z) is (1 + c z)^(-1 / c), exp(-z) for concentration c = 0.

    S. Coles, An introduction to statistical modeling of extreme values, 2001, section 4.2.
    """

    __module__ = f"{package()}.distributions.generalized_pareto"

    concentration: Tensor
    loc: Tensor
    scale: Tensor

    arg_constraints = {"loc": real, "scale": positive, "concentration": real}
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From loc on, up to loc - scale / c for negative c."""
        most = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return interval(self.loc, most)

    def _parts(self) -> tuple[Tensor, Tensor]:
        """Where c counts as 0, and c with 1 in those places, which spoils no gradient."""
        none = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return none, torch.where(none, 1.0, self.concentration)

    @property
    def mode(self) -> Tensor:
        """loc."""
        return self.loc

    def _moment(self, most: float, moment: Callable[[Tensor], Tensor]) -> Tensor:
        """A moment of c, which exists below `most`."""
        there = self.concentration < most
        return torch.where(there, moment(torch.where(there, self.concentration, most / 2)), math.nan)

    @property
    def mean(self) -> Tensor:
        """loc + scale / (1 - c) for concentrations c < 1, else inf."""
        return self._moment(1, lambda c: self.loc + self.scale / (1 - c))

    @property
    def variance(self) -> Tensor:
        """scale^2 / ((1 - c)^2 (1 - 2 c)) for concentrations c < 1/2, else inf."""
        return self._moment(0.5, lambda c: self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        return self.icdf(self._empty(sample_shape, self.loc).uniform_())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        z = (self._checked(value) - self.loc) / self.scale
        none, c = self._parts()
        power = 1 / c + torch.ones_like(z)
        fall = torch.where(power == 0, power, power * torch.log1p(c * z))
        return -self.scale.log() - torch.where(none, z, fall)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of what is larger."""
        z = (self._checked(value) - self.loc) / self.scale
        none, c = self._parts()
        return torch.where(none, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """log(1 - P(x > value))."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        """1 - P(x > value)."""
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """What has this probability below it."""
        none, c = self._parts()
        log = torch.log1p(-value)
        return self.loc + self.scale * torch.where(none, -log, torch.expm1(-c * log) / c)

    def entropy(self) -> Tensor:
        """log(scale) + c + 1."""
        return torch.log(self.scale) + self.concentration + 1


class Kumaraswamy(TransformedDistribution):
    """Density a b x^(a - 1) (1 - x^a)^(b - 1), of concentration1 a and concentration0 b.

    P. Kumaraswamy, A generalized probability density function for double-bounded random processes, 1980;
    moments and entropy: M. C. Jones, Kumaraswamy's distribution, 2009.
    """

    __module__ = f"{package()}.distributions.kumaraswamy"

    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support, has_rsample = unit_interval, True

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            torch.zeros_like(self.concentration0),
            torch.ones_like(self.concentration0),
            validate_args=validate_args,
        )
        super().__init__(
            base,
            [
                PowerTransform(self.concentration0.reciprocal()),
                AffineTransform(1.0, -1.0),
                PowerTransform(self.concentration1.reciprocal()),
            ],
            validate_args=validate_args,
        )

    def _moment(self, n: int) -> Tensor:
        """The mean of x^n: b B(1 + n / a, b)."""
        b, place = self.concentration0, 1 + n / self.concentration1
        return b * torch.exp(torch.lgamma(place) + torch.lgamma(b) - torch.lgamma(place + b))

    @property
    def mean(self) -> Tensor:
        """b B(1 + 1 / a, b)."""
        return self._moment(1)

    @property
    def variance(self) -> Tensor:
        """b B(1 + 2 / a, b) - mean^2."""
        return self._moment(2) - self._moment(1).pow(2)

    def _peak(self, a: Tensor, b: Tensor) -> Tensor:
        return ((a - 1) / (a * b - 1)).pow(a.reciprocal()).masked_fill((b < 1) | (a < 1), math.nan)

    # nan where a or b is below 1; PyTorch's is nan everywhere.

    @property
    def mode(self) -> Tensor:
        """((a - 1) / (a b - 1))^(1 / a); NaN where the density has no peak."""
        return self._peak(self.concentration1, self.concentration0)

    def entropy(self) -> Tensor:
        """In nats."""
        a, b = self.concentration1, self.concentration0
        t1, t0 = 1 - a.reciprocal(), 1 - b.reciprocal()
        return t0 + t1 * (torch.digamma(b + 1) + euler_constant) - torch.log(a) - torch.log(b)
