"""Window functions of signal processing: hann, hamming, blackman, bartlett, kaiser.

Each is computed in the dtype asked for, operation by operation as PyTorch does, so that
blackman_window(5)[0] is the same tiny negative number. Half-size dtypes compute in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import Array, convert
from rushlight._engine.numerics.bessel import i0
from rushlight._engine.ops.creation.filled import factory


def _window(
    op: str, length: int, periodic: bool, of: dt.dtype | None, shape: Callable[[Array, Any], Array]
) -> Array:
    """`shape` on 0, 1, ... (and the last number), of one element more when periodic."""
    of = of or dt.get_default_dtype()
    if not of.is_floating_point:
        raise RuntimeError(f"{op} expects floating point dtypes, got: {of!r}")
    if length < 0:
        raise RuntimeError(f"{op} requires non-negative window_length, got window_length={length}")
    if length < 2:
        return np.ones(length, of.np)
    total = length + periodic
    work = dt.opmath(of).np.type
    return convert(shape(np.arange(total, dtype=work), work(total - 1))[:length], of.np)


@factory(out=False)
def hann_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None) -> Array:
    """Half of one minus a cosine."""
    return _window("hann_window", window_length, periodic, dtype, _raised_cosine(0.5, 0.5))


@factory(out=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: dtype | None = None,
) -> Array:
    """alpha minus beta times a cosine."""
    return _window("hamming_window", window_length, periodic, dtype, _raised_cosine(alpha, beta))


def _raised_cosine(alpha: float, beta: float) -> Callable[[Array, Any], Array]:
    def shape(x: Array, last: Any) -> Array:
        work = x.dtype.type
        found: Array = np.cos(x * work(2 * math.pi / float(last))) * work(-beta) + work(alpha)
        return found

    return shape


@factory(out=False)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None) -> Array:
    """Two cosines: 0.42 - 0.5 cos + 0.08 cos."""

    def shape(x: Array, last: Any) -> Array:
        work = x.dtype.type
        x = x * work(math.pi / float(last))
        second = np.cos(x * work(4)) * work(0.08)
        found: Array = second - np.cos(x * work(2)) * work(0.5) + work(0.42)
        return found

    return _window("blackman_window", window_length, periodic, dtype, shape)


@factory(out=False)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None) -> Array:
    """A triangle."""

    def shape(x: Array, last: Any) -> Array:
        rising = x * x.dtype.type(2 / float(last))
        middle = (len(x) - 1) // 2 + 1
        return np.concatenate([rising[:middle], x.dtype.type(2) - rising[middle:]])

    return _window("bartlett_window", window_length, periodic, dtype, shape)


@factory(out=False)
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtype | None = None
) -> Array:
    """Bessel's i0 of an ellipse of height beta, over i0(beta)."""

    def shape(x: Array, last: Any) -> Array:
        work = x.dtype.type
        ratio = x * work(2) / last - work(1)
        height = work(beta) * np.sqrt(np.maximum(work(1) - ratio * ratio, work(0)))
        found: Array = (i0(height) / i0(np.asarray(work(beta)))).astype(x.dtype)
        return found

    return _window("kaiser_window", window_length, periodic, dtype, shape)
