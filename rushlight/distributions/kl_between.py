"""Divergences of distributions of different kinds, registered as this file is read.

KL(p, q) is the mean under p of -log q(x), less p's entropy. -log q(x) is made of a few functions of x for a
kind of q: x, x^2, log x, log(1 - x), exp(-x), |x|. So a table of the means of these under p and a table of
-log q give all pairs. Where p has values that q has not, the divergence is inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rushlight as torch
import rushlight.distributions as d
from rushlight.distributions.kl import register_kl
from rushlight.distributions.utils import euler_constant

Means = dict[type, Callable[..., Any]]


def _mean_log_uniform(low: Any, high: Any) -> Any:
    """Of log x for x uniform between them."""
    return (torch.special.xlogy(high, high) - torch.special.xlogy(low, low)) / (high - low) - 1


_LOG = {
    d.Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    d.Exponential: lambda p: -euler_constant - p.rate.log(),
    d.Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    d.Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    d.Uniform: lambda p: _mean_log_uniform(p.low, p.high),
}

# Of log(1 - x).
_LOG_REST = {d.Uniform: lambda p: _mean_log_uniform(1 - p.high, 1 - p.low)}

# Of exp((loc - x) / scale).
_EXP = {
    d.Exponential: lambda p, loc, scale: torch.exp(loc / scale) * p.rate * scale / (p.rate * scale + 1),
    d.Gamma: lambda p, loc, scale: torch.exp(loc / scale) * (1 + 1 / (p.rate * scale)).pow(-p.concentration),
    d.Normal: lambda p, loc, scale: torch.exp((loc - p.loc) / scale + 0.5 * (p.scale / scale).pow(2)),
    d.Uniform: lambda p, loc, scale: (
        (torch.exp((loc - p.low) / scale) - torch.exp((loc - p.high) / scale)) * scale / (p.high - p.low)
    ),
}


def _away(p: Any, loc: Any) -> Any:
    """The mean of |x - loc| under a normal p (the folded normal distribution's)."""
    steps = (p.loc - loc) / p.scale
    return math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * steps.pow(2)) + (p.loc - loc) * torch.erf(
        math.sqrt(0.5) * steps
    )


def _of(table: Any, d: Any, default: Any = None) -> Any:
    """A distribution's entry."""
    return next((table[kind] for kind in type(d).__mro__ if kind in table), default)


def _mean(table: Any, p: Any, *more: Any) -> Any:
    return _of(table, p)(p, *more)


# The mean of -log q under p.
_SURPRISE = {
    d.Beta: lambda p, q: (
        q._log_normalizer(*q._natural_params)
        - (q.concentration1 - 1) * _mean(_LOG, p)
        - (q.concentration0 - 1) * _mean(_LOG_REST, p)
    ),
    d.ContinuousBernoulli: lambda p, q: -p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm(),
    d.Exponential: lambda p, q: q.rate * p.mean - q.rate.log(),
    d.Gamma: lambda p, q: (
        q.concentration.lgamma()
        - q.concentration * q.rate.log()
        - (q.concentration - 1) * _mean(_LOG, p)
        + q.rate * p.mean
    ),
    d.Gumbel: lambda p, q: q.scale.log() + (p.mean - q.loc) / q.scale + _mean(_EXP, p, q.loc, q.scale),
    d.Laplace: lambda p, q: torch.log(2 * q.scale) + _away(p, q.loc) / q.scale,
    d.Normal: lambda p, q: (
        q.scale.log()
        + 0.5 * math.log(2 * math.pi)
        + 0.5 * (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    ),
    d.Pareto: lambda p, q: (q.alpha + 1) * _mean(_LOG, p) - q.alpha.log() - q.alpha * q.scale.log(),
    # Of a coin's 0 and 1 the factorials are 1.
    d.Poisson: lambda p, q: q.rate - p.mean * q.rate.log(),
    d.Uniform: lambda p, q: (q.high - q.low).log(),
}

# Where values begin and end; all others reach from -inf to inf.
_ENDS = {
    d.Beta: lambda d: (0, 1),
    d.ContinuousBernoulli: lambda d: (0, 1),
    d.Uniform: lambda d: (d.low, d.high),
    d.Exponential: lambda d: (0, math.inf),
    d.Gamma: lambda d: (0, math.inf),
    d.Pareto: lambda d: (d.scale, math.inf),
}


def _outside(p: Any, q: Any) -> Any:
    """Whether p has values that q has not.

    Between the uniform and the continuous Bernoulli distribution PyTorch counts a common end as one.
    """
    (low, high), (least, most) = (_of(_ENDS, d, lambda d: (-math.inf, math.inf))(d) for d in (p, q))
    found = torch.as_tensor(low < least) | torch.as_tensor(high > most)
    if {d.ContinuousBernoulli, d.Uniform} <= {type(p), type(q)}:
        found = found | torch.as_tensor(low == least) | torch.as_tensor(high == most)
    return found


def _divergence(p: Any, q: Any) -> Any:
    return (_of(_SURPRISE, q)(p, q) - p.entropy()).masked_fill(_outside(p, q), math.inf)


_BOUNDED = (d.Beta, d.ContinuousBernoulli, d.Uniform)
_PAIRS: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [
    (d.Bernoulli, (d.Poisson,), ()),
    (d.Poisson, (), (d.Bernoulli, d.Binomial)),
    (d.Beta, (d.ContinuousBernoulli, d.Exponential, d.Gamma, d.Normal, d.Uniform), (d.Pareto,)),
    (d.ContinuousBernoulli, (d.Exponential, d.Normal, d.Uniform), (d.Pareto,)),
    (d.Exponential, (d.Gamma, d.Gumbel, d.Normal), (*_BOUNDED, d.Pareto)),
    (d.Gamma, (d.Exponential, d.Gumbel, d.Normal), (*_BOUNDED, d.Pareto)),
    (d.Gumbel, (d.Normal,), (*_BOUNDED, d.Exponential, d.Gamma, d.Pareto)),
    (d.Laplace, (d.Normal,), (*_BOUNDED, d.Exponential, d.Gamma, d.Pareto)),
    (d.Normal, (d.Gumbel, d.Laplace), (*_BOUNDED, d.Exponential, d.Gamma, d.Pareto)),
    (d.Pareto, (d.Exponential, d.Gamma, d.Normal), _BOUNDED),
    (d.Uniform, (*_BOUNDED[:2], d.Exponential, d.Gamma, d.Gumbel, d.Normal, d.Pareto), ()),
]

for _p, _finite, _never in _PAIRS:
    for _q in _finite:
        register_kl(_p, _q)(_divergence)
    for _q in _never:
        register_kl(_p, _q)(lambda p, q: torch.full_like(p.mean, math.inf))
