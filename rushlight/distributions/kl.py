"""torch.distributions.kl: how far one distribution lies from another."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import distributions as D
from rushlight.distributions.distribution import sum_rightmost
from rushlight.distributions.transformed import EULER
from rushlight.nn.functional import softplus

_KNOWN: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorator: f(p, q) is kl_divergence of these types and their subclasses. TypeError for other types."""
    for given in (type_p, type_q):
        if not (isinstance(given, type) and issubclass(given, D.Distribution)):
            raise TypeError(f"Expected type_p and type_q to be Distribution subclasses but got {given}")

    def register(f: Any) -> Any:
        _KNOWN[type_p, type_q] = f
        return f
    return register


def kl_divergence(p: Any, q: Any) -> Any:
    """The mean of log p - log q under p, in nats, of the batch's shape.

    NotImplementedError where nothing is known of the two types.
    """
    order = type(p).__mro__, type(q).__mro__
    found = [(order[0].index(a) + order[1].index(b), f) for (a, b), f in _KNOWN.items()
             if isinstance(p, a) and isinstance(q, b)]
    if not found:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
                                  f"{type(q).__name__}")
    return min(found, key=lambda entry: entry[0])[1](p, q)


def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return one + zero.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


def _categorical(p: Any, q: Any) -> Any:
    each = p.probs * (p.logits - q.logits)
    return each.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    steps = (a - b) * (a.digamma() - a.sum(-1).digamma().unsqueeze(-1))
    return a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + steps.sum(-1)


def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


def _gumbel(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + away + ratio * EULER + ((1 + ratio).lgamma() - away).exp() - (1 + EULER)


def _laplace(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not "
                                  "implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, math.inf)


def _vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot "
                         "be computed")
    logs = [d._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) for d in (q, p)]
    spread = torch.linalg.solve_triangular(q._factor, p._factor, upper=False).pow(2).sum((-2, -1))
    away = torch.linalg.solve_triangular(q._factor, (q.loc - p.loc).unsqueeze(-1), upper=False).pow(2)
    return logs[0] - logs[1] + 0.5 * (spread + away.sum((-2, -1)) - p.event_shape[0])


def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


def _uniform(p: Any, q: Any) -> Any:
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(
        (q.low > p.low) | (q.high < p.high), math.inf)


def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence of transformed distributions needs the same transforms")
    return kl_divergence(p.base_dist, q.base_dist)


def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence of Independent needs the same reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _to_normal(p: Any, q: Any) -> Any:
    """From a distribution whose mean and variance are known."""
    away = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + away


def _exponential(p: Any, q: Any) -> Any:
    return q.rate / p.rate - (q.rate / p.rate).log() - 1


def _normal_laplace(p: Any, q: Any) -> Any:
    away = (p.loc - q.loc) / p.scale
    bell = math.sqrt(2 / math.pi) * (-0.5 * away.pow(2)).exp() + away * torch.erf(math.sqrt(0.5) * away)
    return -(p.scale / q.scale).log() + p.scale / q.scale * bell - (0.5 * (1 + math.log(0.5 * math.pi)))


_SAME = {
    D.Normal: _normal, D.Bernoulli: _bernoulli, D.Categorical: _categorical, D.Dirichlet: _dirichlet,
    D.OneHotCategorical: lambda p, q: _categorical(p._categorical, q._categorical),
    D.Beta: lambda p, q: _dirichlet(p._dirichlet, q._dirichlet), D.Gamma: _gamma, D.Gumbel: _gumbel,
    D.Geometric: lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    D.HalfNormal: lambda p, q: _normal(p.base_dist, q.base_dist), D.Laplace: _laplace, D.Binomial: _binomial,
    D.MultivariateNormal: _vectors, D.Pareto: _pareto, D.Uniform: _uniform, D.Exponential: _exponential,
    D.Poisson: lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    D.Cauchy: lambda p, q: (((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
                            - (4 * p.scale * q.scale).log()),
    D.TransformedDistribution: _transformed, D.Independent: _independent}
_KNOWN.update({(kind, kind): f for kind, f in _SAME.items()})
_KNOWN.update({(kind, D.Normal): _to_normal for kind in (D.Uniform, D.Laplace, D.Beta, D.Gamma, D.Exponential,
                                                         D.Gumbel, D.Pareto)})
_KNOWN[D.Normal, D.Laplace] = _normal_laplace
_KNOWN[D.Bernoulli, D.Poisson] = lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate)
