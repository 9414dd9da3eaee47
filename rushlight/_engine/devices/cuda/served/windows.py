"""Convolutions and pools by the device's kernels: windows are views, products are cuBLAS's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import channels_last_strides, convolves_last, has_channels_last
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.served import functions, reductions
from rushlight._engine.devices.cuda.served.indexing import read_at, write_along
from rushlight._engine.devices.cuda.served.reductions import first_of
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.nn import pooling
from rushlight._engine.ops.nn.sliding_windows import offsets, out_size, parts, reach, reads
from rushlight._engine.ops.shapes import padding as padding_rows

Ints = tuple[int, ...]
# From how many elements on a window is no single expression.
MOST = 64


def _number(a: DeviceArray, value: Any) -> Any:
    return np.asarray(value).astype(a.dtype)


def _padded(backend: Device, a: DeviceArray, pads: Sequence[tuple[int, int]], value: Any = 0) -> DeviceArray:
    """The last dims extended by (before, behind) elements."""
    if not any(p != (0, 0) for p in pads):
        return a
    lead = a.ndim - len(pads)
    sizes = [n + low + high for n, (low, high) in zip(a.shape[lead:], pads, strict=True)]
    made: DeviceArray = backend.empty((*a.shape[:lead], *sizes), a.dtype, None, poison=False)
    launches.convert(backend, made, _number(a, value))
    inside = [slice(low, low + n) for n, (low, _) in zip(a.shape[lead:], pads, strict=True)]
    launches.convert(backend, made[(..., *inside)], a)
    return made


def _formatted(backend: Device, found: DeviceArray, last: bool) -> DeviceArray:
    if not last:
        return found
    strides = tuple([s * found.itemsize for s in channels_last_strides(found.shape)])
    return launches.copied(backend, found, strides)


# --- convolutions ---------------------------------------------------------------------------------


def _columns(
    backend: Device, x: DeviceArray, kernel: Ints, how: tuple[Ints, Ints, Ints], groups: int, out: Ints
) -> DeviceArray:
    """(N, groups, C / groups * prod(k), prod(out)) of windows."""
    stride, padding, dilation = how
    n, c = x.shape[:2]
    if all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding):
        return launches.contiguous(backend, x).reshape(n, groups, c // groups, math.prod(out))
    x = _padded(backend, x, [(p, p) for p in padding])
    steps = x.strides[2:]
    view = x.relaid(
        (n, c, *kernel, *out),
        (
            *x.strides[:2],
            *[s * d for s, d in zip(steps, dilation, strict=True)],
            *[s * t for s, t in zip(steps, stride, strict=True)],
        ),
    )
    sizes = n, groups, c // groups * math.prod(kernel), math.prod(out)
    return launches.copied(backend, view).reshape(*sizes)


def _add_windows(
    backend: Device, columns: DeviceArray, space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints
) -> DeviceArray:
    """Windows (*lead, *kernel, *out) added up where they lie in (*lead, *space)."""
    n = len(kernel)
    lead, out = columns.shape[: columns.ndim - 2 * n], columns.shape[columns.ndim - n :]
    pads = reach(space, kernel, stride, pad, dilation, out)
    sizes = [size + a + b for size, (a, b) in zip(space, pads, strict=True)]
    into: DeviceArray = backend.empty((*lead, *sizes), columns.dtype, None, poison=False)
    launches.convert(backend, into, _number(into, 0))
    taps = itertools.product(*map(range, kernel))
    for place, cut in zip(taps, offsets(kernel, stride, dilation, out), strict=True):
        part = into[cut]
        functions.ufunc(
            backend, np.add, (part, columns[(*[slice(None)] * len(lead), *place)]), {"out": (part,)}
        )
    inside = [slice(p, p + size) for p, size in zip(pad, space, strict=True)]
    return launches.contiguous(backend, into[(..., *inside)])


def _blas(backend: Device, a: DeviceArray, b: DeviceArray) -> Any:
    if backend.simulated:
        raise NotServed("a library call")
    if a.dtype != b.dtype or not a.size or not b.size:
        raise NotServed("a convolution of nothing, or of two dtypes")
    return backend.blas


def _by_cudnn(
    backend: Any,
    kind: str,
    one: DeviceArray,
    two: DeviceArray,
    shape: Ints,
    how: tuple[Ints, Ints, Ints, int],
    last: bool,
) -> DeviceArray | None:
    """A convolution, or a gradient of one, by cuDNN; None where that does not serve."""
    if backend.simulated or one.dtype != two.dtype or not (one.size and two.size and 0 not in shape):
        return None
    try:
        found: DeviceArray = backend.dnn.run(kind, one, two, tuple(shape), how, last)
        return found
    except NotServed:
        return None


def _convolution(
    backend: Device, x: DeviceArray, w: DeviceArray, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> DeviceArray:
    blas, kernel = _blas(backend, x, w), w.shape[2:]
    sizes = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    out = tuple([out_size(*of) for of in sizes])
    last, shape = convolves_last(x, w), (x.shape[0], w.shape[0], *out)
    how = tuple(stride), tuple(padding), tuple(dilation), groups
    ready = _by_cudnn(backend, "forward", x, w, shape, how, last)
    if ready is not None:
        return ready
    columns = _columns(backend, x, kernel, (stride, padding, dilation), groups, out)
    weight = launches.contiguous(backend, w).reshape(groups, w.shape[0] // groups, -1)
    found = blas.product(weight, columns).reshape(x.shape[0], w.shape[0], *out)
    return _formatted(backend, found, last)


def _convolution_input(
    backend: Device,
    g: DeviceArray,
    w: DeviceArray,
    space: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> DeviceArray:
    blas, (n, _, *out), (outs, channels, *kernel) = _blas(backend, g, w), g.shape, w.shape
    how = tuple(stride), tuple(padding), tuple(dilation), groups
    whole = n, groups * channels, *space
    ready = _by_cudnn(backend, "input", w, g, whole, how, convolves_last(g, w))
    if ready is not None:
        return ready
    weight = launches.contiguous(backend, w).reshape(groups, outs // groups, channels * math.prod(kernel))
    given = launches.contiguous(backend, g).reshape(n, groups, outs // groups, math.prod(out))
    columns = blas.product(weight.swapaxes(1, 2), given)
    columns = columns.reshape(n, groups * channels, *kernel, *out)
    found = _add_windows(backend, columns, tuple(space), tuple(kernel), stride, padding, dilation)
    return _formatted(backend, found, convolves_last(g, w))


def _convolution_weight(
    backend: Device,
    g: DeviceArray,
    x: DeviceArray,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> DeviceArray:
    """Samples stand side by side in one product: (outs, N * places) by (N * places, C * prod(k))."""
    blas, (n, outs), out = _blas(backend, g, x), g.shape[:2], g.shape[2:]
    how, whole = (
        (tuple(stride), tuple(padding), tuple(dilation), groups),
        (outs, x.shape[1] // groups, *kernel),
    )
    ready = _by_cudnn(backend, "weight", x, g, whole, how, convolves_last(x, g))
    if ready is not None:
        return ready
    columns = _columns(backend, x, tuple(kernel), (stride, padding, dilation), groups, out)
    given = launches.contiguous(backend, g).reshape(n, groups, outs // groups, math.prod(out))
    left = launches.copied(backend, given.transpose(1, 2, 0, 3)).reshape(groups, outs // groups, -1)
    right = launches.copied(backend, columns.transpose(1, 0, 3, 2)).reshape(groups, n * math.prod(out), -1)
    found = blas.product(left, right).reshape(outs, x.shape[1] // groups, *kernel)
    return _formatted(backend, found, convolves_last(x, g))


# --- pools ----------------------------------------------------------------------------------------


@cache
def _maxima(count: int, of: str, wide: str, places: bool) -> Meaning:
    """The maxima of `count` windows' elements, and where they are, if asked."""
    best: Expr = symbol("x0")
    where: Expr = symbol("t0")
    for k in range(1, count):
        other = symbol(f"x{k}")
        # A later nan is the maximum, too; padding, whose place is -1, is none.
        wins = m.logical_or(m.gt(other, best), m.ne(other, other))
        if places:
            wins = m.logical_or(wins, m.logical_and(m.lt(where, 0), m.ge(symbol(f"t{k}"), 0)))
        best, where = m.where(wins, other, best), m.where(wins, symbol(f"t{k}"), where)
    inputs = tuple([(f"x{k}", of) for k in range(count)])
    if not places:
        return Meaning((best,), inputs, (of,), wide)
    inputs += tuple([(f"t{k}", "int64") for k in range(count)])
    return Meaning((best, where), inputs, (of, "int64"), wide)


