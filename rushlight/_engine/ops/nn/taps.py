"""Sums of weighted elements along a dim, each of a few: resampling, and means of uneven windows.

They are products with a matrix that is nearly all zeros. Zero times infinity or NaN is NaN, which would
spread along the whole dim, where PyTorch has it in those sums alone that read such an element. So where a
product is not finite, what each sum reads is summed by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import converted, tensor_of
from rushlight._engine.ops.linalg.matmul import is_low_precision, unrounded_product
from rushlight._engine.ops.nn.sliding_windows import parts
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.table import Array, composite

# For each element of the result: the elements that it reads, and their weights.
Taps = tuple[Array, Array]
# What says which they are: ("mean",) of windows that divide the line, or (scale, align, mode, smooth) of a
# resampling.
How = tuple[Any, ...]


def _positions(size: int, out: int, scale: float | None, align: bool) -> Array:
    """Where each output element lies in the input."""
    if align:
        return np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    step = size / out if scale is None else 1.0 / scale
    return (np.arange(out) + 0.5) * step - 0.5


def _linear(size: int, out: int, scale: float | None, align: bool) -> Taps:
    if size == out:  # as they are, whatever the scale; PyTorch adds 0 times the same element
        return np.arange(out).repeat(2).reshape(out, 2), np.tile((1.0, 0.0), (out, 1))
    at = np.maximum(_positions(size, out, scale, align), 0)
    low = np.minimum(np.floor(at).astype(int), size - 1)
    part = at - low
    return np.stack((low, np.minimum(low + 1, size - 1)), 1), np.stack((1 - part, part), 1)


def nearest(size: int, out: int, scale: float | None, exact: bool) -> Array:
    """The element that each output element is; exact: by the centres of both."""
    step = size / out if scale is None else 1.0 / scale
    places = (np.arange(out) + 0.5) * step if exact else np.arange(out) * step
    return np.minimum(np.floor(places.astype(np.float32)), size - 1).astype(np.int64)


def _cubic(size: int, out: int, scale: float | None, align: bool) -> Taps:
    """Keys' cubic convolution, a = -0.75 as PyTorch and OpenCV have it."""
    at = _positions(size, out, scale, align)[:, None]
    near, steps = np.floor(at).astype(int), np.arange(-1, 3)
    return np.clip(near + steps, 0, size - 1), _keys(np.abs(at - near - steps), -0.75)


def _smooth(size: int, out: int, scale: float | None, align: bool, mode: str) -> Taps:
    """Pillow's filters (antialias=True): when shrinking they are as wide as the elements of the result."""
    if align:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = size / out if scale is None else 1.0 / scale
    wide, (reach, filtered) = max(step, 1.0), FILTERS[mode]
    centre = step * (np.arange(out)[:, None] + 0.5)
    first = np.maximum((centre - reach * wide + 0.5).astype(int), 0)
    last = np.minimum((centre + reach * wide + 0.5).astype(int), size)
    at = first + np.arange((last - first).max())
    d = np.abs((at - centre + 0.5) / wide)
    weights = np.where(at < last, filtered(d), 0)
    return np.minimum(at, size - 1), weights / weights.sum(1, keepdims=True)


def keys_near(d: Any, a: float) -> Any:
    """Keys' cubic filter at distances d up to 1."""
    return ((a + 2) * d - (a + 3)) * d * d + 1


def keys_far(d: Any, a: float) -> Any:
    """And at those from 1 to 2, beyond which it is 0."""
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def _keys(d: Array, a: float) -> Array:
    return np.where(d <= 1, keys_near(d, a), np.where(d < 2, keys_far(d, a), 0))


# Pillow's filters of distances, and how far each reaches.
FILTERS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "bilinear": (1, lambda d: np.maximum(1 - d, 0)),
    "bicubic": (2, lambda d: _keys(d, -0.5)),
    "lanczos": (3, lambda d: np.where(d < 3, np.sinc(d) * np.sinc(d / 3), 0)),
}


def _means(size: int, out: int) -> Taps:
    """Of windows that divide a line, the mean."""
    windows = parts(size, out)
    longest = max((high - low for low, high in windows), default=0)
    starts, lengths = np.array([(low, high - low) for low, high in windows], int).reshape(-1, 2).T[:, :, None]
    steps = np.arange(longest)
    return np.minimum(starts + steps, size - 1), np.where(steps < lengths, 1 / lengths, 0)


@lru_cache(maxsize=64)
def taps(size: int, out: int, *how: Any) -> Taps:
    """The taps (out, n) of a line of `size` elements."""
    if how == ("mean",):
        return _means(size, out)
    scale, _, mode, smooth = how
    if mode in ("nearest", "nearest-exact"):
        return nearest(size, out, scale, mode != "nearest")[:, None], np.ones((out, 1))
    if smooth:
        return _smooth(size, out, *how[:-1])
    return (_cubic if mode == "bicubic" else _linear)(size, out, *how[:-2])


