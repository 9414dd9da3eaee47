"""Rejection samplers: Poisson, binomial, gamma and Dirichlet numbers, as PyTorch's CPU kernels'.

How many words a sample takes depends on the words themselves, so that each sample starts where the
one before it stopped: there is no vector form that keeps PyTorch's numbers. Large draws are made by the
same loops in machine code (kernels/moves/rejection.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import Array, convert
from rushlight._engine.core.services import service
from rushlight._engine.numerics.distributions import FLOATS, not_implemented, one_normal
from rushlight._engine.numerics.rng import Engine

Draw = Callable[[], float]

_WIDE = frozenset({dt.float32, dt.float64})


def poisson(engine: Engine, rates: Array) -> Array:
    """Poisson numbers of the rates' shape and dtype; RuntimeError unless all rates are >= 0."""
    _need_float(rates, "poisson_cpu")
    wide = rates.astype(np.float64).reshape(-1)
    if wide.size and not wide.item(wide.argmin()) >= 0:  # nan is the least
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if wide.size and math.isinf(wide.item(wide.argmax())):
        raise RuntimeError("invalid Poisson rate, expected rate to be finite, got inf")
    made = np.empty(wide.size, np.float64)
    with engine.lock:
        if not _by_kernel("Poisson numbers", engine, [wide], made):
            draw = engine.double
            made[:] = [
                _poisson_large(r, draw) if r >= 10 else _poisson_small(r, draw) if r else 0
                for r in wide.tolist()
            ]
    return _shaped(made, rates)


def _need_float(values: Array, kernel: str, dtypes: frozenset[dt.dtype] = FLOATS) -> None:
    of = dt.from_numpy_dtype(values.dtype)
    if of not in dtypes:
        not_implemented(kernel, of)


def _shaped(made: Array, like: Array) -> Array:
    return convert(made.reshape(like.shape), like.dtype)


def _poisson_small(rate: float, draw: Draw) -> int:
    """Knuth: the factors that a product of uniforms takes to fall to exp(-rate)."""
    limit, product, count = math.exp(-rate), draw(), 0
    while product > limit:
        product *= draw()
        count += 1
    return count


def _proposal(draw: Draw, a: float, b: float, centre: float, shift: float = 0.0) -> tuple[float, float, int]:
    """Of transformed rejection (W. Hoermann, 1993): a uniform's distance to its end, another one, a count."""
    us = 0.0
    while not us:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
    return us, v, math.floor((2 * a / us + b) * u + centre + shift)


def _poisson_large(rate: float, draw: Draw) -> int:
    """Transformed rejection, PTRS."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        us, v, k = _proposal(draw, a, b, rate, 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = -rate + k * log_rate - math.lgamma(k + 1)
        if math.log(v) + log_inverse_alpha - math.log(a / (us * us) + b) <= accepted:
            return k


# --- binomial -------------------------------------------------------------------------------------


def binomial(engine: Engine, counts: Array, probabilities: Array) -> Array:
    """Numbers of successes in counts[i] trials; both float32 or float64, of one shape."""
    _need_float(counts, "binomial_cpu", _WIDE)
    p = probabilities
    few = np.minimum(p, 1 - p)  # the rarer outcome is counted
    with np.errstate(invalid="ignore"):
        spread = np.sqrt((counts * few * (1 - few)).astype(np.float64))
        facts = counts, p, few, counts * few, spread, np.floor((counts + 1) * few), few / (1 - few)
    made = np.empty(counts.size, np.float64)
    with engine.lock:
        given = [np.asarray(f, np.float64).reshape(-1) for f in facts]
        if not _by_kernel("binomial numbers", engine, given, made):
            lists = [f.tolist() for f in given]
            made[:] = [_binomial(engine.double, *fact) for fact in zip(*lists, strict=True)]
    return _shaped(made, counts)


def _binomial(
    draw: Draw, count: float, p: float, few: float, mean: float, spread: float, mode: float, odds: float
) -> float:
    if math.isnan(p) or math.isnan(count):
        return math.nan
    if count <= 0 or p <= 0:
        return 0
    if p >= 1:
        return count
    made = (
        _binomial_large(draw, count, few, mean, spread, mode, odds)
        if mean >= 10
        else (_binomial_small(draw, count, few))
    )
    return made if p <= 0.5 else count - made


def _binomial_small(draw: Draw, count: float, p: float) -> int:
    """How many geometric waiting times fit into count trials."""
    log_q, trials, successes = math.log1p(-p), 0.0, -1
    while trials <= count:
        u = draw()
        trials += math.ceil(math.log(u) / log_q) if u else math.inf
        successes += 1
    return successes


def _binomial_large(
    draw: Draw, count: float, p: float, mean: float, spread: float, mode: float, odds: float
) -> float:
    """Transformed rejection with squeeze, BTRS."""
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    v_r = 0.92 - 4.2 / b
    while True:
        us, v, k = _proposal(draw, a, b, mean + 0.5)
        if not 0 <= k <= count:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling(mode)
            + _stirling(count - mode)
            - _stirling(k)
            - _stirling(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _stirling(k: float) -> float:
    """What log(k!) has beyond Stirling's formula with k + 1 for k, to 13 digits."""
    if k <= 9:
        return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


