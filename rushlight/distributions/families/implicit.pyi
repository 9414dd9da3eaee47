# Written by `python tools/stubs.py`.
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
from rushlight import Tensor
from rushlight._engine.autograd.function import Function
from typing import Any

class _Drawn(Function):
    """draw(concentration), whose gradient is rule(sample, concentration, gradient)."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any: ...
    @staticmethod
    def forward(ctx: Any, concentration: Tensor | float, draw: Any, rule: Any) -> Tensor: ...
def _beta_grad(a: Any, total: Any, x: Tensor) -> Any: ...
def _dirichlet_grad(x: Tensor, alpha: Tensor | float, total: Any) -> Any:
    """The derivative of beta samples x by alpha, over 1 - x; total is the sum of both concentrations."""
def _dirichlet_rule(x: Tensor, a: Any, grad: Tensor) -> Any: ...
def _gamma_grad(a: Any, x: Tensor) -> Any: ...
def _in_double(function: Any, sample: Any, *parameters: Any) -> Any: ...
def _integral(height: Any, slope: Any, logarithm: Any, end: Any) -> Any:
    """Of exp(height) logarithm from 0 to where height has fallen to -DEPTH, which is not beyond `end`.

    Newton's steps from beyond the place never step across it, because height is concave.
    """
def _standard_gamma_grad(self: Any, output: Any) -> Any:
    """The derivative of gamma samples `output` of rate 1 by their concentrations `self`."""
def standard_dirichlet(concentration: Tensor | float) -> Any:
    """Dirichlet numbers along the last dim, float32 or float64, likewise."""
def standard_gamma(concentration: Tensor | float) -> Any:
    """Gamma numbers of rate 1, float32 or float64, whose gradient flows into the concentrations."""
