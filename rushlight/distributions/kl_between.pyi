# Written by `python tools/stubs.py`.
"""Divergences of distributions of different kinds, registered as this file is read.

KL(p, q) is the mean under p of -log q(x), less p's entropy. -log q(x) is made of a few functions of x for a
kind of q: x, x^2, log x, log(1 - x), exp(-x), |x|. So a table of the means of these under p and a table of
-log q give all pairs. Where p has values that q has not, the divergence is inf.
"""
from rushlight import Tensor
from typing import Any

Means: Any
def _away(p: Any, loc: Tensor | float) -> Any:
    """The mean of |x - loc| under a normal p (the folded normal distribution's)."""
def _divergence(p: Any, q: Any) -> Any: ...
def _mean(table: Any, p: Any, *more: Any) -> Any: ...
def _mean_log_uniform(low: Tensor | float, high: Tensor | float) -> Any:
    """Of log x for x uniform between them."""
def _of(table: Any, d: Any, default: Any = None) -> Any:
    """A distribution's entry."""
def _outside(p: Any, q: Any) -> Any:
    """Whether p has values that q has not.

    Between the uniform and the continuous Bernoulli distribution PyTorch counts a common end as one.
    """
