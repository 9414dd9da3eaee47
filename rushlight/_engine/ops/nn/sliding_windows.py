"""Sliding windows over the last dims of arrays: what convolution and pooling are made of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.layout import has_channels_last
from rushlight._engine.core.services import service
from rushlight._engine.ops.resolved import ArrayFunction

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
# Elements that NumPy pads sooner.
_FEW = 1 << 11


def for_dims(make: Any) -> Any:
    """Decorator that calls `make(n)`, which declares rows, for spaces of one to three dims."""
    for n in (1, 2, 3):
        make(n)
    return make


def images(n: int) -> str:
    """How docstrings write an input with a space of n dims: "(N, C, H, W) or (C, H, W)" of two."""
    space = ("L", "H, W", "D, H, W")[n - 1]
    return f"(N, C, {space}) or (C, {space})"


def parts(size: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of `count` windows that divide a size; they overlap where it does not divide."""
    return [((i * size) // count, -((-(i + 1) * size) // count)) for i in range(count)]


def is_int(value: Any) -> bool:
    """Whether it is one int, be it NumPy's."""
    return isinstance(value, (int, np.integer))


def tuple_of(value: Any, count: int, name: str, op: str) -> Ints:
    """An int or a list or tuple as `count` ints.

    TypeError where it is something else, RuntimeError, in PyTorch's words, where it has another length.
    """
    if is_int(value):
        return (value if isinstance(value, int) else int(value),) * count
    if not isinstance(value, (list, tuple)) or not all(hasattr(v, "__index__") for v in value):
        raise wrong_type(op, name, "tuple of ints", value)
    found = tuple(index(v) for v in value)
    if len(found) == 1:
        return found * count
    if len(found) != count:
        raise RuntimeError(
            f"{op}: expected {name} to be a single integer value or a list of {count} "
            f"values to match the spatial dimensions, but got {name}={list(found)}"
        )
    return found


def out_size(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil: bool = False) -> int:
    """How many windows fit; with `ceil`, one more that starts inside the (left-padded) input."""
    span = size + 2 * pad - dilation * (kernel - 1) - 1
    count = span // stride + 1
    if ceil and span % stride and count * stride < size + pad:
        count += 1
    return count


def padded(a: Array, pads: Sequence[tuple[int, int]], value: Any = 0) -> Array:
    """The last dims extended by (before, behind) elements of `value`."""
    found: Array = padder(a.shape, pads, value)(a)
    return found


def padder(shape: Ints, pads: Sequence[tuple[int, int]], value: Any = 0) -> ArrayFunction:
    """`padded` of arrays of a shape."""
    if not any(p != (0, 0) for p in pads):
        return lambda a: a
    lead = len(shape) - len(pads)
    sizes = (*shape[:lead], *[n + low + high for n, (low, high) in zip(shape[lead:], pads, strict=True)])
    inside: tuple[Any, ...] = (
        ...,
        *[slice(low, low + n) for n, (low, _) in zip(shape[lead:], pads, strict=True)],
    )

    def run(a: Array) -> Array:
        # Zeros cost nothing where memory is fresh.
        out = np.full(sizes, value, a.dtype) if value else np.zeros(sizes, a.dtype)
        if a.size < _FEW or not service("copy")(out[inside], a):
            out[inside] = a
        return out

    return run


def lies_last(a: Array, n: int) -> bool:
    """Whether (N, C, *space), of n dims of space, lies as dense (N, *space, C), and not as (N, C, *space)."""
    if a.ndim != n + 2 or a.flags.c_contiguous or not np.moveaxis(a, 1, -1).flags.c_contiguous:
        return False
    return has_channels_last(a.shape, a.strides, (a.ndim,))


def windows(a: Array, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Array:
    """A view (*lead, *kernel, *out) of an array (*lead, *space)."""
    n = len(kernel)
    lead = a.ndim - n
    steps = a.strides[lead:]
    strides = (
        *a.strides[:lead],
        *[s * d for s, d in zip(steps, dilation, strict=True)],
        *[s * t for s, t in zip(steps, stride, strict=True)],
    )
    return np.lib.stride_tricks.as_strided(a, (*a.shape[:lead], *kernel, *out), strides, writeable=False)


def offsets(kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> list[Any]:
    """For each element of the window: the slices of the space that it reads."""
    return [
        (
            ...,
            *[
                slice(p * d, p * d + t * (o - 1) + 1, t)
                for p, d, t, o in zip(place, dilation, stride, out, strict=True)
            ],
        )
        for place in itertools.product(*map(range, kernel))
    ]


def add_windows(columns: Array, space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints) -> Array:
    """Windows (*lead, *kernel, *out) added up where they lie in (*lead, *space)."""
    found: Array = window_adder(columns.shape, space, kernel, stride, pad, dilation)(columns)
    return found


def window_adder(
    shape: Ints, space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints
) -> ArrayFunction:
    """`add_windows` of columns of one shape."""
    n = len(kernel)
    lead, out = shape[: len(shape) - 2 * n], shape[len(shape) - n :]
    pads = reach(space, kernel, stride, pad, dilation, out)
    wide = (*lead, *[size + a + b for size, (a, b) in zip(space, pads, strict=True)])
    each = (slice(None),) * len(lead)
    taps: list[Any] = [(*each, *place) for place in itertools.product(*map(range, kernel))]
    cuts = list(zip(taps, offsets(kernel, stride, dilation, out), strict=True))
    inside: tuple[Any, ...] = (..., *[slice(p, p + size) for p, size in zip(pad, space, strict=True)])

    def add(columns: Array) -> Array:
        into = np.zeros(wide, columns.dtype)
        for tap, cut in cuts:
            into[cut] += columns[tap]
        return np.ascontiguousarray(into[inside])

    return add


def reach(sizes: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints) -> Any:
    """(before, behind) padding per dim so that every window lies inside."""
    return [
        (p, max((o - 1) * s + d * (k - 1) + 1 - n - p, 0))
        for n, k, s, p, d, o in zip(sizes, kernel, stride, pad, dilation, out, strict=True)
    ]


@lru_cache(maxsize=32)
def reads(space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints) -> Array:
    """The places that windows read, (elements, windows); -1 in padding."""
    pads = reach(space, kernel, stride, pad, dilation, out)
    table = padded(np.arange(math.prod(space)).reshape(space), pads, -1)
    return np.stack([table[cut].ravel() for cut in offsets(kernel, stride, dilation, out)])


@lru_cache(maxsize=32)
def terms(space: Ints, kernel: Ints, stride: Ints, pad: Ints, out: Ints, back: bool) -> tuple[Array, Array]:
    """(where each window's list starts, the places that it reads), or, with `back`, each place's windows."""
    table = reads(space, kernel, stride, pad, (1,) * len(kernel), out).T
    windows, taps = np.nonzero(table >= 0)
    places = table[windows, taps]
    if back:
        order = np.lexsort((windows, taps, places))  # as add_windows adds: tap by tap
        windows, places = places[order], windows[order]
    starts = np.searchsorted(windows, np.arange((math.prod(space) if back else math.prod(out)) + 1))
    return starts, np.ascontiguousarray(places)
