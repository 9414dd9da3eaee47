"""Special functions as a device's code: those of the CPU (kernels/emit/special_code.py), and of series and
recurrences, whose steps a device's thread counts for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.special_code import SPECIAL, Number
from rushlight._engine.numerics import incomplete_gamma, orthogonal_polynomials as orthogonal
from rushlight._engine.numerics.error_gamma import STIRLING
from rushlight._engine.numerics.float64_formulas import horner
from rushlight._engine.ops.atoms import ATOMS

# The most steps of a series or a continued fraction.
_STEPS = 5000


def _steps(
    start: Sequence[Number], step: Callable[..., tuple[Sequence[Number], Number]], most: float
) -> list[Number]:
    """Values that `step` changes, told the number of the step from 1 on, until it says that it is enough."""
    f = start[0].lane.function

    def scalar(x: Any) -> str:
        return f.op(f"extractelement {x.lane!r}, i64 0")

    values = [f.var(scalar(x), "double") for x in start]
    count = f.var("1.0", "double")
    with f.endless() as done:
        k = Number(f.splat("double", count.get()))
        made, enough = step(k, *[Number(f.splat("double", v.get())) for v in values])
        for value, x in zip(values, made, strict=True):
            value.set(scalar(x))
        count.set(scalar(k + 1.0))
        f.leave(scalar(enough | (k >= most)), done)
    return [Number(f.splat("double", v.get())) for v in values]


# --- gamma functions ------------------------------------------------------------------------------


def lgamma(x: Any) -> Any:
    """By its series around 1 and 2, by Stirling's formula from 10 on; below 1/2 by reflection."""
    mirror = x < 0.5
    y = np.where(mirror, 1 - x, x)
    second = y > 1.5
    offset = np.where(second, y - 2, y - 1)
    series = offset * horner(np.clip(offset, -0.5, 0.5), incomplete_gamma._log_gamma_terms())
    near = series + np.where(second, np.log1p(np.clip(offset, -0.5, 0.5)), 0.0)
    high, product = y, np.ones_like(y)
    for _ in range(8):
        low = high < 10
        product, high = product * np.where(low, high, 1.0), np.where(low, high + 1, high)
    inverse = 1 / (high * high)
    tail = horner(inverse, STIRLING) / high
    far = (high - 0.5) * np.log(high) - high + (0.91893853320467274178 + tail) - np.log(product)
    far = np.where(np.isinf(y), np.inf, far)
    found = np.where(y <= 2.5, near, far)
    sine = np.abs(np.sin(np.pi * np.fmod(x, 2.0)))
    reflected = np.log(np.pi / sine) - found
    found = np.where(mirror, reflected, found)
    return np.where((x <= 0) & (x == np.floor(x)), np.inf, found)


def _series(a: Any, x: Any) -> Any:
    def step(k: Any, total: Any, term: Any) -> Any:
        term = term * x / (a + k)
        return (total + term, term), term <= (total + term) * 1e-16

    total, _ = _steps((np.ones_like(x), np.ones_like(x)), step, _STEPS)
    return total * incomplete_gamma._front(a, x)


def _fraction(a: Any, x: Any) -> Any:
    b = x + 1 - a

    def step(k: Any, b: Any, c: Any, d: Any, h: Any) -> Any:
        top, b = -k * (k - a), b + 2
        d, c = 1 / (top * d + b), b + top / c
        return (b, c, d, h * d * c), np.abs(d * c - 1) <= 1e-16

    huge = Number(x.same(1e300))
    *_, h = _steps((b, huge, 1 / b, 1 / b), step, _STEPS)
    return h * incomplete_gamma._front(a, x) * a