def _views(
    backend: Device,
    a: DeviceArray,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    dilation: Ints,
    out: Ints,
    value: Any,
) -> list[DeviceArray]:
    if a.dtype.kind == "c" or a.dtype.kind in "iu" or not a.size:
        raise NotServed("a pool of this kind")
    lead = a.ndim - len(kernel)
    wide = _padded(backend, a, reach(a.shape[lead:], kernel, stride, pad, dilation, out), value)
    return [wide[cut] for cut in offsets(kernel, stride, dilation, out)]


def _last(a: DeviceArray) -> bool:
    return has_channels_last(a.shape, a.strides, (4, 5))


def _greatest(
    backend: Device, a: DeviceArray, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints
) -> DeviceArray:
    if math.prod(kernel) > MOST:
        return _max_of_many(backend, a, kernel, stride, pad, dilation, out)[0]
    views = _views(backend, a, kernel, stride, pad, dilation, out, -np.inf)
    of = dt.from_numpy_dtype(a.dtype)
    meaning = _maxima(len(views), of.name, dt.opmath(of).name, False)
    made: DeviceArray = backend.empty((*a.shape[: -len(out)], *out), a.dtype, None, poison=False)
    launches.into(backend, meaning, views, (made,), "max pool")
    return _formatted(backend, made, _last(a))


