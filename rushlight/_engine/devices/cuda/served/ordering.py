"""Greatest elements, running totals, orders, by the device's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.results import named
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches, lines, orders
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import functions, indexing
from rushlight._engine.devices.cuda.served.reductions import first_of


def _real(a: DeviceArray) -> None:
    if a.dtype.kind == "c" or not a.size:
        raise NotServed("an order of these elements")


def _along(how: str) -> Callable[..., Any]:
    """(values, positions) of the greatest or least along a dim."""

    def serve(backend: Device, a: DeviceArray, dim: int, keepdim: bool = False) -> Any:
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
    def serve(backend: Device, a: DeviceArray, dim: int | None = None, keepdim: bool = False) -> Any:
        _real(a)
        if dim is None or not a.ndim:
            flat = launches.contiguous(backend, a).reshape(-1)
            found = first_of(backend, how, flat, 0)[1]
            return found.reshape(*[1] * a.ndim) if keepdim else found
        d = wrap_dim(dim, a.ndim)
        found = first_of(backend, how, a, d)[1]
        return found[(slice(None),) * d + (None,)] if keepdim else found

    return serve


# How many elements of a line a thread adds up, where lines are few and long.
CHUNK = 1 << 9


def _scan(how: str) -> Callable[..., Any]:
    def serve(backend: Device, a: DeviceArray, dim: int, dtype: Any = None) -> Any:
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
        _scanned(backend, how, a, made, d)
        return made

    return serve


def _scanned(backend: Device, how: str, a: DeviceArray, made: DeviceArray, d: int) -> None:
    """Running totals along dim d; long lines are cut in parts, whose totals are added up in turn."""
    n, lines_ = a.shape[d], a.size // a.shape[d]
    if n < 4 * CHUNK or lines_ >= backend.card.processors * 64:
        _scan_lines(backend, how, a, made, d)
        return
    whole = n // CHUNK * CHUNK
    before = (slice(None),) * d
    head, scanned = (_cut(x[(*before, slice(whole))], d) for x in (a, made))
    _scan_lines(backend, how, head, scanned, d + 1)
    ends = scanned[(*before, slice(None), CHUNK - 1)]
    sums = backend.empty(ends.shape, made.dtype, None, poison=False)
    _scanned(backend, how, ends, sums, d)
    function = {"add": np.add, "mul": np.multiply, "logaddexp": np.logaddexp}[how]
    later = scanned[(*before, slice(1, None))]
    part = sums[(*before, slice(-1), None)]
    functions.ufunc(backend, function, (later, part), {"out": (later,)})
    if whole < n:
        rest = made[(*before, slice(whole, None))]
        _scan_lines(backend, how, a[(*before, slice(whole, None))], rest, d)
        functions.ufunc(backend, function, (rest, sums[(*before, slice(-1, None))]), {"out": (rest,)})


def _cut(a: DeviceArray, d: int) -> DeviceArray:
    """A view with dim d as (parts, CHUNK)."""
    n, step = a.shape[d], a.strides[d]
    return a.relaid(
        (*a.shape[:d], n // CHUNK, CHUNK, *a.shape[d + 1 :]),
        (*a.strides[:d], step * CHUNK, step, *a.strides[d + 1 :]),
    )


def _geometry(arrays: Sequence[DeviceArray], d: int) -> tuple[int, list[int]]:
    """(dims of the lines, their sizes and their strides in each array)."""
    others = [i for i in range(arrays[0].ndim) if i != d]
    numbers = [arrays[0].shape[i] for i in others]
    return len(others), numbers + [x.strides[i] for x in arrays for i in others]


def _scan_lines(backend: Device, how: str, a: DeviceArray, made: DeviceArray, d: int) -> None:
    """Running totals, a thread a line."""
    count = a.size // a.shape[d]
    of, result = (dt.from_numpy_dtype(x.dtype).name for x in (a, made))
    rank, layout = _geometry((a, made), d)
    kernel = Source(lines.scan, (how, of, result, rank), 2, 4 + 3 * rank)
    numbers = [count, a.shape[d], a.strides[d], made.strides[d], *layout]
    backend.launch(kernel, backend.grid(count), (a,), (made,), numbers, f"cum{how}")


def _running(how: str) -> Callable[..., Any]:
    """(values, places) of running extremes."""

    def serve(backend: Device, a: DeviceArray, dim: int) -> Any:
        _real(a)
        if not a.ndim:
            raise NotServed("a number")
        d = wrap_dim(dim, a.ndim)
        values = backend.empty(a.shape, a.dtype, None, poison=False)
        places = backend.empty(a.shape, np.dtype(np.int64), None, poison=False)
        count = a.size // a.shape[d]
        rank, layout = _geometry((a, values, places), d)
        kernel = Source(orders.extremes, (how, dt.from_numpy_dtype(a.dtype).name, rank), 3, 5 + 4 * rank)
        numbers = [count, a.shape[d], *[x.strides[d] for x in (a, values, places)], *layout]
        backend.launch(kernel, backend.grid(count), (a,), (values, places), numbers, f"cum{how}")
        return named(f"cum{how}")(values, places)

    return serve


def _logcumsumexp(backend: Device, a: DeviceArray, dim: int) -> DeviceArray:
    _real(a)
    if not a.ndim or not dt.from_numpy_dtype(a.dtype).is_floating_point:
        raise NotServed("sums of this kind")
    made: DeviceArray = backend.empty(a.shape, a.dtype, None, poison=False)
    _scan_lines(backend, "logaddexp", a, made, wrap_dim(dim, a.ndim))
    return made


# --- orders ---------------------------------------------------------------------------------------

# From how many elements on a line is put in order by merges: ranks take the square of them.
LONGEST = 1 << 10


def order_of(backend: Device, a: DeviceArray, d: int, descending: bool) -> DeviceArray:
    """Where the elements of each line along a dim are, in their order; equal ones keep theirs."""
    _real(a)
    n = a.shape[d]
    if n > LONGEST:
        last = launches.contiguous(backend, a if d == a.ndim - 1 else a.swapaxes(d, -1))
        found = _merged(backend, last, descending)
        return found if d == a.ndim - 1 else launches.contiguous(backend, found.swapaxes(d, -1))
    rank = backend.empty(a.shape, np.dtype(np.int64), None, poison=False)
    dims, layout = _geometry((a, rank), d)
    kernel = Source(lines.ranks, (dt.from_numpy_dtype(a.dtype).name, descending, dims), 2, 4 + 3 * dims)
    numbers = [a.size, n, a.strides[d], rank.strides[d], *layout]
    backend.launch(kernel, backend.grid(a.size), (a,), (rank,), numbers, "ranks")
    order: DeviceArray = backend.empty(a.shape, np.dtype(np.int64), None, poison=False)
    line = backend.kept(("numbers", n), lambda: np.arange(n))
    steps = tuple([8 if i == d else 0 for i in range(a.ndim)])
    indexing.write_along(backend, "set", order, d, rank, line.relaid(a.shape, steps), a.shape)
    return order


def _merged(backend: Device, a: DeviceArray, descending: bool) -> DeviceArray:
    """The order along the last dim of a contiguous array, by a merge sort: a launch for each step."""
    n = a.shape[-1]
    numbers = backend.kept(("numbers", n), lambda: np.arange(n))
    order: DeviceArray = launches.copied(backend, numbers.relaid(a.shape, (*[0] * (a.ndim - 1), 8)))
    kernel = Source(orders.merged, (dt.from_numpy_dtype(a.dtype).name, descending), 3, 3)
    width = 1
    while width < n:
        after = backend.empty(a.shape, np.dtype(np.int64), None, poison=False)
        backend.launch(kernel, backend.grid(a.size), (a, order), (after,), [a.size, n, width], "sort")
        order, width = after, 2 * width
    return order


def _taken(backend: Device, a: DeviceArray, d: int, order: DeviceArray) -> DeviceArray:
    kept = [(i, i) for i in range(a.ndim) if i != d]
    return indexing.read_at(backend, a, [(d, order)], kept, order.shape, "sort", False)


def _sort(
    backend: Device, a: DeviceArray, dim: int = -1, descending: bool = False, stable: Any = False
) -> Any:
    wrap_dim(dim, a.ndim)
    source = a if a.ndim else a.reshape(1)
    d = wrap_dim(dim, source.ndim)
    order = order_of(backend, source, d, descending)
    found = [x.reshape(*a.shape) for x in (_taken(backend, source, d, order), order)]
    if not a.flags.c_contiguous and a.dense:
        steps = [s // a.itemsize for s in a.strides]
        found = [launches.copied(backend, x, tuple([s * x.itemsize for s in steps])) for x in found]
    return named("sort")(*found)


def _picked(backend: Device, name: str, a: DeviceArray, order: DeviceArray, d: int, keepdim: bool) -> Any:
    """(values, places) of one element along d for each line, named by positions with d of size 1."""
    source = a if a.ndim else a.reshape(1)
    places = launches.contiguous(backend, order)
    values = _taken(backend, source, d, places)
    if not a.ndim:
        return named(name)(values.reshape(()), places.reshape(()))
    if not keepdim:
        values, places = (x[(*(slice(None),) * d, 0)] for x in (values, places))
    return named(name)(values, places)


def _kthvalue(backend: Device, a: DeviceArray, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    _real(a)
    source, d = a if a.ndim else a.reshape(1), wrap_dim(dim, a.ndim)
    if not 1 <= k <= source.shape[d]:
        raise NotServed("such a number of an element")
    order = order_of(backend, source, d, False)
    return _picked(backend, "kthvalue", a, order[(*(slice(None),) * d, slice(k - 1, k))], d, keepdim)


def _middle(backend: Device, a: DeviceArray, d: int, skip_nan: bool) -> DeviceArray:
    """Positions of the lower medians along d, of size 1 there; of nan the first one, or none is looked at."""
    size, order = a.shape[d], order_of(backend, a, d, False)
    if a.dtype.kind in "iub":
        first: DeviceArray = order[(*(slice(None),) * d, slice((size - 1) // 2, (size - 1) // 2 + 1))]
        return first
    nan = functions.ufunc(backend, np.isnan, (a,), {})
    holes = functions.FUNCTIONS[np.sum](backend, nan, axis=d, keepdims=True)

    def u(function: Any, *x: Any) -> Any:
        return functions.ufunc(backend, function, x, {})

    left = u(np.subtract, size - 1, holes)
    if skip_nan:
        middle = u(np.floor_divide, u(np.maximum, left, 0), 2)
    else:
        middle = functions.where(
            backend, u(np.greater, holes, 0), u(np.add, left, 1), np.asarray((size - 1) // 2)
        )
    kept = [(i, i) for i in range(a.ndim) if i != d]
    return indexing.read_at(backend, order, [(d, middle)], kept, middle.shape, "median", False)


def _median_all(backend: Device, a: DeviceArray, skip_nan: bool) -> DeviceArray:
    _real(a)
    flat = launches.contiguous(backend, a).reshape(-1)
    return _taken(backend, flat, 0, _middle(backend, flat, 0, skip_nan)).reshape(())


def _median(name: str, skip_nan: bool) -> Callable[..., Any]:
    def serve(backend: Device, a: DeviceArray, dim: int, keepdim: bool) -> Any:
        _real(a)
        source, d = a if a.ndim else a.reshape(1), wrap_dim(dim, a.ndim)
        return _picked(backend, name, a, _middle(backend, source, d, skip_nan), d, keepdim)

    return serve


def _topk(
    backend: Device, a: DeviceArray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    if not a.ndim:
        raise NotServed("a number")
    d = wrap_dim(dim, a.ndim)
    if not 0 < k <= a.shape[d]:
        raise NotServed("so many elements")
    order = order_of(backend, a, d, largest)[(slice(None),) * d + (slice(k),)]
    order = launches.contiguous(backend, order)
    return named("topk")(_taken(backend, a, d, order), order)


ROWS: dict[str, Callable[..., Any]] = {
    "_max_dim": _along("max"),
    "_min_dim": _along("min"),
    "argmax": _position("max"),
    "argmin": _position("min"),
    "cumsum": _scan("add"),
    "cumprod": _scan("mul"),
    "cummax": _running("max"),
    "cummin": _running("min"),
    "logcumsumexp": _logcumsumexp,
    "kthvalue": _kthvalue,
    "_median_all": _median_all,
    "_median_dim": _median("median", False),
    "_nanmedian_dim": _median("nanmedian", True),
    "sort": _sort,
    "topk": _topk,
}
