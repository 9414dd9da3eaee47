# Written by `python tools/stubs.py`.
"""Distributions whose density is exp(<t(x), theta> - F(theta) + k(x))."""
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from typing import Any

class ExponentialFamily(Distribution):
    """theta are the `_natural_params`, F is the `_log_normalizer` of these, and t(x) what they weigh.

    The mean of t(x) is F's gradient. From that follow the entropy, F - <theta, grad F> less the mean of the
    carrier k(x), and divergences within a family, which are F's Bregman divergences (F. Nielsen, R. Nock,
    Entropies and cross-entropies of exponential families, 2010). Members say shorter forms.
    """

    def entropy(self) -> Tensor:
        """In nats, by the gradient of the log normaliser."""
def bregman(p: Any, q: Any) -> Any:
    """The divergence of p from q, of one family: F(q) - F(p) - <q - p, grad F(p)>."""
