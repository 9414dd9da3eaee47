"""What depends on where something is: masks, positions in order, counts, searches, by the device's kernels.

Sizes that depend on numbers are read by the host, which waits for them, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.core.promotion import of_number, promote_types
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches, orders
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import functions, indexing, ordering
from rushlight._engine.devices.cuda.served.indexing import integer, read_at, spread, whole
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.ordering import searching

_INT64 = np.dtype(np.int64)


def number(backend: Device, a: DeviceArray) -> Any:
    """An element, which the host waits for."""
    return backend.read(a.reshape(-1)[:1]).item()


def _flat(backend: Device, a: DeviceArray) -> DeviceArray:
    return launches.contiguous(backend, a).reshape(-1)


def _numbers(backend: Device, n: int) -> DeviceArray:
    return backend.kept(("numbers", n), lambda: np.arange(n))


# --- where something is ---------------------------------------------------------------------------


@cache
def _placing() -> Meaning:
    """An element's own place, stored where the number of those before it says, or in the last of them all."""
    mask, total, last = symbol("mask"), symbol("total"), symbol("last")
    there = m.where(mask, total - whole(1), last)
    address = symbol("base") + there * whole(8)
    names = (("mask", "bool"), ("total", "int64"), ("last", "int64"), ("i", "int64"), ("base", "int64"))
    return Meaning((symbol("i"), address), names, ("int64",), "int64")


def positions(backend: Device, mask: DeviceArray) -> DeviceArray:
    """Where a mask, seen flat, is set."""
    if mask.dtype.kind != "b":
        mask = functions.ufunc(backend, np.not_equal, (mask, 0), {})
    flat = _flat(backend, mask)
    if not flat.size:
        return backend.empty((0,), _INT64, None, poison=False)
    totals = ordering.ROWS["cumsum"](backend, flat, 0)
    count = number(backend, totals[-1:])
    made: DeviceArray = backend.empty(
        (flat.size + 1 if count < flat.size else count,), _INT64, None, poison=False
    )
    launches.by_coordinates(
        backend, _placing(), (flat, totals, integer(flat.size)), (), "nonzero", shape=(flat.size,),
        axes=(("i", 0),), bases=(("base", made),),
    )  # fmt: skip
    found: DeviceArray = made[:count]
    return found


def coordinates(backend: Device, flat: DeviceArray, shape: Sequence[int]) -> list[DeviceArray]:
    """Flat positions as one array of positions a dim."""
    found: list[DeviceArray] = []
    rest = flat
    for size in reversed(shape[1:]):
        quotient = functions.ufunc(backend, np.floor_divide, (rest, size), {})
        found.insert(0, functions.ufunc(backend, np.subtract, (rest, _times(backend, quotient, size)), {}))
        rest = quotient
    return [rest, *found]


def _times(backend: Device, a: DeviceArray, by: int) -> Any:
    return functions.ufunc(backend, np.multiply, (a, by), {})


def _nonzero(backend: Device, a: DeviceArray) -> DeviceArray:
    if not a.ndim:
        return backend.empty((int(bool(number(backend, a))), 0), _INT64)
    flat = positions(backend, a)
    made: DeviceArray = backend.empty((a.ndim, flat.size), _INT64, None, poison=False)
    for k, places in enumerate(coordinates(backend, flat, a.shape)):
        launches.convert(backend, made[k], places)
    return made.T


def _masked(backend: Device, a: DeviceArray, mask: Any) -> tuple[DeviceArray, DeviceArray]:
    if mask.__class__ is not DeviceArray or mask.dtype.kind != "b":
        raise NotServed("a mask of this kind")
    shape = broadcast_shapes(mask.shape, a.shape)
    return spread(a, shape), spread(mask, shape)


def _masked_select(backend: Device, a: DeviceArray, mask: Any) -> DeviceArray:
    a, mask = _masked(backend, a, mask)
    where = positions(backend, mask)
    return read_at(backend, _flat(backend, a), [(0, where)], [], where.shape, "masked_select")


def _masked_scatter(backend: Device, a: DeviceArray, mask: Any, source: DeviceArray) -> DeviceArray:
    if a.dtype != source.dtype:
        raise NotServed("a source of another dtype")
    a, mask = _masked(backend, a, mask)
    made, where = launches.copied(backend, a), positions(backend, mask)
    if where.size > source.size:
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask, got {source.size} and {where.size}"
        )
    given = _flat(backend, source)[: where.size]
    _write_apart(backend, made.reshape(-1), where, given)
    return made


