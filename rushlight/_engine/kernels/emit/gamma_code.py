"""The logarithm of the gamma function and its derivative of vectors of doubles, without branches."""

from __future__ import annotations

import math

from rushlight._engine.kernels.emit.lanes import Lane, polynomial
from rushlight._engine.kernels.emit.polynomials import LGAMMA_NEAR
from rushlight._engine.kernels.emit.vector_math import INF, NAN, cos_moderate, log, sin_moderate
from rushlight._engine.numerics.error_gamma import DIGAMMA_SERIES, STIRLING

# From where on the asymptotic series are good, and the steps that take a number there.
_LGAMMA_FROM, _DIGAMMA_FROM = 8, 10
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def lgamma_positive(x: Lane) -> Lane:
    """The logarithm of gamma(x) for finite x > 0, to what a float needs.

    Close to 1 and 2, where it is 0, by a polynomial; else by Stirling's series, of a number that is stepped
    up: gamma(x) = gamma(x + n) / (x (x + 1) ... (x + n - 1)).
    """
    high, product = x, x.other(1.0)
    for _ in range(_LGAMMA_FROM):
        low = high < _LGAMMA_FROM
        product = low.where(product * high, product)
        high = low.where(high + 1, high)
    inverse = 1 / high
    series = inverse * polynomial(inverse * inverse, STIRLING[1:])
    far = (high - 0.5).fma(log(high), _HALF_LOG_TWO_PI - high) + (series - log(product))
    near = (x - 1) * (x - 2) * polynomial(x - 1.5, LGAMMA_NEAR) + 0.0  # at 1 it would be -0
    return ((x > 0.5) & (x < 2.5)).where(near, far)


def digamma_positive(x: Lane) -> Lane:
    """The derivative of lgamma for x >= 0: stepped up, the sum of 1 / (x + k) being one fraction."""
    high, above, below = x, x.other(0.0), x.other(1.0)
    for _ in range(_DIGAMMA_FROM):
        low = high < _DIGAMMA_FROM
        above = low.where(above.fma(high, below), above)
        below = low.where(below * high, below)
        high = low.where(high + 1, high)
    inverse = 1 / high
    square = inverse * inverse
    tail = square * polynomial(square, DIGAMMA_SERIES)
    found = log(high) - 0.5 * inverse - tail - above / below
    return x.equal(0).where(x.other(-INF).copysign(-x), found)


def digamma_reflected(x: Lane) -> Lane:
    """digamma(x) for x < 0; nan at its poles."""
    turn = x - x.function.intrinsic("llvm.trunc", x)
    angle = turn * math.pi
    found = digamma_positive(1 - x) - math.pi * cos_moderate(angle) / sin_moderate(angle)
    return turn.equal(0).where(NAN, found)
