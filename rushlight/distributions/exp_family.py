"""Distributions whose density is exp(<t(x), theta> - F(theta) + k(x))."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import absent, sum_rightmost


class ExponentialFamily(Distribution):
    """theta are the `_natural_params`, F is the `_log_normalizer` of these, and t(x) what they weigh.

    The mean of t(x) is F's gradient. From that follow the entropy, F - <theta, grad F> less the mean of the
    carrier k(x), and divergences within a family, which are F's Bregman divergences (F. Nielsen, R. Nock,
    Entropies and cross-entropies of exponential families, 2010). Members say shorter forms.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise absent(self, "_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise absent(self, "_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Tensor | float:
        raise absent(self, "_mean_carrier_measure")

    def _with_gradients(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """The natural parameters, F, and F's gradient by each of them."""
        thetas = [theta.detach().requires_grad_() for theta in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*thetas)
            return thetas, normalizer, torch.autograd.grad(normalizer.sum(), thetas, create_graph=True)

    def entropy(self) -> Tensor:
        """In nats, by the gradient of the log normaliser."""
        carrier = self._mean_carrier_measure
        thetas, found, means = self._with_gradients()
        found = found - carrier
        for theta, mean in zip(thetas, means):
            found = found - (theta * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return found


def bregman(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The divergence of p from q, of one family: F(q) - F(p) - <q - p, grad F(p)>."""
    thetas, normalizer, means = p._with_gradients()
    found = q._log_normalizer(*q._natural_params) - normalizer
    for theta, other, mean in zip(thetas, q._natural_params, means):
        found = found - sum_rightmost((other - theta) * mean, len(q.event_shape))
    return found
