"""Rejection samplers: Poisson, binomial and gamma numbers, as PyTorch's CPU kernels draw them.

How many words a sample takes depends on the words themselves, so that each sample starts where the
one before it stopped: there is no vector form that keeps PyTorch's numbers, and these are the only
samplers here that go element by element.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.convert import convert
from rushlight.base.distributions import FLOATS, not_implemented
from rushlight.base.rng import Engine

Array = np.ndarray[Any, Any]


def poisson(engine: Engine, rates: Array) -> Array:
    """Poisson numbers of the rates' shape and dtype; RuntimeError unless all rates are >= 0."""
    _need_float(rates, "poisson_cpu")
    wide = rates.astype(np.float64).reshape(-1)
    if not (wide >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if np.isinf(wide).any():
        raise RuntimeError("invalid Poisson rate, expected rate to be finite, got inf")
    with engine.lock:
        draw = engine.double
        made = [_poisson_large(r, draw) if r >= 10 else _poisson_small(r, draw) if r else 0
                for r in wide.tolist()]
    return _shaped(made, rates)


def _need_float(values: Array, kernel: str) -> None:
    of = dt.from_numpy_dtype(values.dtype)
    if of not in FLOATS:
        not_implemented(kernel, of)


def _shaped(made: list[Any], like: Array) -> Array:
    return convert(np.array(made, np.float64).reshape(like.shape), like.dtype)


def _poisson_small(rate: float, draw: Callable[[], float]) -> int:
    """Knuth: the factors that a product of uniforms takes to fall to exp(-rate)."""
    limit, product, count = math.exp(-rate), draw(), 0
    while product > limit:
        product *= draw()
        count += 1
    return count


def _poisson_large(rate: float, draw: Callable[[], float]) -> int:
    """Transformed rejection (W. Hoermann, 1993)."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = -rate + k * log_rate - math.lgamma(k + 1)
        if math.log(v) + log_inverse_alpha - math.log(a / (us * us) + b) <= accepted:
            return k