def _gamma(a: Any, x: Any, upper: bool) -> Any:
    """P or Q: each way is gone, with harmless operands where it is not the one."""
    huge, low = a > incomplete_gamma._HUGE, x < a + 1
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    near = (x <= 1.1) & (a < np.where(x <= 0.5, -0.4 / np.log(np.minimum(x, 0.5)), 1.1 * x)) & upper
    by_series, by_fraction = inside & ~huge & low & ~near, inside & ~huge & ~low & ~near
    p = _series(np.where(by_series, a, 1.0), np.where(by_series, x, 1.0))
    q = _fraction(np.where(by_fraction, a, 1.0), np.where(by_fraction, x, 3.0))
    found = np.where(by_series, 1 - p if upper else p, q if upper else 1 - q)
    if upper:
        close = inside & ~huge & near
        ones = np.ones_like(x)
        found = np.where(
            close, incomplete_gamma._near_zero(np.where(close, a, ones), np.where(close, x, ones)), found
        )
    wide = inside & huge
    ends = incomplete_gamma._uniform(np.where(wide, a, 1e5), np.where(wide, x, 1e5), 1 if upper else -1)
    found = np.where(wide, ends, found)
    below = np.where((x == 0) | np.isinf(a), 0.0, 1.0)
    limit = (x == 0) | np.isinf(a) | np.isinf(x)
    wrong = (a < 0) | (x < 0) | (a == 0) & ~(x > 0) | np.isinf(a) & np.isinf(x)
    wrong = wrong | (np.isnan(a) | np.isnan(x)) & ~limit
    outside = np.where(wrong, np.nan, 1 - below if upper else below)
    return np.where(inside, found, outside)


# --- orthogonal polynomials -----------------------------------------------------------------------


def _recurrence(x: Any, n: Any, first: Any, factors: Any) -> Any:
    """The polynomial of degree n, which is whole and not negative."""

    def step(k: Any, before: Any, now: Any) -> Any:
        a, b, c = factors(k, x)
        after = (a * now - b * before) / c
        # A degree of 1 or less is reached before the first step.
        going = k < n
        return (np.where(going, now, before), np.where(going, after, now)), ~going | np.isnan(after)

    _, now = _steps((np.ones_like(x), first(x)), step, float("inf"))
    return np.where(n == 0, 1.0, now)


def _degree(n: Any) -> Any:
    return np.where(np.abs(n) < 2.0**63, np.trunc(n), -1.0)


def _plain(name: str, x: Any, n: Any) -> Any:
    first, factors, _ = orthogonal.PLAIN[name]
    n = _degree(n)
    return np.where(n < 0, 0.0, _recurrence(x, n, first, factors))


def _chebyshev(kind: str, shifted: bool, x: Any, n: Any) -> Any:
    x, n = x + x - 1 if shifted else x, _degree(n)
    edge, inside = np.abs(x) == 1, (np.abs(x) < 1) & (n > orthogonal.WAVES_FROM[kind])
    easy = (n < 0) | edge | inside
    plain = _recurrence(x, np.where(easy, 0.0, n), orthogonal.FIRST[kind], lambda k, x: (x + x, 1.0, 1.0))
    waves: Any = orthogonal.waves(np.where(inside, x, 0.0), n, kind)
    found = np.where(inside, waves, plain)
    found = np.where(edge, orthogonal.sizes(x, n, kind), found)
    return np.where(n < 0, 0.0, found)


# --- the table ------------------------------------------------------------------------------------


# Atoms: (operands, the formula).
FORMULAS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{name: (1, ATOMS[name].numpy) for name in ("digamma", *SPECIAL)},
    "lgamma": (1, lgamma),
    "zeta": (2, ATOMS["zeta"].numpy),
    "gammainc": (2, partial(_gamma, upper=False)),
    "gammaincc": (2, partial(_gamma, upper=True)),
    **{f"chebyshev_{kind}": (2, partial(_chebyshev, kind, False)) for kind in "tuvw"},
    **{f"shifted_chebyshev_{kind}": (2, partial(_chebyshev, kind, True)) for kind in "tuvw"},
    **{name: (2, partial(_plain, name)) for name in orthogonal.PLAIN},
}
