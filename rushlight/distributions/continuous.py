"""Distributions of numbers: Uniform, Exponential, Laplace, Cauchy, Gamma and what is made of gammas."""
from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution, Parametric, broadcast, noise

_real_positive = {"loc": constraints.real, "scale": constraints.positive}


class Uniform(Parametric):
    """Between `low` and `high`."""

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        super().__init__(low, high, validate_args=validate_args)
        if self._validate_args and not (self.low < self.high).all():
            raise ValueError("Uniform is not defined when low>= high")

    support = property(lambda self: constraints.interval(self.low, self.high))  # type: ignore[assignment]
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: torch.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12 ** 0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        drawn = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """In nats."""
        return (self.high - self.low).log()


class Exponential(Parametric):
    """Times between events of a rate."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        return 1 - torch.exp(-self.rate * self._checked(value))

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        """In nats."""
        return 1.0 - self.rate.log()


class Laplace(Parametric):
    """Of the mean `loc`; the distance from it is exponential, of the mean `scale`."""

    arg_constraints = _real_positive
    support = constraints.real
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2 ** 0.5 * self.scale)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        u = self._uniform(self.loc, sample_shape, torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return -(2 * self.scale).log() - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        away = self._checked(value) - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self) -> Any:
        """In nats."""
        return 1 + torch.log(2 * self.scale)


class Cauchy(Parametric):
    """The quotient of two normal numbers, moved by `loc` and times `scale`."""

    arg_constraints = _real_positive
    support = constraints.real
    mean = property(lambda self: torch.full(self._extended_shape(), torch.nan, dtype=self.loc.dtype))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: torch.full(self._extended_shape(), torch.inf, dtype=self.loc.dtype))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        away = (self._checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (away ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        return torch.atan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        """In nats."""
        return math.log(4 * math.pi) + self.scale.log()


class Gamma(Parametric):
    """Of the shape `concentration`, over `rate`."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        shape = self._extended_shape(sample_shape)
        drawn = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        drawn.detach().clamp_(min=torch.finfo(drawn.dtype).tiny)
        return drawn

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        value, shape, rate = self._checked(value), self.concentration, self.rate
        return torch.xlogy(shape, rate) + torch.xlogy(shape - 1, value) - rate * value - shape.lgamma()

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        return torch.special.gammainc(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Any:
        """In nats."""
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()


class Chi2(Gamma):
    """The sum of `df` squares of normal numbers."""

    arg_constraints = {"df": constraints.positive}  # type: ignore[assignment]

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        Parametric.__init__(self, df, validate_args=validate_args)
        self.concentration, self.rate = 0.5 * self.df, torch.full_like(self.df, 0.5)


class StudentT(Parametric):
    """A normal number over the root of a Chi2(df) over df; times `scale`, plus `loc`."""

    arg_constraints = {"df": constraints.positive, **_real_positive}
    defaults = {"loc": 0.0, "scale": 1.0}
    support = constraints.real
    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, torch.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        """Of those that have one."""
        found = self.scale.pow(2) * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, torch.inf).masked_fill(self.df <= 1, torch.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        normal = noise(self.df, self._extended_shape(sample_shape))
        return self.loc + self.scale * (normal * (Chi2(self.df).rsample(sample_shape) / self.df).rsqrt())

    def _beta(self) -> Any:
        return torch.lgamma(0.5 * self.df) - torch.lgamma(0.5 * (self.df + 1))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        away = (self._checked(value) - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + self._beta()
        return -0.5 * (self.df + 1.0) * torch.log1p(away ** 2.0 / self.df) - norm

    def entropy(self) -> Any:
        """In nats."""
        steps = torch.digamma(0.5 * (self.df + 1)) - torch.digamma(0.5 * self.df)
        return (self.scale.log() + 0.5 * (self.df + 1) * steps + 0.5 * self.df.log() + self._beta()
                + math.lgamma(0.5))


class Dirichlet(Distribution):
    """Probabilities (..., K) of `concentration` (..., K)."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Any:
        """The likeliest probabilities; a corner where all concentrations are below 1."""
        above = (self.concentration - 1).clamp(min=0.0)
        found, corner = above / above.sum(-1, True), (self.concentration < 1).all(-1, True)
        ends = torch.nn.functional.one_hot(found.argmax(-1), found.shape[-1]).to(found)
        return torch.where(corner, ends, found)

    @property
    def variance(self) -> Any:
        """Of each probability."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        a, value = self.concentration, self._checked(value)
        return torch.xlogy(a - 1.0, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        """In nats."""
        a, total = self.concentration, self.concentration.sum(-1)
        return (a.lgamma().sum(-1) - total.lgamma() - (a.shape[-1] - total) * total.digamma()
                - ((a - 1.0) * a.digamma()).sum(-1))


class Beta(Distribution):
    """A probability: the first of a Dirichlet of two."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        pair = torch.stack(broadcast(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])
    variance = property(lambda self: self._dirichlet.variance[..., 0])

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self._checked(value)
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        """In nats."""
        return self._dirichlet.entropy()