def _max_pool(
    backend: Device, a: DeviceArray, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints
) -> Any:
    if math.prod(kernel) > MOST:
        return _max_of_many(backend, a, kernel, stride, pad, dilation, out)
    views = _views(backend, a, kernel, stride, pad, dilation, out, -np.inf)
    of = dt.from_numpy_dtype(a.dtype)
    meaning = _maxima(len(views), of.name, dt.opmath(of).name, True)
    shape = (*a.shape[: -len(out)], *out)
    made: DeviceArray = backend.empty(shape, a.dtype, None, poison=False)
    places: DeviceArray = backend.empty(shape, np.dtype(np.int64), None, poison=False)
    table = _places(backend, a.shape[a.ndim - len(out) :], kernel, stride, pad, dilation, out)
    launches.into(backend, meaning, [*views, *table], (made, places), "max pool")
    return _formatted(backend, made, _last(a)), _formatted(backend, places, _last(a))


def _places(
    backend: Device, space: Ints, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints
) -> list[DeviceArray]:
    """For each element of a window, where in the space it lies, -1 in padding: views of one table."""
    how = space, kernel, stride, pad, dilation, out
    table = backend.kept(("places", *how), lambda: reads(*how))
    return [table[k].reshape(*out) for k in range(math.prod(kernel))]


def _windows(
    backend: Device,
    a: DeviceArray,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    dilation: Ints,
    out: Ints,
    value: Any,
) -> DeviceArray:
    """(..., *out, *kernel): the windows of the padded array, as a view of it."""
    lead = a.ndim - len(kernel)
    wide = _padded(backend, a, reach(a.shape[lead:], kernel, stride, pad, dilation, out), value)
    steps = wide.strides[lead:]
    return wide.relaid(
        (*a.shape[:lead], *out, *kernel),
        (
            *wide.strides[:lead],
            *[s * t for s, t in zip(steps, stride, strict=True)],
            *[s * d for s, d in zip(steps, dilation, strict=True)],
        ),
    )


def _max_of_many(
    backend: Device, a: DeviceArray, kernel: Ints, stride: Ints, pad: Ints, dilation: Ints, out: Ints
) -> tuple[DeviceArray, DeviceArray]:
    """(maxima, their places) of windows of many elements: copied, and searched one by one."""
    if any(pad) or a.dtype.kind == "c" or not a.size:
        raise NotServed("a pool of this kind")
    view = _windows(backend, a, kernel, stride, pad, dilation, out, -np.inf)
    flat = launches.copied(backend, view).reshape(*view.shape[: -len(out)], math.prod(kernel))
    how = a.shape[a.ndim - len(out) :], kernel, stride, pad, dilation, out
    table = backend.kept(("places", *how), lambda: reads(*how))
    return _first_places(backend, flat, table.swapaxes(0, 1), _last(a))


def _first_places(
    backend: Device, flat: DeviceArray, table: DeviceArray, last: bool
) -> tuple[DeviceArray, DeviceArray]:
    """(maxima over the last dim, their places by a table (windows, elements))."""
    values, which = first_of(backend, "max", flat, flat.ndim - 1)
    number = math.prod(table.shape[:1])
    lines = which.reshape(-1, number)
    places = read_at(backend, table, [(1, lines)], [(0, 1)], lines.shape, "max pool", False)
    places = places.reshape(*which.shape)
    return _formatted(backend, values, last), _formatted(backend, places, last)


