"""Gamma distributions and what is made of gamma numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions.constraints import nonnegative, positive, real
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.families.implicit import standard_gamma
from rushlight.distributions.transformed_distribution import TransformedDistribution
from rushlight.distributions.transforms.elementwise import PowerTransform
from rushlight.distributions.utils import broadcast_all, of_base


class Exponential(ExponentialFamily):
    """The time to an event that comes with a rate: density rate exp(-rate x)."""

    __module__ = f"{package()}.distributions.exponential"

    rate: Tensor

    arg_constraints = {"rate": positive}
    support, has_rsample = nonnegative, True
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        """1 / rate."""
        return self.rate.reciprocal()

    stddev = mean

    @property
    def mode(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        """1 / rate^2."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the rate."""
        return self._empty(sample_shape, self.rate).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """log(rate) - rate x."""
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Tensor) -> Tensor:
        """1 - exp(-rate x)."""
        return 1 - torch.exp(-self.rate * self._checked(value))

    def icdf(self, value: Tensor) -> Tensor:
        """-log(1 - p) / rate."""
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """1 - log(rate)."""
        return 1.0 - torch.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -torch.log(-x)


class Gamma(ExponentialFamily):
    """Density rate^c x^(c - 1) exp(-rate x) / gamma(c), where c is the `concentration`."""

    __module__ = f"{package()}.distributions.gamma"

    concentration: Tensor
    rate: Tensor

    arg_constraints = {"concentration": positive, "rate": positive}
    support, has_rsample = nonnegative, True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        """c / rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """(c - 1) / rate, at least 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """c / rate^2."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, at least the smallest normal number; the gradient flows into the parameters."""
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density; value may be a number."""
        value = self._checked(torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        return (
            torch.xlogy(self.concentration, self.rate)
            + torch.xlogy(self.concentration - 1, value)
            - self.rate * value
            - torch.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        """The regularized lower incomplete gamma function of c at rate x."""
        return torch.special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        """In nats."""
        c = self.concentration
        return c - torch.log(self.rate) + torch.lgamma(c) + (1 - c) * torch.digamma(c)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-1 / y)


class Chi2(Gamma):
    """The sum of `df` squares of standard normals: gamma of concentration df / 2 and rate 1 / 2."""

    __module__ = f"{package()}.distributions.chi2"

    arg_constraints = {"df": positive}
    _constrained = Gamma.arg_constraints

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom, 2 c."""
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """1 / x of x gamma with this concentration and rate."""

    __module__ = f"{package()}.distributions.inverse_gamma"

    arg_constraints = {"concentration": positive, "rate": positive}
    support, has_rsample = positive, True

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration, rate = of_base("concentration"), of_base("rate")

    @property
    def mode(self) -> Tensor:
        """rate / (c + 1)."""
        return self.rate / (self.concentration + 1)

    @property
    def mean(self) -> Tensor:
        """rate / (c - 1), inf for c <= 1."""
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def variance(self) -> Tensor:
        """rate^2 / ((c - 1)^2 (c - 2)), inf for c <= 2."""
        return torch.where(
            self.concentration > 2,
            self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2)),
            math.inf,
        )

    def entropy(self) -> Tensor:
        """In nats."""
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()


class FisherSnedecor(Distribution):
    """The quotient of two chi-squared numbers of `df1` and `df2` degrees, each over its degrees."""

    __module__ = f"{package()}.distributions.fishersnedecor"

    df2: Tensor
    df1: Tensor

    arg_constraints = {"df1": positive, "df2": positive}
    support, has_rsample = positive, True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        df1, df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = (Gamma(df * 0.5, df) for df in (df1, df2))
        self._take(validate_args, df1=df1, df2=df2)

    def _above(self, least: float) -> Tensor:
        return self.df2.masked_fill(self.df2 <= least, math.nan)

    @property
    def mean(self) -> Tensor:
        """df2 / (df2 - 2), NaN for df2 <= 2."""
        return self._above(2) / (self._above(2) - 2)

    @property
    def mode(self) -> Tensor:
        """(df1 - 2) / df1 * df2 / (df2 + 2), NaN for df1 <= 2."""
        return ((self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)).masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        """2 df2^2 (df1 + df2 - 2) / (df1 (df2 - 2)^2 (df2 - 4)), NaN for df2 <= 4."""
        return (
            2
            * self._above(4).pow(2)
            * (self.df1 + self._above(4) - 2)
            / (self.df1 * (self._above(4) - 2).pow(2) * (self._above(4) - 4))
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the degrees."""
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        least = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=least)).clamp(min=least)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        value, half1, half2, ratio = self._checked(value), self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        rise = half1 * ratio.log() + (half1 - 1) * torch.log(value)
        return norm + rise - (half1 + half2) * torch.log1p(ratio * value)


class StudentT(Distribution):
    """loc + scale x / sqrt(z / df), of a standard normal x and a chi-squared z of `df` degrees."""

    __module__ = f"{package()}.distributions.studentT"

    loc: Tensor
    df: Tensor
    scale: Tensor

    arg_constraints = {"df": positive, "loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        df, loc, scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(df)
        self._take(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mode(self) -> Tensor:
        """loc."""
        return self.loc

    @property
    def mean(self) -> Tensor:
        """loc, NaN for df <= 1."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self) -> Tensor:
        """inf where df is at most 2, nan where it is at most 1."""
        inner = torch.where(self.df > 2, self.df, 3.0)
        found = torch.where(self.df > 2, self.scale.pow(2) * inner / (inner - 2), math.inf)
        return found.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        drawn = self._empty(sample_shape, self.df).normal_()
        return self.loc + self.scale * (drawn * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        y = (self._checked(value) - self.loc) / self.scale
        norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1))
        )
        return -0.5 * (self.df + 1) * torch.log1p(y**2 / self.df) - norm

    def entropy(self) -> Tensor:
        """In nats."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(more)
        return (
            self.scale.log() + more * (torch.digamma(more) - torch.digamma(half)) + 0.5 * self.df.log() + beta
        )
