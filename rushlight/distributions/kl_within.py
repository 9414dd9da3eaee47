"""Divergences of distributions of one kind, registered as this file is read.

The source of a formula is the definition, with the family's own moments, unless it says another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import rushlight as torch
import rushlight.distributions as d
from rushlight import Tensor
from rushlight.distributions.exp_family import bregman
from rushlight.distributions.families.vectors import half_logdet, mahalanobis
from rushlight.distributions.kl import kl_divergence, register_kl
from rushlight.distributions.utils import euler_constant, sum_rightmost
from rushlight.nn.functional import softplus

_F = TypeVar("_F", bound=Callable[..., Any])


def _within(kind: type[Any]) -> Callable[[_F], _F]:
    return register_kl(kind, kind)


@_within(d.Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    def part(share: Tensor, other: Any, sign: int) -> Any:
        found = share * (softplus(sign * q.logits) - softplus(sign * p.logits))
        return found.masked_fill(other == 0, math.inf).masked_fill(share == 0, 0)

    return part(p.probs, q.probs, -1) + part(1 - p.probs, 1 - q.probs, 1)


@_within(d.Categorical)
def _categorical(p: Any, q: Any) -> Any:
    found = p.probs * (p.logits - q.logits)
    return found.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@_within(d.Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, math.inf)


@_within(d.ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    return (
        p.mean * (p.logits - q.logits)
        + p._cont_bern_log_norm()
        + torch.log1p(-p.probs)
        - q._cont_bern_log_norm()
        - torch.log1p(-q.probs)
    )


@_within(d.Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    whole = a.sum(-1)
    rise = ((a - b) * (a.digamma() - whole.digamma().unsqueeze(-1))).sum(-1)
    return whole.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + rise


@_within(d.Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + torch.lgamma(b)
        - torch.lgamma(a)
        + (a - b) * torch.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@_within(d.Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@_within(d.Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@_within(d.Laplace)
def _laplace(p: Any, q: Any) -> Any:
    """M. Gil, On Renyi divergence measures for continuous alphabet sources, 2011."""
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * torch.exp(-away / p.scale) + away / q.scale - ratio.log() - 1


@_within(d.Pareto)
def _pareto(p: Any, q: Any) -> Any:
    """M. Gil, 2011; inf where p reaches below q."""
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@_within(d.Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (
        away
        - ratio.log()
        + ratio * euler_constant
        + torch.exp((1 + ratio).lgamma() - away)
        - (1 + euler_constant)
    )


@_within(d.Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    """F. Chyzak, F. Nielsen, A closed-form formula for the KL divergence of Cauchy distributions, 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@_within(d.Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


_within(d.Beta)(lambda p, q: _dirichlet(p._dirichlet, q._dirichlet))
_within(d.Geometric)(lambda p, q: -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits)
_within(d.HalfNormal)(lambda p, q: _normal(p.base_dist, q.base_dist))
_within(d.OneHotCategorical)(lambda p, q: _categorical(p._categorical, q._categorical))
_within(d.Poisson)(lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate))


@_within(d.ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be "
            "computed using Bregman divergences"
        )
    return bregman(p, q)


@_within(d.Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(f"KL(p || q) of Independents with different batch dims: {p} and {q}")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@_within(d.TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(f"KL(p || q) of different transforms, {p.transforms} and {q.transforms}")
    return kl_divergence(p.base_dist, q.base_dist)


# --- normal vectors: (tr(Q^-1 P) + (m_q - m_p)^T Q^-1 (m_q - m_p) - n + log det Q - log det P) / 2 -


def _few(p: Any) -> Any:
    return isinstance(p, d.LowRankMultivariateNormal)


def _roots(p: Any) -> Any:
    """Matrices whose products with their transposes sum to the covariance."""
    if not _few(p):
        return [p._unbroadcasted_scale_tril]
    return [p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())]


def _trace(q: Any, root: Tensor) -> Any:
    """tr(Q^-1 R R^T)."""

    def squares(matrix: Tensor) -> Any:
        return matrix.pow(2).flatten(-2).sum(-1)

    if not _few(q):
        return squares(torch.linalg.solve_triangular(q._unbroadcasted_scale_tril, root, upper=False))
    inner = torch.linalg.solve_triangular(q._capacitance_tril, q._weighed() @ root, upper=False)
    return squares(root * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - squares(inner)


def _vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        kind = "Low Rank " if _few(p) and _few(q) else "(Low Rank) " if _few(p) or _few(q) else ""
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with different event shapes "
            "cannot be computed"
        )
    above, below = (v._logdet() if _few(v) else 2 * half_logdet(v._unbroadcasted_scale_tril) for v in (q, p))
    away = q.loc - p.loc
    distance = q._mahalanobis(away) if _few(q) else mahalanobis(q._unbroadcasted_scale_tril, away)
    traces = sum(_trace(q, root) for root in _roots(p))
    return 0.5 * (above - below + traces + distance - p.event_shape[0])


for _p in (d.MultivariateNormal, d.LowRankMultivariateNormal):
    for _q in (d.MultivariateNormal, d.LowRankMultivariateNormal):
        register_kl(_p, _q)(_vectors)