# --- indices --------------------------------------------------------------------------------------


def expanded(backend: Device, shape: Sequence[int], indices: Sequence[Any]) -> list[Any]:
    """Indices with positions in the place of masks."""
    found: list[Any] = []
    for index in indices:
        if index is None or index.dtype.kind not in "bu" or index.dtype.itemsize > 1:
            found.append(index)
            continue
        advanced_indexing._check_mask(shape, index, len(found))  # it looks at shapes alone
        if index.__class__ is not DeviceArray:
            found += index.nonzero()
        elif index.ndim == 1:
            found.append(positions(backend, index))
        else:
            found += coordinates(backend, positions(backend, index), index.shape)
    return found


def read(backend: Device, a: DeviceArray, indices: Sequence[Any]) -> DeviceArray:
    """a[indices], of positions and masks."""
    return indexing.ROWS["index"](backend, a, expanded(backend, a.shape, indices))


@cache
def _linear(dtypes: tuple[str, ...]) -> tuple[Meaning, Any]:
    """(positions along several dims as one, the checks)."""
    total: Expr = whole(0)
    inputs: list[tuple[str, str]] = []
    checks = []
    for k, d in enumerate(dtypes):
        position = m.cast(symbol(f"i{k}"), arg="int64")
        low, high = symbol(f"low{k}"), symbol(f"high{k}")
        wrong = m.logical_or(m.lt(position, low), m.ge(position, high))
        position = m.where(wrong, whole(0), m.where(m.lt(position, whole(0)), position + high, position))
        total = total * high + position
        inputs.append((f"i{k}", d))
        checks.append((f"i{k}", f"low{k}", f"high{k}"))
    numbers = [(f"{name}{k}", "int64") for k in range(len(dtypes)) for name in ("low", "high")]
    return Meaning((total,), (*inputs, *numbers), ("int64",), "int64"), tuple(checks)


def linear(backend: Device, given: Sequence[DeviceArray], sizes: Sequence[int]) -> DeviceArray:
    """Positions along dims of these sizes as positions in all of them; negative ones count from the end."""
    shape = np.broadcast_shapes(*[i.shape for i in given])
    made: DeviceArray = backend.empty(shape, _INT64, None, poison=False)
    if not made.size:
        return made
    meaning, checks = _linear(tuple([dt.from_numpy_dtype(i.dtype).name for i in given]))
    numbers = [integer(n) for size in sizes for n in (-size, size)]
    launches.by_coordinates(backend, meaning, (*given, *numbers), (made,), "index", checked=checks)
    return made


