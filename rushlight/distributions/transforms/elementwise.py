"""Transforms of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.transforms.base import Alike, Transform
from rushlight.distributions.utils import broadcast_all
from rushlight.nn.functional import softplus


def _inside(y: Tensor) -> Tensor:
    limits = torch.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1 - limits.eps)


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, kept inside (0, 1)."""
    return _inside(torch.sigmoid(x))


class _Increasing(Alike):
    """An increasing function of all numbers, without parameters."""

    _only_here = True
    domain = constraints.real
    bijective, sign = True, +1


class ExpTransform(_Increasing):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log dy / dx = x of each element."""
        return x


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept inside (0, 1); the inverse is the log-odds."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return _inside(y).log() - (-_inside(y)).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log dy / dx of each element."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log dy / dx of each element."""
        return -softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x); its inverse is not finite at -1 and 1, which a cache avoids."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return torch.tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log dy / dx of each element, in a form that does not cancel for large x."""
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Alike):
    """y = |x|, with y as its inverse."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """y = x^exponent of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        [self.exponent] = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        """The exponent's: x^-1 is decreasing."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |exponent y / x| of each element."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape, broadcast with the exponent's."""
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """y = loc + scale x, of numbers or tensors; a value has `event_dim` dims."""

    bijective = True
    _arguments = ("loc", "scale", "_event_dim")

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many of the last dims are one value."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Real numbers."""
        real, dims = constraints.real, self.event_dim
        return constraints.independent(real, dims) if dims else real

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _equal(self.loc, other.loc)
            and _equal(self.scale, other.scale)
        )

    @property
    def sign(self) -> Any:
        """The scale's sign."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |scale|, summed over the value's dims."""
        found = (
            self.scale.abs().log()
            if isinstance(self.scale, Tensor)
            else torch.full_like(x, math.log(abs(self.scale)))
        )
        if not self.event_dim:
            return found.expand(x.shape)
        return found.reshape((*found.shape[: -self.event_dim], -1)).sum(-1).expand(x.shape[: -self.event_dim])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """Broadcast with loc's and scale's."""
        return torch.broadcast_shapes(shape, *[getattr(p, "shape", ()) for p in (self.loc, self.scale)])

    inverse_shape = forward_shape


def _equal(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else bool(same)


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x), whose inverse is icdf: for copulas."""

    bijective, codomain, sign = True, constraints.unit_interval, +1
    _arguments = ("distribution",)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The distribution's log-density at x."""
        return self.distribution.log_prob(x)
