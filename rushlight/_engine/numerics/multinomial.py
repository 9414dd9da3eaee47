"""Draws of categories by weight: torch.multinomial on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.numerics.distributions import UNITS_OF_PAIRS, exponential, in_memory_order
from rushlight._engine.numerics.rng import Array, Engine

_FEW = 8  # rows, each of which is a call of NumPy's
_AT_ONCE, _COUNTED = (
    1 << 9,
    1 << 16,
)  # comparisons of all totals with all samples that are sooner done than bisections
_MOST = 1 << 24  # PyTorch counts categories in float32
_NO_SUM = "invalid multinomial distribution (sum of probabilities <= 0)"
_NO_EXTREMES = "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."


def chooser(
    weights: Array, k: int, replacement: bool, running: Callable[[Array], Callable[[Array], Array]]
) -> Callable[[Engine, Array], Array]:
    """What draws k categories (int64) for each row of arrays like `weights`, (categories,) or 2-d.

    running: for arrays that lie as one does, the running sums along the last axis in their own precision.
    Raises RuntimeError for a k that cannot be drawn; what it gives, for weights that are no distribution.
    """
    _check_request(weights, k, replacement)
    shape, count = (*weights.shape[:-1], k), weights.shape[-1]
    if 0 in shape:
        return lambda engine, weights: np.empty(shape, np.int64)
    if not count:
        raise RuntimeError(_NO_EXTREMES if k == 1 else _NO_SUM)
    if not replacement or k == 1:
        return lambda engine, weights: _race(engine, weights.reshape(-1, count), k).reshape(shape)
    # Running totals of the half precisions are kept in float32.
    narrow = weights.dtype.itemsize == 2
    sums = running(weights.astype(np.float32) if narrow else weights)

    def run(engine: Engine, weights: Array) -> Array:
        weights = weights.astype(np.float32) if narrow else weights
        totals = _shares(weights, sums(weights))
        return _search(totals, engine.take(UNITS_OF_PAIRS, shape, False))

    return run


def _check_request(weights: Array, k: int, replacement: bool) -> None:
    if not 0 < weights.ndim <= 2:
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {weights.ndim}")
    if weights.dtype.kind != "f" and not (of := dt.from_numpy_dtype(weights.dtype)).is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {of.legacy}")
    if k <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {k}")
    if not replacement and k > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without "
            f"replacement, got {k} > {weights.shape[-1]}"
        )
    if weights.shape[-1] > _MOST:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _race(engine: Engine, weights: Array, k: int) -> Array:
    """Without replacement: the k largest of weight / Exp(1), the Gumbel trick without logs."""
    wide = weights.astype(np.float32) if weights.dtype.itemsize == 2 else weights
    if not (wide.max() < np.inf and wide.min() >= 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError(_NO_SUM)
    of = dt.from_numpy_dtype(weights.dtype)
    # Of repeated rows the draws lie row by row.
    like = weights.copy() if 0 in weights.strides else weights
    rates = in_memory_order(exponential(engine, weights.size, of), like)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        times = (weights / rates).astype(wide.dtype, copy=False)
    if k == 1:
        found: Array = np.argmax(times, axis=-1, keepdims=True)
        return found
    return np.argsort(-times, axis=-1, kind="stable")[:, :k].copy()


def _shares(weights: Array, totals: Array) -> Array:
    """The weights' running totals, of which the last becomes 1."""
    if totals.ndim == 1:
        last = most = totals.item(-1)
    else:
        last = totals[..., -1:].copy()
        most = last.item(last.argmax())
    if not (weights.item(weights.argmin()) >= 0 and most < np.inf):  # a nan is either
        _check_weights(weights)
    if not (most if totals.ndim == 1 else last.item(last.argmin())) > 0:
        raise RuntimeError(_NO_SUM)
    np.divide(totals, last, totals)
    totals[..., -1] = 1
    return totals


def _check_weights(weights: Array) -> None:
    if not (weights >= 0).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(weights).all():
        raise RuntimeError(
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
        )


def _search(totals: Array, samples: Array) -> Array:
    """Per row, the first category whose running total is not below the sample."""
    if totals.ndim == 1:
        return totals.searchsorted(samples)
    count = totals.size * samples.shape[-1]
    if count <= _COUNTED and (len(totals) > _FEW or count <= _AT_ONCE):
        # The last total is 1, which no sample exceeds.
        found: Array = (totals.astype(np.float64)[:, None, :] >= samples[:, :, None]).argmax(-1)
        return found
    if len(totals) <= _FEW:
        return np.array([row.searchsorted(keys) for row, keys in zip(totals, samples, strict=True)])
    return search_rows(totals, samples, False)


def search_rows(edges: Array, values: Array, from_right: bool) -> Array:
    """np.searchsorted for each row, by bisection of all rows at once; nan is larger than any number."""
    size = edges.shape[-1]
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, size, np.int64)
    for _ in range(size.bit_length()):
        open_ = low < high
        middle = (low + high) // 2
        at = np.take_along_axis(edges, np.minimum(middle, size - 1), -1)
        beyond = (at <= values) if from_right else ~(at >= values)
        beyond |= (values != values) & (from_right | (at == at))
        low = np.where(open_ & beyond, middle + 1, low)
        high = np.where(open_ & ~beyond, middle, high)
    return low
