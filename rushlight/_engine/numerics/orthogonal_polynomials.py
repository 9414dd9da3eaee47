"""Orthogonal polynomials of NumPy arrays: values for arrays of arguments and of degrees.

By their three-term recurrences (DLMF 18.9), degree by degree for all elements at once, in a wider dtype than
the operands', a product and a sum rounded once, so that zeros at short numbers are exact; Chebyshev's of
higher degrees inside (-1, 1) by their trigonometric forms. Degrees are truncated; a negative one gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.numerics.fma import Array, fma

# first(x) is the polynomial of degree 1; those of degrees k + 1, k and k - 1 are r = (a p - b q) / c, p and
# q for a, b, c = factors(k, x).


def _of_arrays(polynomial: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Array]:
    """A function of arrays of one dtype and shape, of any."""

    def evaluate(x: Any, n: Any) -> Array:
        dtype = np.result_type(x, n)
        x, n = np.broadcast_arrays(np.asarray(x, dtype), np.asarray(n, dtype))
        with np.errstate(all="ignore"):
            # What is no degree (nan, or beyond 64 bits) counts as negative, as converted to C's integers.
            return polynomial(x, np.where(np.abs(n) < 2.0**63, np.trunc(n), -1))

    return evaluate


def _recurrence(x: Array, n: Array, first: Any, factors: Any) -> Array:
    wide = x.astype(np.longdouble if x.dtype.itemsize == 8 else np.float64)
    before, now = np.ones_like(wide), first(wide)
    found = np.where(n < 0, np.zeros_like(wide), np.where(n == 0, before, now))
    for k in range(1, int(np.max(n, initial=0))):
        a, b, c = factors(k, wide)
        before, now = now, fma(a, now, before * -b) / c
        found = np.where(n == k + 1, now, found)
        # Once nan, always nan: huge degrees need not be reached.
        if k % 256 == 0 and np.isnan(now[n > k]).all():
            return np.where(n > k, np.nan, found).astype(x.dtype, copy=False)
    return found.astype(x.dtype, copy=False)


def sizes(x: Array, n: Array, kind: str) -> Array:
    """The values at 1, and at -1."""
    odd_many, sign = 2 * n + 1, np.where(np.fmod(n, 2) == 0, 1, -1)
    ends: dict[str, tuple[Any, Any]] = {
        "t": (1, sign),
        "u": (n + 1, sign * (n + 1)),
        "v": (1, sign * odd_many),
        "w": (odd_many, sign),
    }
    found: Array = np.where(x > 0, *ends[kind])
    return found


def waves(x: Array, n: Array, kind: str) -> Array:
    """The trigonometric forms, for x = cos(angle)."""
    angle = np.arccos(x)
    value: Array
    half = (n + x.dtype.type(0.5)) * angle
    if kind == "t":
        value = np.cos(n * angle)
    elif kind == "u":
        value = np.sin((n + 1) * angle) / np.sin(angle)
    elif kind == "v":
        value = np.cos(half) / np.cos(angle / 2)
    else:
        value = np.sin(half) / np.sin(angle / 2)
    return value


FIRST = {"t": lambda x: x, "u": lambda x: x + x, "v": lambda x: x + x - 1, "w": lambda x: x + x + 1}
WAVES_FROM = {"t": 6, "u": 8, "v": 8, "w": 8}


def _chebyshev(x: Array, n: Array, kind: str) -> Array:
    edge, inside = np.abs(x) == 1, (np.abs(x) < 1) & (n > WAVES_FROM[kind])
    easy = (n < 0) | edge | inside
    plain = _recurrence(x, np.where(easy, 0, n), FIRST[kind], lambda k, x: (x + x, 1, 1))
    found = np.where(inside, waves(np.where(inside, x, 0), n, kind), plain)
    found = np.where(edge, sizes(x, n, kind), found)
    return np.where(n < 0, 0, found).astype(x.dtype, copy=False)


def chebyshev(kind: str, shifted: bool = False) -> Callable[[Any, Any], Array]:
    """Chebyshev's polynomials of kind "t", "u", "v" or "w"; shifted to [0, 1]."""
    return _of_arrays(lambda x, n: _chebyshev(x + x - 1 if shifted else x, n, kind))


def _plain(first: Any, factors: Any, most: float) -> Callable[[Any, Any], Array]:
    def evaluate(x: Array, n: Array) -> Array:
        # Higher degrees overflow.
        beyond = n > most * (1 if x.dtype.itemsize <= 4 else 4)
        found = _recurrence(x, np.where(beyond, 0, n), first, factors)
        return np.where(beyond, x.dtype.type(np.nan), found)

    return _of_arrays(evaluate)


# (the polynomial of degree 1, the factors, from which degree on floats overflow).
PLAIN: dict[str, tuple[Any, Any, float]] = {
    "hermite_h": (lambda x: x + x, lambda k, x: (x + x, 2 * k, 1), 128),
    "hermite_he": (lambda x: x, lambda k, x: (x, k, 1), 128),
    "laguerre_l": (lambda x: 1 - x, lambda k, x: (2 * k + 1 - x, k, k + 1), np.inf),
    "legendre_p": (lambda x: x, lambda k, x: ((2 * k + 1) * x, k, k + 1), np.inf),
}
hermite_h = _plain(*PLAIN["hermite_h"])
hermite_he = _plain(*PLAIN["hermite_he"])
laguerre_l = _plain(*PLAIN["laguerre_l"])
legendre_p = _plain(*PLAIN["legendre_p"])