def write(
    backend: Device, a: DeviceArray, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> None:
    """a[indices] = values, or += with every repeated position counted."""
    if values.__class__ is not DeviceArray:
        whole = np.asarray(values)
        values = backend.brought(whole.astype(a.dtype)) if whole.ndim else backend.number(whole, a.dtype)
    if a.dtype != values.dtype:
        raise NotServed("values of another dtype")
    given = [
        i if i is None or i.__class__ is DeviceArray else backend.brought(np.ascontiguousarray(i))
        for i in expanded(backend, a.shape, indices)
    ]
    plan = advanced_indexing.fitting(a.shape, given, values.shape)
    where = [k for k, i in enumerate(given) if i is not None]
    others = [d for d in range(a.ndim) if d not in where]
    result, front, common = plan.result, plan.front, plan.shape
    taken: list[Any] = [given[k] for k in where]
    places = linear(backend, taken, [a.shape[k] for k in where])
    count = len(common)
    full = spread(values, result).transpose(
        *range(front, front + count), *range(front), *range(front + count, len(result))
    )
    turned = a.transpose(*where, *others)
    width = math.prod([a.shape[d] for d in others])
    rows = math.prod([a.shape[d] for d in where])
    dense = launches.contiguous(backend, turned)
    source = launches.contiguous(backend, full).reshape(places.size, width)
    write_rows(
        backend, "add" if accumulate else "set", dense.reshape(rows, width), places.reshape(-1), source
    )
    if dense is not turned:
        launches.convert(backend, turned, dense)


def write_rows(
    backend: Device, how: str, target: DeviceArray, places: DeviceArray, source: DeviceArray
) -> None:
    """Rows of a matrix combined with others at positions, in the positions' order; both lie without gaps."""
    if not source.size:
        return
    of = dt.from_numpy_dtype(target.dtype).name
    if of.startswith("complex"):
        if how != "set":
            raise NotServed("a sum of complex numbers at positions")
        step = target.itemsize // 8
        whole_ = [x.relaid((x.shape[0], x.shape[1] * step), (x.shape[1] * x.itemsize, 8), 0, _INT64)
                  for x in (target, source)]  # fmt: skip
        write_rows(backend, how, whole_[0], places, whole_[1])
        return
    if of == "bool" and how != "set":
        raise NotServed("a sum of bools")
    order = ordering.order_of(backend, places, 0, False)
    sorted_ = read_at(backend, places, [(0, order)], [], places.shape, "sort", False)
    count, width = source.shape
    kernel = Source(orders.gathered_writes, (how, of), 4, 3)
    total = count * width
    backend.launch(
        kernel,
        backend.grid(total),
        (sorted_, order, source),
        (target,),
        [total, count, width],
        f"write {how}",
    )


@cache
def _apart(of: str) -> Meaning:
    address = symbol("base") + m.cast(symbol("place"), arg="int64") * symbol("step")
    names = (("x", of), ("place", "int64"), ("step", "int64"), ("base", "int64"))
    return Meaning((symbol("x"), address), names, (of,), of)


def _write_apart(backend: Device, target: DeviceArray, places: DeviceArray, values: DeviceArray) -> None:
    """target[places] = values, along one dim, at positions that differ."""
    if not places.size:
        return
    of = launches.MOVED.get(target.itemsize)
    if of is None:
        raise NotServed("elements of this size")
    given = values.relaid(values.shape, values.strides, 0, np.dtype(of))
    arrays = (given, places, integer(target.strides[0]))
    launches.by_coordinates(
        backend, _apart(of), arrays, (), "write", shape=places.shape, bases=(("base", target),)
    )


def _index_put(
    backend: Device, a: DeviceArray, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> DeviceArray:
    if not indices or a.dtype != values.dtype:
        raise NotServed("no index, or values of another dtype")
    made = launches.copied(backend, a, a.strides if a.dense else None)
    write(backend, made, indices, values, accumulate)
    return made


def _put(
    backend: Device, a: DeviceArray, index: DeviceArray, source: DeviceArray, accumulate: bool = False
) -> DeviceArray:
    if a.dtype != source.dtype or index.size != source.size:
        raise NotServed("a source of another size or dtype")
    made = launches.copied(backend, a)
    places = linear(backend, [_flat(backend, index)], [a.size])
    rows = _flat(backend, source).reshape(-1, 1)
    write_rows(backend, "add" if accumulate else "set", made.reshape(-1, 1), places, rows)
    return made


# --- counts ---------------------------------------------------------------------------------------


@cache
def _hot(of: str) -> Meaning:
    names = (("x", of), ("k", "int64"))
    return Meaning((m.cast(m.eq(symbol("x"), symbol("k")), arg="int64"),), names, ("int64",), "int64")


def _bounds(backend: Device, a: DeviceArray) -> tuple[int, int]:
    """The least and the greatest of whole numbers, read by the host."""
    pair = [functions.FUNCTIONS[f](backend, a) for f in (np.min, np.max)]
    found = backend.read(functions.concatenate(backend, [p.reshape(1) for p in pair]))
    return int(found[0]), int(found[1])


def _one_hot(backend: Device, a: DeviceArray, num_classes: int = -1) -> DeviceArray:
    if a.dtype != _INT64 or (not a.size and num_classes <= 0):
        raise NotServed("classes of this kind")
    least, most = _bounds(backend, a) if a.size else (0, -1)
    if least < 0:
        raise RuntimeError("Class values must be non-negative.")
    count = most + 1 if num_classes == -1 else num_classes
    if most >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    made: DeviceArray = backend.empty((*a.shape, count), _INT64, None, poison=False)
    launches.by_coordinates(
        backend, _hot("int64"), (a[..., None],), (made,), "one_hot", axes=(("k", a.ndim),)
    )
    return made


def _bincount(backend: Device, a: DeviceArray, weights: Any = None, minlength: int = 0) -> DeviceArray:
    if a.ndim != 1 or a.dtype.kind not in "iu" or minlength < 0:
        raise NotServed("counts of this kind")
    least, most = _bounds(backend, a) if a.size else (0, -1)
    if least < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    size = max(most + 1, minlength)
    if weights is None:
        given = launches.copied(
            backend, backend.kept(("one",), lambda: np.ones(1, np.int64)).relaid(a.shape, (0,))
        )
    elif weights.shape != a.shape:
        raise RuntimeError(
            "weights should be 1-d and have the same length as input, got "
            f"{list(weights.shape)} and {list(a.shape)}"
        )
    else:
        of = np.float32 if weights.dtype == np.float32 else np.float64
        given = launches.contiguous(backend, functions.as_dtype(backend, weights, np.dtype(of)))
    return counted(backend, functions.as_dtype(backend, a, _INT64), given, size)


def counted(backend: Device, places: DeviceArray, given: DeviceArray, size: int) -> DeviceArray:
    """How much of `given` lies at each of `size` positions."""
    made: DeviceArray = backend.empty((size,), given.dtype, None, poison=False)
    launches.convert(backend, made, np.zeros((), given.dtype))
    write_rows(
        backend, "add", made.reshape(-1, 1), launches.contiguous(backend, places), given.reshape(-1, 1)
    )
    return made


def _histc(backend: Device, a: DeviceArray, bins: int = 100, min: Any = 0, max: Any = 0) -> DeviceArray:
    if a.dtype.kind != "f" or bins <= 0:
        raise NotServed("a histogram of this kind")
    flat = _flat(backend, a)
    if min == max and flat.size:
        pair = [backend.read(functions.FUNCTIONS[f](backend, flat)) for f in (np.min, np.max)]
        min, max = pair[0].reshape(()), pair[1].reshape(())
    low, high = searching._range(np.zeros(0, a.dtype), min, max)

    def u(function: Any, *x: Any) -> Any:
        return functions.ufunc(backend, function, x, {})

    inside = u(np.logical_and, u(np.greater_equal, flat, low), u(np.less_equal, flat, high))
    kept = read_at(backend, flat, [(0, where := positions(backend, inside))], [], where.shape, "histc")
    place = u(np.true_divide, u(np.multiply, u(np.subtract, kept, low), a.dtype.type(bins)), high - low)
    place = u(np.minimum, functions.astype(backend, place, _INT64), bins - 1)
    ones = launches.copied(
        backend, backend.kept(("one", a.dtype), lambda: np.ones(1, a.dtype)).relaid(kept.shape, (0,))
    )
    return counted(backend, place, ones, bins)


# --- searches -------------------------------------------------------------------------------------


def _common(backend: Device, edges: DeviceArray, values: Any) -> tuple[DeviceArray, DeviceArray]:
    """Edges and values in the one dtype that both have a place in."""
    if values.__class__ is not DeviceArray:
        values = backend.brought(np.asarray(values))
    of = promote_types(*[dt.from_numpy_dtype(x.dtype) for x in (edges, values)])
    if of.is_complex or of.category == dt.BOOL:
        raise NotServed("an order of this dtype")
    return tuple(
        [launches.contiguous(backend, functions.as_dtype(backend, x, of.np)) for x in (edges, values)]
    )  # type: ignore[return-value]


def search(backend: Device, edges: DeviceArray, values: Any, right: bool, out_int32: bool) -> DeviceArray:
    """Where values belong among edges in order: along the last dim, or in the one line that there is."""
    edges, values = _common(backend, edges, values)
    if edges.ndim > 1 and edges.shape[:-1] != values.shape[:-1]:
        raise NotServed("boundaries of other dims")
    made: DeviceArray = backend.empty(values.shape, _INT64, None, poison=False)
    if values.size:
        kernel = Source(orders.searches, (dt.from_numpy_dtype(edges.dtype).name, right), 3, 3)
        each = values.size if edges.ndim == 1 else values.shape[-1]
        numbers = [values.size, edges.shape[-1], each]
        backend.launch(kernel, backend.grid(values.size), (edges, values), (made,), numbers, "searchsorted")
    return functions.astype(backend, made, np.int32) if out_int32 else made


def _searchsorted(
    backend: Device,
    edges: DeviceArray,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> DeviceArray:
    if not edges.ndim or (side == "left" and right) or sorter is not None:
        raise NotServed("a search of this kind")
    return search(backend, edges, values, right or side == "right", out_int32)


def _bucketize(
    backend: Device, values: Any, edges: DeviceArray, out_int32: bool = False, right: bool = False
) -> DeviceArray:
    if edges.ndim != 1:
        raise NotServed("boundaries of other dims")
    return search(backend, edges, values, right, out_int32)


def _isin(
    backend: Device, a: Any, tests: Any, assume_unique: bool = False, invert: bool = False
) -> DeviceArray:
    given = [x if hasattr(x, "dtype") else np.asarray(x).astype(of_number(x).np) for x in (a, tests)]
    of = promote_types(*[dt.from_numpy_dtype(x.dtype) for x in given])
    if of.is_complex or of.category == dt.BOOL:
        raise NotServed("membership of this dtype")
    one, two = (
        functions.as_dtype(backend, x, of.np)
        if x.__class__ is DeviceArray
        else backend.brought(x.astype(of.np))
        for x in given
    )
    two = _flat(backend, two)
    if not two.size:
        made: DeviceArray = backend.empty(one.shape, np.dtype(bool), None, poison=False)
        launches.convert(backend, made, np.asarray(invert))
        return made
    line = ordering.ROWS["sort"](backend, two)[0]
    place = search(backend, line, one, False, False)
    last = functions.ufunc(backend, np.minimum, (place, two.size - 1), {})
    there = read_at(backend, line, [(0, last)], [], last.shape, "isin", False)
    relation = np.not_equal if invert else np.equal
    return functions.ufunc(backend, relation, (one, there), {})


# --- what differs ---------------------------------------------------------------------------------


def _starts(backend: Device, line: DeviceArray) -> DeviceArray:
    """Where elements of a line differ from the one before."""
    made: DeviceArray = backend.empty(line.shape, np.dtype(bool), None, poison=False)
    launches.convert(backend, made[:1], np.asarray(True))
    functions.ufunc(backend, np.not_equal, (line[1:], line[:-1]), {"out": (made[1:],)})
    return made


def _without_copies(backend: Device, line: DeviceArray) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """(the elements of a line that differ from the one before, the number of each element's, how many)."""
    starts = _starts(backend, line)
    first = positions(backend, starts)
    values = read_at(backend, line, [(0, first)], [], first.shape, "unique", False)
    back = functions.ufunc(backend, np.subtract, (ordering.ROWS["cumsum"](backend, starts, 0), 1), {})
    ends = functions.concatenate(
        backend, [first[1:], backend.kept(("size", line.size), lambda: np.array([line.size]))]
    )
    return values, back, functions.ufunc(backend, np.subtract, (ends, first), {})


def _unique(
    backend: Device,
    a: DeviceArray,
    sorted: bool = True,
    inverse: bool = False,
    counts: bool = False,
    dim: Any = None,
) -> Any:
    if dim is not None or not a.size or a.dtype.kind == "c":
        raise NotServed("what differs along a dim")
    flat = _flat(backend, a)
    order = ordering.order_of(backend, flat, 0, False)
    line = read_at(backend, flat, [(0, order)], [], flat.shape, "unique", False)
    values, back, count = _without_copies(backend, line)
    number_of: DeviceArray = backend.empty(flat.shape, _INT64, None, poison=False)
    if inverse:
        _write_apart(backend, number_of, order, back)
    return searching._chosen((values, number_of.reshape(a.shape), count), inverse, counts)


def _unique_consecutive(
    backend: Device, a: DeviceArray, inverse: bool = False, counts: bool = False, dim: Any = None
) -> Any:
    if (dim is not None and (a.ndim != 1)) or not a.size or a.dtype.kind == "c":
        raise NotServed("what differs along a dim")
    values, back, count = _without_copies(backend, _flat(backend, a))
    return searching._chosen((values, back.reshape(a.shape), count), inverse, counts)


def _repeat_each(backend: Device, a: DeviceArray, times: int, dim: int) -> DeviceArray:
    a = a.reshape(1) if not a.ndim else a
    if times < 0:
        raise NotServed("so many repeats")
    wide = a.relaid(
        (*a.shape[: dim + 1], times, *a.shape[dim + 1 :]), (*a.strides[: dim + 1], 0, *a.strides[dim + 1 :])
    )
    shape = (*a.shape[:dim], a.shape[dim] * times, *a.shape[dim + 1 :])
    return launches.copied(backend, wide).reshape(*shape)


ROWS: dict[str, Callable[..., Any]] = {
    "index": read,
    "_nonzero": _nonzero,
    "masked_select": _masked_select,
    "masked_scatter": _masked_scatter,
    "index_put": _index_put,
    "put": _put,
    "one_hot": _one_hot,
    "bincount": _bincount,
    "histc": _histc,
    "searchsorted": _searchsorted,
    "bucketize": _bucketize,
    "isin": _isin,
    "unique": _unique,
    "unique_consecutive": _unique_consecutive,
    "_repeat_each": _repeat_each,
}
