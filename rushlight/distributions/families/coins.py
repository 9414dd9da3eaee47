"""Distributions of a probability, which may be given by its log-odds instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight import Size, Tensor
from rushlight._engine.lazy import package
from rushlight.distributions import constraints
from rushlight.distributions.constraints import boolean, nonnegative_integer, unit_interval
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    one_of,
    probs_to_logits,
)
from rushlight.nn.functional import binary_cross_entropy_with_logits


class LogOdds(Distribution):
    """`probs` or `logits` = log(probs / (1 - probs)) is given; the other is computed when it is read."""

    _only_here = True
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def _take_odds(
        self,
        validate_args: bool | None,
        probs: Tensor | float | None,
        logits: Tensor | float | None,
        **others: Any,
    ) -> None:
        name, given = one_of(probs, logits)
        self._take(validate_args, **others, **{name: given})

    @lazy_property
    def logits(self) -> Tensor:
        """log(probs / (1 - probs))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The sigmoid of the logits."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of whichever was given, probs or logits."""
        return self._param.size()


class Bernoulli(LogOdds, ExponentialFamily):
    """1 with probability `probs`, whose log-odds are `logits`, else 0; one of them is given."""

    __module__ = f"{package()}.distributions.bernoulli"

    support, has_enumerate_support = boolean, True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take_odds(validate_args, probs, logits)

    @property
    def mean(self) -> Tensor:
        """probs."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        """1 where probs > 1/2, 0 where it is less; NaN at 1/2."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the value's probability."""
        value, logits = broadcast_all(self._checked(value), self.logits)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """-p log p - (1 - p) log(1 - p), in nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1 along dim 0."""
        return self._enumerated(torch.arange(2).to(self._param), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return torch.log1p(torch.exp(x))


class ContinuousBernoulli(LogOdds, ExponentialFamily):
    """Numbers of [0, 1] with density C(p) p^x (1 - p)^(1 - x), where p is `probs`.

    G. Loaiza-Ganem, J. P. Cunningham, The continuous Bernoulli, 2019. Between `lims`, around p = 1/2, where
    the formulas are 0 / 0, their Taylor series are used.
    """

    __module__ = f"{package()}.distributions.continuous_bernoulli"

    support, has_rsample = unit_interval, True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: Any = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        one_of(probs, logits)
        self._lims = lims
        if probs is not None:
            [given] = broadcast_all(probs)
            if validate_args and not unit_interval.check(given).all():
                raise ValueError("The parameter probs has invalid values")
            probs = clamp_probs(given)
        self._take_odds(validate_args, probs, logits)

    @lazy_property
    def probs(self) -> Tensor:
        """The sigmoid of the logits, kept off 0 and 1 by the dtype's precision."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _either(
        self, formula: Callable[[Tensor, Tensor], Tensor], series: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """formula(p, its log-odds) away from 1/2, series(p - 1/2) near it; gradients do not mix."""
        p = self.probs
        far = (p <= self._lims[0]) | (p > self._lims[1])
        inner = torch.where(far, p, self._lims[0])
        return torch.where(far, formula(inner, torch.log(inner) - torch.log1p(-inner)), series(p - 0.5))

    def _cont_bern_log_norm(self) -> Tensor:
        """log C(p) = log(log-odds / (2 p - 1))."""
        return self._either(
            lambda p, odds: torch.log(odds.abs()) - torch.log((1 - 2 * p).abs()),
            lambda x: math.log(2) + (4 / 3 + 104 / 45 * x**2) * x**2,
        )

    @property
    def mean(self) -> Tensor:
        """p / (2 p - 1) - 1 / log-odds."""
        return self._either(
            lambda p, odds: p / (2 * p - 1) - 1 / odds, lambda x: 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        )

    @property
    def variance(self) -> Tensor:
        """p (p - 1) / (1 - 2 p)^2 + 1 / log-odds^2."""
        return self._either(
            lambda p, odds: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / odds**2,
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x**2) * x**2,
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values drawn, whose gradient flows into the parameters."""
        return self.icdf(self._empty(sample_shape, self.probs).uniform_())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        value, logits = broadcast_all(self._checked(value), self.logits)
        tosses = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return tosses + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not larger."""
        value = self._checked(value)
        found = self._either(
            lambda p, _: (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), lambda _: value
        )
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, found))

    def icdf(self, value: Tensor) -> Tensor:
        """What has this probability below it."""
        return self._either(
            lambda p, odds: (torch.log1p(-p + value * (2 * p - 1)) - torch.log1p(-p)) / odds, lambda _: value
        )

    def entropy(self) -> Tensor:
        """In nats."""
        failing, success = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (failing - success) - self._cont_bern_log_norm() - failing

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims
        near = (x > low - 0.5) & (x < high - 0.5)
        apart = torch.where(near, low - 0.5, x)
        series = 0.5 * x + x**2 / 24 - x**4 / 2880
        return torch.where(near, series, ((torch.exp(apart) - 1).abs() / apart.abs()).log())


class Geometric(LogOdds):
    """Failures before the first success: the probability of k is (1 - probs)^k probs."""

    __module__ = f"{package()}.distributions.geometric"

    support = nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take_odds(validate_args, probs, logits)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) "
                f"of distribution {self!r} to be positive but found invalid values:\n"
                f"{self.probs.data[~(self.probs > 0)]}"
            )

    @property
    def mean(self) -> Tensor:
        """1 / p - 1."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1 / p - 1) / p."""
        return (1 / self.probs - 1) / self.probs

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        """By a uniform number's logarithm to the base 1 - probs."""
        least = torch.finfo(self.probs.dtype).tiny
        drawn = self._empty(sample_shape, self.probs).uniform_(least, 1)
        return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the count's probability."""
        value, probs = broadcast_all(self._checked(value), self.probs)
        # 0^0 is 1.
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        """In nats: a coin's for each toss."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
