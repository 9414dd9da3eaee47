"""Members of exponential families: their natural parameters, from which entropies and divergences follow."""

import pytest

import rushlight as torch
from rushlight import distributions as d
from rushlight.distributions.kl import _kl_expfamily_expfamily as bregman

t = torch.tensor
PAIRS = [
    (d.Bernoulli(t([0.2, 0.5])), d.Bernoulli(t([0.6, 0.1]))),
    (d.ContinuousBernoulli(t([0.2, 0.5])), d.ContinuousBernoulli(t([0.6, 0.5]))),
    (d.Exponential(t([1.0, 2.0])), d.Exponential(t([0.5, 3.0]))),
    (d.Gamma(t([1.0, 2.0]), t([0.5, 1.0])), d.Gamma(t([3.0, 0.5]), t([1.0, 2.0]))),
    (d.Normal(t([0.0, 1.0]), t([1.0, 2.0])), d.Normal(t([2.0, -1.0]), t([0.5, 1.0]))),
    (d.Poisson(t([1.0, 3.0])), d.Poisson(t([2.0, 0.5]))),
    (d.Beta(t([1.0, 3.0]), t([2.0, 0.5])), d.Beta(t([0.5, 2.0]), t([1.0, 1.5]))),
]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=[type(p).__name__ for p, _ in PAIRS])
def test_divergences_follow(p, q):
    torch.testing.assert_close(bregman(p, q), d.kl_divergence(p, q), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", [p for p, _ in PAIRS[:5]], ids=[type(p).__name__ for p, _ in PAIRS[:5]])
def test_entropies_follow(p):
    torch.testing.assert_close(d.ExponentialFamily.entropy(p), p.entropy(), rtol=1e-4, atol=1e-5)