# --- gamma, Dirichlet -----------------------------------------------------------------------------


def gamma(engine: Engine, shapes: Array) -> Array:
    """Gamma numbers of rate 1, float32 or float64; none is below the least normal number."""
    _need_float(shapes, "gamma_cpu", _WIDE)
    least = np.finfo(shapes.dtype).tiny
    found: Array = np.maximum(convert(_gammas(engine, shapes), shapes.dtype), least)
    return found


def dirichlet(engine: Engine, concentrations: Array) -> Array:
    """Dirichlet numbers along the last axis, float32 or float64, by gamma numbers in double."""
    _need_float(concentrations, "dirichlet", _WIDE)
    like = concentrations.reshape(concentrations.shape or (1,)).astype(np.float64)
    made = np.maximum(_gammas(engine, like), np.finfo(np.float64).tiny)
    of = concentrations.dtype
    shares = (made / made.sum(-1, keepdims=True)).astype(of).reshape(concentrations.shape)
    found: Array = np.clip(shares, np.finfo(of).tiny, np.nextafter(of.type(1), of.type(0)))
    return found


# So many numbers by Python take as long as reading the machine code from the disk or compiling it.
_MANY = 2000


def _gammas(engine: Engine, shapes: Array) -> Array:
    one = shapes.dtype.type(1)
    small = shapes < 1
    with np.errstate(divide="ignore", over="ignore"):
        power = np.where(small, one / shapes, 0)
    # In single precision PyTorch takes this third, a constant of its own, from alpha in it.
    third = shapes.dtype.type(np.float32(1) / np.float32(3))
    facts = shapes, power, np.where(small, shapes + one, shapes) - third
    with engine.lock:
        made = np.empty(shapes.size, np.float64)
        if not _by_kernel("gamma numbers", engine, [f.astype(np.float64).reshape(-1) for f in facts], made):
            lists = [f.reshape(-1).tolist() for f in facts]
            made[:] = [_gamma(engine, *fact) for fact in zip(*lists, strict=True)]
    return made.reshape(shapes.shape)


def _by_kernel(name: str, engine: Engine, facts: list[Array], made: Array) -> bool:
    """Whether machine code has filled `made`; the caller has the engine's lock."""
    kernel = service(name)()
    if kernel is None or not made.size or (made.size >= _MANY and not kernel.compile_now()):
        return False
    kept = np.array([engine.normal or 0.0, 0.0])
    kept.view(np.int64)[1] = engine.normal is not None
    with engine.exclusive():
        if not kernel(engine.memory, kept, *facts, made):
            return False
    engine.normal = float(kept[0]) if kept.view(np.int64)[1] else None
    return True


SQUEEZE = float(np.float32(0.0331))


def _gamma(engine: Engine, shape: float, power: float, d: float) -> float:
    """Rejection from a cubed normal (G. Marsaglia, W. W. Tsang, 2000)."""
    if not shape > 0:
        return 0.0
    scale = (1 - engine.double()) ** power if shape < 1 else 1.0
    c = 1 / math.sqrt(9 * d)
    while True:
        x = one_normal(engine)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - engine.double()
        square = x * x
        if u < 1 - SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v