def _adaptive_max(backend: Device, a: DeviceArray, out: Ints) -> Any:
    """Windows of unlike sizes: the smaller ones have their last elements again."""
    n = len(out)
    lead, space = a.ndim - n, a.shape[a.ndim - n :]
    if a.dtype.kind == "c" or not a.size or not all(out):
        raise NotServed("a pool of this kind")
    tables = [_bounds_of(size, o) for size, o in zip(space, out, strict=True)]
    sizes = tuple([t.shape[1] for t in tables])
    picked = []
    for k, table in enumerate(tables):
        key = "window", space[k], out[k]
        here = backend.kept(key, partial(np.asarray, table))
        sides, steps = [1] * 2 * n, [0] * 2 * n
        sides[k], sides[n + k] = table.shape
        steps[k], steps[n + k] = here.strides
        picked.append((lead + k, here.relaid(tuple(sides), tuple(steps))))
    shape = (*a.shape[:lead], *out, *sizes)
    found = read_at(backend, a, picked, [(d, d) for d in range(lead)], shape, "max pool", False)

    def numbers() -> Any:
        grids = np.meshgrid(*[np.arange(t.size) for t in tables], indexing="ij", sparse=True)
        flat = np.zeros((), np.int64)
        for grid, table, size in zip(grids, tables, space, strict=True):
            flat = flat * size + table.reshape(-1)[grid]
        each = flat.reshape([x for t in tables for x in t.shape])
        order = [*range(0, 2 * n, 2), *range(1, 2 * n, 2)]
        return np.ascontiguousarray(each.transpose(order)).reshape(math.prod(out), -1)

    table = backend.kept(("window places", space, out), numbers)
    return _first_places(backend, found.reshape(*a.shape[:lead], *out, -1), table, _last(a))


def _bounds_of(size: int, out: int) -> np.ndarray[Any, Any]:
    """(windows, elements): the positions of each window, the last one again where it has fewer."""
    bounds = parts(size, out)
    most = max(high - low for low, high in bounds)
    return np.array([[min(low + k, high - 1) for k in range(most)] for low, high in bounds])


def _spread(backend: Device, a: DeviceArray, places: DeviceArray, size: int) -> DeviceArray:
    made: DeviceArray = backend.empty((*a.shape[:-1], size), a.dtype, None, poison=False)
    launches.convert(backend, made, _number(a, 0))
    write_along(backend, "add", made, a.ndim - 1, places, a, a.shape)
    return made


@cache
def _means(count: int, of: str, wide: str) -> Meaning:
    total: Expr = m.cast(symbol("x0"), arg=wide)
    for k in range(1, count):
        total = total + symbol(f"x{k}")
    inputs = (*[(f"x{k}", of) for k in range(count)], ("share", wide))
    return Meaning((total / symbol("share"),), inputs, (of,), wide)


def _avg_pool(
    backend: Device,
    a: DeviceArray,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    out: Ints,
    count_pad: bool,
    divisor: Any,
) -> DeviceArray:
    of = dt.from_numpy_dtype(a.dtype)
    wide = dt.opmath(of)
    share = _share(
        backend, a.shape[a.ndim - len(out) :], kernel, stride, pad, out, count_pad, divisor, wide.np
    )
    made: DeviceArray = backend.empty((*a.shape[: -len(out)], *out), a.dtype, None, poison=False)
    if math.prod(kernel) > MOST:
        _mean_of_many(backend, a, kernel, stride, pad, out, share, made)
    else:
        views = _views(backend, a, kernel, stride, pad, (1,) * len(kernel), out, 0)
        launches.into(backend, _means(len(views), of.name, wide.name), [*views, share], (made,), "avg pool")
    return _formatted(backend, made, len(kernel) == 2 and _last(a))


def _mean_of_many(
    backend: Device,
    a: DeviceArray,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    out: Ints,
    share: Any,
    made: DeviceArray,
) -> None:
    """Windows of many elements: sums over the dims that show them."""
    of = dt.from_numpy_dtype(a.dtype)
    if not of.is_floating_point or not a.size:
        raise NotServed("a pool of this kind")
    n = len(kernel)
    view = _windows(backend, a, kernel, stride, pad, (1,) * n, out, 0)
    sums = backend.empty(view.shape[:-n], dt.opmath(of).np, None, poison=False)
    name = dt.opmath(of).name
    mapped = Meaning((m.cast(symbol("input"), arg=name),), (("input", of.name),), (name,), name)
    axes = tuple(range(view.ndim - n, view.ndim))
    reductions.into(backend, "add", mapped, None, view, axes, sums, "avg pool")
    launches.into(backend, _quotient(name, of.name), (sums, share), (made,), "avg pool")


