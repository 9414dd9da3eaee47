"""Gradients of gamma and Dirichlet samples by their concentrations, by implicit reparameterisation.

A sample x with distribution function F(x; a) moves as dx/da = -(dF/da) / (dF/dx), which keeps F where it is
(M. Figurnov, S. Mohamed, A. Mnih, Implicit reparameterization gradients, 2018).

For a gamma variable of rate 1, dF/da is the integral of p(t) (log t - digamma(a)) over t up to x, or less
that over t from x on, for over all t it is 0. With t = x exp(u) and p the density,

    dx/da = x times the integral over u > 0 of exp(h(u)) (log t - digamma(a)),  h(u) = a u - x (exp(u) - 1),

or minus that over u < 0. h is concave and 0 at u = 0. On the side away from p's peak it only falls, so there
the integral is one of a smooth function from 1 down to nothing, and a fixed Gauss-Legendre rule gives it to
some ten digits at the cost of fifty exponentials. A beta variable's are the same with t = x exp(u) / s and
s = 1 - x + x exp(u), h(u) = a u - (a + b) log(s), and digamma(a) - digamma(a + b).

PyTorch's own figures are by series and fitted fractions, which are good to some three digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.autograd.function import Function, once_differentiable

_Map = Callable[[Tensor], Tensor]
# Where h has fallen to -DEPTH nothing is left in double precision.
_DEPTH = 40.0
# Gauss-Legendre's rule for the cube root of a place in [0, 1]: where the far tail is flat, what happens
# happens near 0. With 48 places the worst error over concentrations from 1e-3 to 1e4 is 2e-8.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_RULE = torch.tensor(np.stack([((_NODES + 1) / 2) ** 3, 3 / 8 * (_NODES + 1) ** 2 * _WEIGHTS], 1))
# How many numbers are worked on at a time.
_MANY = 1 << 18


def _integral(height: _Map, slope: _Map, logarithm: _Map, end: Tensor) -> Tensor:
    """Of exp(height) logarithm from 0 to where height has fallen to -DEPTH, which is not beyond `end`.

    Newton's steps from beyond the place never step across it, because height is concave.
    """
    for _ in range(16):
        end = end - (height(end) + _DEPTH) / slope(end)
    found: Tensor | float = 0.0
    for places in _RULE.split(max(1, _MANY // max(1, end.numel()))):
        node, weight = places.T.reshape(2, -1, *[1] * end.dim())
        found = found + (weight * torch.exp(height(end * node)) * logarithm(end * node)).sum(0)
    return found * end


def _gamma_grad(a: Tensor, x: Tensor) -> Tensor:
    right = x >= a
    # Bounds of the end: h's parabola or exponential on the right, the line of its far slope on the left.
    ahead = torch.minimum(
        2 * _DEPTH / ((x - a) + ((x - a) ** 2 + 2 * _DEPTH * x).sqrt()), torch.log(2 + 2 * _DEPTH / x)
    )
    end = torch.where(right, ahead, -(_DEPTH + x) / a)
    level = x.log() - torch.digamma(a)
    return x * _integral(
        lambda u: a * u - x * torch.expm1(u), lambda u: a - x * torch.exp(u), lambda u: level + u, end
    )


def _beta_grad(a: Tensor, total: Tensor, x: Tensor) -> Tensor:
    right = x >= a / total
    ahead = (_DEPTH - total * x.log()) / (total - a)
    end = torch.where(right, ahead, (total * torch.log1p(-x) - _DEPTH) / a)
    level = x.log() - torch.digamma(a) + torch.digamma(total)
    near = torch.where(right, 1 - x, x)

    def log_s(u: Tensor) -> Tensor:
        # In a form whose exponential does not overflow: of s, or of s exp(-u).
        return u.clamp(min=0) + torch.log1p(near * torch.expm1(-u.abs()))

    return x * _integral(
        lambda u: a * u - total * log_s(u),
        lambda u: a - total * x / (x + (1 - x) * torch.exp(-u)),
        lambda u: level + u - log_s(u),
        end,
    )


def _in_double(function: Callable[..., Tensor], sample: Tensor, *parameters: Tensor) -> Tensor:
    with torch.no_grad():
        inner = sample.double().clamp(min=torch.finfo(torch.float64).tiny)  # 0 moves by nothing, as this does
        return function(*[p.double() for p in parameters], inner).to(sample.dtype)


def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma samples `output` of rate 1 by their concentrations `self`."""
    return _in_double(_gamma_grad, output, self)


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of beta samples x by alpha, over 1 - x; total is the sum of both concentrations."""
    return _in_double(_beta_grad, x, alpha, total)


class _Drawn(Function):
    """draw(concentration), whose gradient is rule(sample, concentration, gradient)."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor, draw: Callable[..., Any], rule: Callable[..., Any]) -> Any:
        drawn, ctx.rule = draw(concentration), rule
        ctx.save_for_backward(drawn, concentration)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        return ctx.rule(*ctx.saved_tensors, grad), None, None


def standard_gamma(concentration: Tensor) -> Tensor:
    """Gamma numbers of rate 1, float32 or float64, whose gradient flows into the concentrations."""
    found: Tensor = _Drawn.apply(
        concentration, torch._standard_gamma, lambda x, a, g: g * _standard_gamma_grad(a, x)
    )
    return found


def standard_dirichlet(concentration: Tensor) -> Tensor:
    """Dirichlet numbers along the last dim, float32 or float64, likewise."""
    found: Tensor = _Drawn.apply(concentration, torch._sample_dirichlet, _dirichlet_rule)
    return found


def _dirichlet_rule(x: Tensor, a: Tensor, grad: Tensor) -> Tensor:
    # What one share gains, the others lose in proportion.
    return _dirichlet_grad(x, a, a.sum(-1, True).expand_as(a)) * (grad - (x * grad).sum(-1, True))
