"""Distributions made of others: transformed ones, whole vectors of them, mixtures."""
from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.continuous import Cauchy, Exponential, Gamma, Uniform
from rushlight.distributions.distribution import Distribution, broadcast, sum_rightmost
from rushlight.distributions.normal import Normal
from rushlight.distributions.transforms import (AbsTransform, AffineTransform, ComposeTransform, ExpTransform,
                                                PowerTransform, StickBreakingTransform, Transform)

EULER = 0.57721566490153286060


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` places are one value."""

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None) -> None:
        base, count = base_distribution, reinterpreted_batch_ndims
        if count > len(base.batch_shape):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                             f"actual {count} vs {len(base.batch_shape)}")
        shape, cut = base.batch_shape + base.event_shape, len(base.batch_shape) - count
        self.base_dist, self.reinterpreted_batch_ndims = base, count
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]
    support = property(  # type: ignore[assignment]
        lambda self: constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims))
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, without a gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """In nats."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """What transforms (one, or a list in order) make of values of a base distribution."""

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(
                isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        base, whole = base_distribution, ComposeTransform(self.transforms)
        shape, needed = base.batch_shape + base.event_shape, whole.domain.event_dim
        if len(shape) < needed:
            raise ValueError(f"base_distribution needs to have shape with size at least {needed}, but got "
                             f"{shape}.")
        forward = whole.forward_shape(shape)
        if (expanded := torch.Size(whole.inverse_shape(forward))) != shape:
            base = base.expand(expanded[:len(expanded) - len(base.event_shape)])
        own = len(base.event_shape)
        self.base_dist = Independent(base, needed - own) if needed > own else base
        events = max(whole.codomain.event_dim, own + whole.codomain.event_dim - needed)
        cut = len(forward) - events
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]

    @property
    def support(self) -> Any:  # type: ignore[override]
        """What the last transform gives."""
        found = self.transforms[-1].codomain if self.transforms else self.base_dist.support
        return constraints.independent(found, more) if (
            more := len(self._event_shape) - found.event_dim) > 0 else found

    def _through(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, without a gradient."""
        with torch.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values drawn, whose gradient flows into the parameters."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y, dims, total = self._checked(value), len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slope, dims - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _turned(self, value: Any) -> Any:
        sign = math.prod(transform.sign for transform in self.transforms)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        return self._through(self.base_dist.icdf(self._turned(value)))


_loc, _scale = (property(lambda self, n=n: getattr(self.base_dist, n)) for n in ("loc", "scale"))


class LogNormal(TransformedDistribution):
    """exp of a normal number."""

    arg_constraints = Normal.arg_constraints
    loc, scale = _loc, _scale

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(),
                         validate_args=validate_args)

    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())
    variance = property(lambda self: self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp())

    def entropy(self) -> Any:
        """In nats."""
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """|x| of a distribution around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]
    scale = _scale
    _of: type = Normal

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._of(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mode = property(lambda self: torch.zeros_like(self.scale))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = torch.as_tensor(value, dtype=self.scale.dtype)
        found = self.base_dist.log_prob(self._checked(value)) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of what is not larger."""
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, value: Any) -> Any:
        """What has this probability below it."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """In nats."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """|x| of a normal number."""

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """|x| of a Cauchy number."""

    _of = Cauchy
    mean = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)


class Gumbel(TransformedDistribution):
    """The largest of many numbers."""

    arg_constraints = Normal.arg_constraints
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps),
                       validate_args=validate_args)
        super().__init__(base, [ExpTransform().inv, AffineTransform(0, -torch.ones_like(self.scale)),
                                ExpTransform().inv, AffineTransform(self.loc, -self.scale)],
                         validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        y = (self.loc - self._checked(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Any:
        """In nats."""
        return self.scale.log() + (1 + EULER)


class Weibull(TransformedDistribution):
    """A power of an exponential number, times `scale`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        power = PowerTransform(self.concentration_reciprocal)
        super().__init__(base, [power, AffineTransform(0, self.scale)], validate_args=validate_args)

    mean = property(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())
    mode = property(lambda self: self.scale * (
        (self.concentration - 1) / self.concentration) ** self.concentration.reciprocal())
    variance = property(lambda self: self.scale.pow(2) * (
        (1 + 2 * self.concentration_reciprocal).lgamma().exp()
        - (2 * (1 + self.concentration_reciprocal).lgamma()).exp()))

    def entropy(self) -> Any:
        """In nats."""
        power = self.concentration_reciprocal
        return EULER * (1 - power) + (self.scale * power).log() + 1


class Pareto(TransformedDistribution):
    """At least `scale`; the probability to be beyond x falls as x ** -alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args),
                         [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    support = property(lambda self: constraints.greater_than_eq(self.scale))  # type: ignore[assignment]
    mode = property(lambda self: self.scale)

    @property
    def mean(self) -> Any:
        """inf where alpha is at most 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Any:
        """inf where alpha is at most 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Any:
        """In nats."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class InverseGamma(TransformedDistribution):
    """1 / x of a Gamma number."""

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mean = property(lambda self: torch.where(
        self.concentration > 1, self.rate / (self.concentration - 1), torch.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))
    variance = property(lambda self: torch.where(
        self.concentration > 2, self.rate.square() / (
            (self.concentration - 1).square() * (self.concentration - 2)), torch.inf))

    def entropy(self) -> Any:
        """In nats."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class LogisticNormal(TransformedDistribution):
    """Probabilities: a normal vector by StickBreakingTransform."""

    arg_constraints = Normal.arg_constraints
    support = constraints.simplex  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