@cache
def _quotient(wide: str, of: str) -> Meaning:
    return Meaning((symbol("total") / symbol("share"),), (("total", wide), ("share", wide)), (of,), wide)


def _share(backend: Device, *how: Any) -> Any:
    """What windows' sums are divided by: a number, or an array of the windows' shape."""
    share = pooling._shares(*how)
    if (share == share.flat[0]).all():
        return np.asarray(share.flat[0], share.dtype)
    return backend.kept(("shares", *how), lambda: share)


def _avg_pool_back(
    backend: Device,
    g: DeviceArray,
    space: Ints,
    kernel: Ints,
    stride: Ints,
    pad: Ints,
    count_pad: bool,
    divisor: Any,
) -> DeviceArray:
    n = len(kernel)
    out, lead = g.shape[g.ndim - n :], g.shape[: g.ndim - n]
    share = _share(backend, tuple(space), kernel, stride, pad, out, count_pad, divisor, g.dtype)
    part = functions.ufunc(backend, np.divide, (g, share if share.ndim else share.item()), {})
    part = launches.contiguous(backend, part)
    wide = part.relaid((*lead, *kernel, *out), (*part.strides[: g.ndim - n], *(0,) * n, *part.strides[-n:]))
    found = _add_windows(backend, wide, tuple(space), kernel, stride, pad, (1,) * n)
    return _formatted(backend, found, n == 2 and _last(g))


# --- columns --------------------------------------------------------------------------------------


def _im2col(
    backend: Device, x: DeviceArray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> DeviceArray:
    sizes = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    out = tuple([out_size(*of) for of in sizes])
    if min(out) <= 0:
        raise NotServed("no windows")
    found = _columns(backend, x, tuple(kernel), (stride, padding, dilation), 1, out)[:, 0]
    return found if found.base is None else launches.copied(backend, found)


def _col2im(
    backend: Device,
    columns: DeviceArray,
    space: Ints,
    kernel: Ints,
    dilation: Ints,
    padding: Ints,
    stride: Ints,
) -> DeviceArray:
    n, rows, _ = columns.shape
    sizes = zip(space, kernel, stride, padding, dilation, strict=True)
    out = tuple([out_size(*of) for of in sizes])
    wide = launches.contiguous(backend, columns).reshape(n, rows // math.prod(kernel), *kernel, *out)
    return _add_windows(backend, wide, tuple(space), tuple(kernel), stride, padding, dilation)


# --- paddings by an array's own elements ----------------------------------------------------------


def _pad_places(backend: Device, a: DeviceArray, pad: Ints, mode: str) -> DeviceArray:
    sizes, core, moves = padding_rows._moves(a.shape, pad, mode)
    made: DeviceArray = backend.empty(tuple(sizes), a.dtype, None, poison=False)
    launches.convert(backend, made[core], a)
    for to, source, _ in moves:
        launches.convert(backend, made[to], made[source])
    return made if mode == "circular" else _formatted(backend, made, _last(a))


def _pad_places_backward(backend: Device, g: DeviceArray, pad: Ints, mode: str, shape: Ints) -> DeviceArray:
    _, core, moves = padding_rows._moves(shape, pad, mode)
    found = launches.copied(backend, g)
    for to, source, d in reversed(moves):
        part, own = found[to], found[source]
        if own.shape != part.shape:
            part = functions.FUNCTIONS[np.sum](backend, part, axis=d, keepdims=True)
        functions.ufunc(backend, np.add, (own, part), {"out": (own,)})
    result = launches.copied(backend, found[core])
    return result if mode == "circular" else _formatted(backend, result, _last(g))


ROWS: dict[str, Callable[..., Any]] = {
    "_adaptive_max": _adaptive_max,
    "im2col": _im2col,
    "col2im": _col2im,
    "_pad_places": _pad_places,
    "_pad_places_backward": _pad_places_backward,
    "_convolution": _convolution,
    "_convolution_input": _convolution_input,
    "_convolution_weight": _convolution_weight,
    "_greatest": _greatest,
    "_max_pool": _max_pool,
    "_spread": _spread,
    "_avg_pool": _avg_pool,
    "_avg_pool_back": _avg_pool_back,
}
