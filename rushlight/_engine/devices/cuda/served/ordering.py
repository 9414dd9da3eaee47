"""Greatest elements, running totals, orders, by the device's kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.results import named
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import launches, lines
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import functions, indexing
from rushlight._engine.devices.cuda.served.reductions import first_of


def _real(a: DeviceArray) -> None:
    if a.dtype.kind == "c" or not a.size:
        raise NotServed("an order of these elements")


def _along(how: str) -> Callable[..., Any]:
    """(values, positions) of the greatest or least along a dim."""

    def serve(backend: Any, a: DeviceArray, dim: int, keepdim: bool = False) -> Any:
        _real(a)
        if not a.ndim:
            raise NotServed("a number")
        d = wrap_dim(dim, a.ndim)
        values, places = first_of(backend, how, a, d)
        if keepdim:
            key = (slice(None),) * d + (None,)
            values, places = values[key], places[key]
        return named(how)(values, places)

    return serve


def _position(how: str) -> Callable[..., Any]:
    def serve(backend: Any, a: DeviceArray, dim: int | None = None, keepdim: bool = False) -> Any:
        _real(a)
        if dim is None or not a.ndim:
            flat = launches.contiguous(backend, a).reshape(-1)
            found = first_of(backend, how, flat, 0)[1]
            return found.reshape(*[1] * a.ndim) if keepdim else found
        d = wrap_dim(dim, a.ndim)
        found = first_of(backend, how, a, d)[1]
        return found[(slice(None),) * d + (None,)] if keepdim else found

    return serve


def _scan(how: str) -> Callable[..., Any]:
    def serve(backend: Any, a: DeviceArray, dim: int, dtype: Any = None) -> Any:
        _real(a)
        if not a.ndim:
            raise NotServed("a number")
        given = dt.from_numpy_dtype(a.dtype)
        result = dtype or (given if given.category >= dt.FLOATING else dt.int64)
        if result is not given and dtype is not None:
            a = functions.as_dtype(backend, a, result.np)
            given = result
        d = wrap_dim(dim, a.ndim)
        made = backend.empty(a.shape, result.np, None, poison=False)
        others = [i for i in range(a.ndim) if i != d]
        count = math.prod(a.shape[i] for i in others)
        kernel = Source(lines.scan, (how, given.name, result.name, len(others)), 2, 4 + 3 * len(others))
        numbers = [count, a.shape[d], a.strides[d], made.strides[d], *[a.shape[i] for i in others]]
        numbers += [x.strides[i] for x in (a, made) for i in others]
        backend.launch(kernel, backend.grid(count), (a,), (made,), numbers, f"cum{how}")
        return made

    return serve


# From how many elements on a line is not put in order: its ranks take the square of them.
LONGEST = 1 << 16


def _order(backend: Any, a: DeviceArray, d: int, descending: bool) -> DeviceArray:
    """Where the elements of each line along a dim are, in their order."""
    _real(a)
    n = a.shape[d]
    if n > LONGEST:
        raise NotServed(f"an order of more than {LONGEST} elements")
    others = [i for i in range(a.ndim) if i != d]
    rank = backend.empty(a.shape, np.dtype(np.int64), None, poison=False)
    kernel = Source(
        lines.ranks,
        (dt.from_numpy_dtype(a.dtype).name, descending, len(others)),
        2,
        4 + 3 * len(others),
    )
    numbers = [a.size, n, a.strides[d], rank.strides[d], *[a.shape[i] for i in others]]
    numbers += [x.strides[i] for x in (a, rank) for i in others]
    backend.launch(kernel, backend.grid(a.size), (a,), (rank,), numbers, "ranks")
    order: DeviceArray = backend.empty(a.shape, np.dtype(np.int64), None, poison=False)
    line = backend.kept(("numbers", n), lambda: np.arange(n))
    steps = tuple([8 if i == d else 0 for i in range(a.ndim)])
    indexing.write_along(backend, "set", order, d, rank, line.relaid(a.shape, steps), a.shape)
    return order


def _taken(backend: Any, a: DeviceArray, d: int, order: DeviceArray) -> DeviceArray:
    kept = [(i, i) for i in range(a.ndim) if i != d]
    return indexing.read_at(backend, a, [(d, order)], kept, order.shape, "sort", False)


def _sort(backend: Any, a: DeviceArray, dim: int = -1, descending: bool = False, stable: Any = False) -> Any:
    if not a.ndim or not a.flags.c_contiguous:
        raise NotServed("an order of such an array")
    d = wrap_dim(dim, a.ndim)
    order = _order(backend, a, d, descending)
    return named("sort")(_taken(backend, a, d, order), order)


def _topk(
    backend: Any, a: DeviceArray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    if not a.ndim:
        raise NotServed("a number")
    d = wrap_dim(dim, a.ndim)
    if not 0 < k <= a.shape[d]:
        raise NotServed("so many elements")
    order = _order(backend, a, d, largest)[(slice(None),) * d + (slice(k),)]
    order = launches.contiguous(backend, order)
    return named("topk")(_taken(backend, a, d, order), order)


ROWS: dict[str, Callable[..., Any]] = {
    "_max_dim": _along("max"),
    "_min_dim": _along("min"),
    "argmax": _position("max"),
    "argmin": _position("min"),
    "cumsum": _scan("add"),
    "cumprod": _scan("mul"),
    "sort": _sort,
    "topk": _topk,
}
