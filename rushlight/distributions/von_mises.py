"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions.constraints import positive, real
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import lazy_property


class VonMises(Distribution):
    """Density exp(k cos(x - loc)) / (2 pi I0(k)) on a circle, where k is the `concentration`."""

    loc: Tensor
    concentration: Tensor

    arg_constraints = {"loc": real, "concentration": positive}
    support = real

    def __init__(
        self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        """loc: the circular mean."""
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        """1 - I1(k) / I0(k): the circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density; i0e is I0(k) exp(-k)."""
        turned = self.concentration * (torch.cos(self._checked(value) - self.loc) - 1)
        return turned - math.log(2 * math.pi) - torch.special.i0e(self.concentration).log()

    @lazy_property
    def _proposal_r(self) -> Tensor:
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        """Angles from -pi to pi, drawn in double precision.

        By rejection from a wrapped Cauchy (D. J. Best, N. I. Fisher, 1979), all places again until all are
        accepted; the last angle that was accepted counts.
        """
        loc, k, r = self.loc.double(), self.concentration.double(), self._proposal_r
        found = torch.empty(self._extended_shape(sample_shape), dtype=loc.dtype, device=loc.device)
        done = torch.zeros_like(found, dtype=torch.bool)
        while not done.all():
            first, second, third = torch.rand((3, *found.shape), dtype=loc.dtype, device=loc.device)
            z = torch.cos(math.pi * first)
            cosine = (1 + r * z) / (r + z)
            c = k * (r - cosine)
            accepted = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
            found = torch.where(accepted, (third - 0.5).sign() * cosine.acos(), found)
            done = done | accepted
        return ((found + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
