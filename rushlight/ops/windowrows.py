"""Convolution with channels last: windows as the rows of one matrix.

With channels last, a window's elements along the last dim lie side by side, so that rows are copied in
runs of kernel * channels; and one large product takes the place of one for each sample.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from rushlight.ops.products import product
from rushlight.ops.windows import Ints

Array = np.ndarray[Any, Any]
# Runs of fewer numbers are not worth turning the channels for.
_FEWEST = 8
# How many numbers the rows that are made at once may hold.
_MOST = 1 << 22


def suits(x: Array, channels: int, dilation: Ints, groups: int) -> bool:
    """Whether a convolution of x (N, C, *in) should go this way."""
    return groups == 1 and channels >= _FEWEST and all(d == 1 for d in dilation) and (
        x.dtype.kind in "fc" and x.dtype.itemsize > 2 and x.size > 0)


def _rows(x: Array, kernel: Ints, stride: Ints, padding: Ints, out: Ints) -> Array:
    """(N * prod(out), prod(kernel) * C) of x (N, C, *in); the order within a row is (*kernel, C)."""
    n, c, *space = x.shape
    wide = np.zeros((n, *[s + 2 * p for s, p in zip(space, padding, strict=True)], c), x.dtype)
    inside = tuple(slice(p, p + s) for s, p in zip(space, padding, strict=True))
    wide[(slice(None), *inside)] = np.moveaxis(x, 1, -1)
    lead, *steps, item = wide.strides
    starts = [s * t for s, t in zip(steps, stride, strict=True)]
    view = np.lib.stride_tricks.as_strided(wide, (n, *out, *kernel[:-1], kernel[-1] * c),
                                           (lead, *starts, *steps[:-1], item))
    return np.ascontiguousarray(view).reshape(n * prod(out), -1)


def forward(x: Array, w: Array, stride: Ints, padding: Ints, out: Ints) -> Array:
    """(N, C, *in) by (O, C, *k) -> (N, O, *out)."""
    filters = np.moveaxis(w, 1, -1).reshape(w.shape[0], -1).T
    found = np.empty((x.shape[0], w.shape[0], *out), x.dtype)
    for part in _parts(len(x), prod(out) * len(filters)):
        rows = product(_rows(x[part], w.shape[2:], stride, padding, out), filters)
        found[part] = np.moveaxis(rows.reshape(-1, *out, w.shape[0]), -1, 1)
    return found


def to_input(g: Array, w: Array, space: Ints, padding: Ints) -> Array | None:
    """The gradient for x at stride 1: a convolution by the turned filters; None where padding forbids it."""
    kernel = w.shape[2:]
    reach = tuple(k - 1 - p for k, p in zip(kernel, padding, strict=True))
    if min(reach) < 0:
        return None
    turned = np.flip(w, tuple(range(2, w.ndim))).swapaxes(0, 1)
    return forward(g, turned, (1,) * len(kernel), reach, space)


def to_weight(g: Array, x: Array, kernel: Ints, stride: Ints, padding: Ints) -> Array:
    """The gradient for w (O, C, *kernel) of g (N, O, *out)."""
    found = np.zeros((g.shape[1], prod(kernel) * x.shape[1]), g.dtype)
    for part in _parts(len(x), prod(g.shape[2:]) * found.shape[1]):
        grads = np.moveaxis(g[part], 1, 0).reshape(g.shape[1], -1)
        found += product(grads, _rows(x[part], kernel, stride, padding, g.shape[2:]))
    return np.ascontiguousarray(np.moveaxis(found.reshape(-1, *kernel, x.shape[1]), -1, 1))


def _parts(samples: int, size: int) -> Iterator[slice]:
    """Some samples at a time: all rows at once, `size` numbers for each sample, could fill the memory."""
    step = max(1, _MOST // max(size, 1))
    return (slice(start, start + step) for start in range(0, samples, step))