@lru_cache(maxsize=64)
def matrix(size: int, out: int, *how: Any) -> Array:
    """The taps as a matrix (size, out)."""
    (at, weights), found = taps(size, out, *how), np.zeros((size, out))
    np.add.at(found, (at, np.arange(out)[:, None]), weights)
    return found


@lru_cache(maxsize=64)
def fixed(size: int, out: int, *how: Any) -> tuple[Array, int]:
    """(the matrix in whole numbers of 2 ** -bits, bits): PyTorch's weights of bytes, of 16 bits."""
    exact = matrix(size, out, *how)
    bits = max(p for p in range(23) if int(0.5 + exact.max() * (1 << p)) < 1 << 15)
    return np.trunc(exact * (1 << bits) + np.where(exact < 0, -0.5, 0.5)), bits


@lru_cache(maxsize=64)
def _operand(size: int, out: int, how: How, back: bool, dtype: Any, turned: bool) -> Array:
    weights = matrix(size, out, *how).astype(dtype)
    return np.ascontiguousarray(weights.T if back != turned else weights)


@lru_cache(maxsize=64)
def _listed(size: int, out: int, how: How, back: bool, dtype: Any) -> tuple[Array, Array, Array]:
    """(where each sum's terms start, what they read, their weights), one sum after the other; back: of the
    sums that gradients are.
    """
    at, weights = taps(size, out, *how)
    sources, sums = at, np.broadcast_to(np.arange(out)[:, None], at.shape)
    if how == ("mean",) or how[-1]:  # lists of other lengths, filled up with weights of zero
        there = weights != 0
        sources, sums, weights = sources[there], sums[there], weights[there]
    if back:
        sources, sums = sums, sources
    order = np.argsort(sums, axis=None, kind="stable")
    sources, sums, weights = (part.reshape(-1)[order] for part in (sources, sums, weights))
    starts = np.searchsorted(sums, np.arange((size if back else out) + 1))
    return starts, np.ascontiguousarray(sources, np.int64), weights.astype(dtype)


@composite(name="_weighted_sums", where=("aten",))
def _weighted_sums(input, dim: int, size: int, out: int, how: How, back: bool = False):
    """Lines of `size` elements along a dim become `out` sums of them, by their taps; with `back`, lines of
    `out` elements become `size`, as gradients do.
    """
    weights = _operand(size, out, how, back, input._geometry.dtype, False)
    return input.movedim(dim, -1).matmul(tensor_of(weights)).movedim(-1, dim).contiguous()


@_weighted_sums.kernel
@resolved
def _weighted_sums_kernel(input: Array, dim: int, size: int, out: int, how: How, back: bool = False) -> Any:
    if not input.size or (not (low := is_low_precision(input)) and input.dtype.kind != "f"):
        return NotImplemented
    if low:  # the sums are rounded once
        wide = np.empty(input.shape, np.float32)
        sums = _weighted_sums_kernel.resolve(wide, dim, size, out, how, back)  # type: ignore[attr-defined]

        def rounded(a: Array) -> Array:
            found = sums(converted(a, np.empty(a.shape, np.float32)))
            return converted(found, np.empty(found.shape, a.dtype))

        return rounded
    length, behind = input.shape[dim], math.prod(input.shape[dim + 1 :])
    shape = (*input.shape[:dim], size if back else out, *input.shape[dim + 1 :])
    weights = _operand(size, out, how, back, input.dtype, behind > 1)
    tables = _listed(size, out, how, back, input.dtype) if behind > 1 else ()
    along = service("sums of rows along a dim")

    def run(a: Array) -> Any:
        lines = a if a.flags.c_contiguous else np.ascontiguousarray(a)
        if behind > 1:
            lines = lines.reshape(-1, length, behind)
            found = along(lines, 1, *tables)
            if found is not None:
                return found.reshape(shape)
            found = unrounded_product(weights, lines)
        else:
            lines = lines.reshape(-1, length)
            found = unrounded_product(lines, weights)
        if not np.isfinite(np.add.reduce(found, axis=None)):
            found = _tap_by_tap(lines.reshape(-1, length, behind), size, out, how, back)
        return found.reshape(shape)

    return run


@_weighted_sums.gradient
def _weighted_sums_gradient(s: Any, grad: Any) -> Any:
    return _weighted_sums(grad, s.dim, s.size, s.out, s.how, not s.back)


def _tap_by_tap(lines: Array, size: int, out: int, how: How, back: bool) -> Array:
    """The sums of what each reads, of lines (*, length, *)."""
    starts, sources, weights = _listed(size, out, how, back, lines.dtype)
    reached = np.flatnonzero(np.diff(starts))
    found = np.zeros((len(lines), size if back else out, lines.shape[2]), lines.dtype)
    terms = lines[:, sources] * weights[:, None]
    found[:, reached] = np.add.reduceat(terms, starts[reached], axis=1)
    return found
