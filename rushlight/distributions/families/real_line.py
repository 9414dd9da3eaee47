"""Distributions of numbers by their place and width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions.constraints import (
    dependent_property,
    greater_than,
    interval,
    less_than,
    positive,
    real,
)
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily


class _Placed(Distribution):
    """Of a standard distribution's numbers times `scale`, plus `loc`, around which they are symmetric."""

    _only_here = True
    loc: Tensor
    scale: Tensor

    arg_constraints = {"loc": real, "scale": positive}
    support, has_rsample = real, True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        """loc."""
        return self.loc

    mode = mean


class Normal(_Placed, ExponentialFamily):
    """Of the mean `loc` and the standard deviation `scale` (tensors or numbers, broadcast).

    Its density is exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi)).
    """

    __module__ = f"{package()}.distributions.normal"
    _mean_carrier_measure = 0

    @property
    def stddev(self) -> Tensor:
        """scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """scale^2."""
        return self.scale.pow(2)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        return self.loc + self._empty(sample_shape, self.loc).normal_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        away = (self._checked(value) - self.loc) ** 2 / (2 * self.variance)
        return -away - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not larger."""
        steps = (self._checked(value) - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + torch.erf(steps / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        """loc + scale sqrt(2) erfinv(2 p - 1)."""
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """1/2 + log(2 pi) / 2 + log(scale)."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.loc / self.scale**2, -0.5 / self.scale**2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x**2 / y + 0.5 * torch.log(-math.pi / y)


class Cauchy(_Placed):
    """Of the median `loc` and the half width `scale`: density 1 / (pi scale (1 + ((x - loc) / scale)^2)).

    It has no mean.
    """

    __module__ = f"{package()}.distributions.cauchy"

    @property
    def mean(self) -> Tensor:
        """NaN: there is none."""
        return self._all(math.nan, self.loc)

    @property
    def variance(self) -> Tensor:
        """inf."""
        return self._all(math.inf, self.loc)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        return self.loc + self._empty(sample_shape, self.loc).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        steps = (self._checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (steps**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """atan((x - loc) / scale) / pi + 1/2."""
        return torch.atan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """loc + scale tan(pi (p - 1/2))."""
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4 pi) + log(scale)."""
        return math.log(4 * math.pi) + self.scale.log()


class Laplace(_Placed):
    """Exponential on both sides of `loc`: density exp(-|x - loc| / scale) / (2 scale)."""

    __module__ = f"{package()}.distributions.laplace"

    @property
    def variance(self) -> Tensor:
        """2 scale^2."""
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        least = torch.finfo(self.loc.dtype).eps - 1
        drawn = self._empty(sample_shape, self.loc).uniform_(least, 1)
        return self.loc - self.scale * drawn.sign() * torch.log1p(-drawn.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return -torch.log(2 * self.scale) - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not larger."""
        away = self._checked(value) - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        """What has this probability below it."""
        away = value - 0.5
        return self.loc - self.scale * away.sign() * torch.log1p(-2 * away.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 scale)."""
        return 1 + torch.log(2 * self.scale)


class Uniform(Distribution):
    """Of one density, 1 / (high - low), from `low` to below `high`."""

    __module__ = f"{package()}.distributions.uniform"

    high: Tensor
    low: Tensor

    has_rsample = True

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        """Which values the parameters may have: low < high."""
        return {"low": less_than(self.high), "high": greater_than(self.low)}

    @property
    def mean(self) -> Tensor:
        """(low + high) / 2."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: every value is as probable."""
        return math.nan * self.high

    @property
    def variance(self) -> Tensor:
        """(high - low)^2 / 12."""
        return (self.high - self.low).pow(2) / 12

    @dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From low to high."""
        return interval(self.low, self.high)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        drawn = self._empty(sample_shape, self.low).uniform_()
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, -inf outside."""
        value = self._checked(value)
        within = ((self.low <= value) & (value < self.high)).type_as(self.low)
        return torch.log(within) - torch.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        """(x - low) / (high - low), from 0 to 1."""
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """low + p (high - low)."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """log(high - low)."""
        return torch.log(self.high - self.low)
