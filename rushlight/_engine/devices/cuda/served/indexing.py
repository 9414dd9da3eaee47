"""Reads and writes at positions that arrays hold, by the device's kernels.

A read is a pointwise kernel over the result whose expression fetches at an address. Writes go line by line
(kernels/lines.py), in the order of the positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches, lines
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import functions
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import Expr, const, m, symbol
from rushlight._engine.ops.row_expressions import fetch

POSITIONS = ("int64", "int32")


def integer(value: int) -> np.ndarray[Any, Any]:
    """A number that a kernel takes by its bits."""
    return np.asarray(value, np.int64)


def whole(value: int) -> Expr:
    """A literal int64."""
    return m.cast(const(value), arg="int64")


@cache
def _reading(of: str, indices: tuple[str, ...], kept: tuple[int, ...]) -> tuple[Meaning, Any, Any]:
    """(what is computed, the axes' inputs, the checks) for a read at positions along len(indices) dims."""
    offset: Expr = whole(0)
    inputs: list[tuple[str, str]] = []
    checks = []
    for k, d in enumerate(indices):
        position = m.cast(symbol(f"i{k}"), arg="int64")
        low, high, step = symbol(f"low{k}"), symbol(f"high{k}"), symbol(f"step{k}")
        wrong = m.logical_or(m.lt(position, low), m.ge(position, high))
        position = m.where(wrong, whole(0), m.where(m.lt(position, whole(0)), position + high, position))
        offset = offset + position * step
        inputs.append((f"i{k}", d))
        checks.append((f"i{k}", f"low{k}", f"high{k}"))
    numbers = [(f"{name}{k}", "int64") for k in range(len(indices)) for name in ("low", "high", "step")]
    for axis in kept:
        offset = offset + symbol(f"c{axis}") * symbol(f"s{axis}")
        numbers.append((f"s{axis}", "int64"))
    root = fetch(of, symbol("base"), offset)
    axes = [(f"c{axis}", axis) for axis in kept]
    every = (*inputs, *numbers, *[(name, "int64") for name, _ in axes], ("base", "int64"))
    return Meaning((root,), every, (of,), of), tuple(axes), tuple(checks)


def read_at(
    backend: Device,
    a: DeviceArray,
    picked: Sequence[tuple[int, DeviceArray]],
    kept: Sequence[tuple[int, int]],
    shape: tuple[int, ...],
    what: str,
    wrap: bool = True,
) -> DeviceArray:
    """An array of a shape: `a` at positions along the dims `picked`, which broadcast to the shape, and at the
    result's own coordinate of an axis along the dims `kept` (dim, axis). wrap: negative ones count from the
    end.
    """
    if any(dt.from_numpy_dtype(i.dtype).name not in POSITIONS for _, i in picked):
        raise NotServed("positions of this dtype")
    if a.itemsize > 8:
        raise NotServed("a read of complex128")
    made: DeviceArray = backend.empty(shape, a.dtype, None, poison=False)
    if not made.size:
        return made
    if not a.size:
        raise NotServed("a read of nothing")
    item, of = a.itemsize, launches.MOVED[a.itemsize]
    kept = [(dim, axis) for dim, axis in kept if a.shape[dim] != 1]
    meaning, axes, checks = _reading(
        of, tuple([dt.from_numpy_dtype(i.dtype).name for _, i in picked]), tuple([axis for _, axis in kept])
    )
    numbers = []
    for dim, _ in picked:
        size = a.shape[dim]
        numbers += [integer(-size if wrap else 0), integer(size), integer(a.strides[dim] // item)]
    numbers += [integer(a.strides[dim] // item) for dim, _ in kept]
    target = made.relaid(made.shape, made.strides, 0, np.dtype(of))
    arrays = (*[i for _, i in picked], *numbers)
    launches.by_coordinates(
        backend, meaning, arrays, (target,), what, axes=axes, checked=checks, bases=(("base", a),)
    )
    return made


def _gather(
    backend: Device, a: DeviceArray, dim: int, index: DeviceArray, sparse_grad: bool = False
) -> DeviceArray:
    if not a.ndim or index.ndim != a.ndim:
        raise NotServed("gather of unlike dims")
    d = wrap_dim(dim, a.ndim)
    if any(i != d and index.shape[i] > a.shape[i] for i in range(a.ndim)):
        raise NotServed("an index that is larger")
    kept = [(i, i) for i in range(a.ndim) if i != d]
    return read_at(backend, a, [(d, index)], kept, index.shape, "gather", False)


def _index_select(backend: Device, a: DeviceArray, dim: int, index: DeviceArray) -> DeviceArray:
    if not a.ndim or index.ndim > 1:
        raise NotServed("index_select of no dims")
    d = wrap_dim(dim, a.ndim)
    n = index.size
    turned = index.relaid(
        (n, *[1] * (a.ndim - d - 1)), (index.strides[0] if index.ndim else 0, *[0] * (a.ndim - d - 1))
    )
    shape = (*a.shape[:d], n, *a.shape[d + 1 :])
    kept = [(i, i) for i in range(a.ndim) if i != d]
    return read_at(backend, a, [(d, turned)], kept, shape, "index_select", False)


def _embedding(
    backend: Device,
    weight: DeviceArray,
    indices: DeviceArray,
    padding_idx: int = -1,
    by_freq: bool = False,
    sparse: bool = False,
) -> DeviceArray:
    if weight.ndim != 2:
        raise NotServed("a table of other dims")
    shape = (*indices.shape, weight.shape[1])
    return read_at(backend, weight, [(0, indices[..., None])], [(1, indices.ndim)], shape, "embedding", False)


def _take(backend: Device, a: DeviceArray, index: DeviceArray) -> DeviceArray:
    flat = launches.contiguous(backend, a).reshape(-1)
    return read_at(backend, flat, [(0, index)], [], index.shape, "take")


def _index(backend: Device, a: DeviceArray, indices: Sequence[Any]) -> DeviceArray:
    """a[indices] with arrays of positions, as NumPy places their dims."""
    where = [k for k, i in enumerate(indices) if i is not None]
    given = []
    for k in where:
        i = indices[k]
        if i.__class__ is not DeviceArray:
            if i.dtype.kind not in "iu" or i.dtype == np.uint8:
                raise NotServed("a mask")
            i = backend.brought(np.ascontiguousarray(i))
        given.append(i)
    if not where or any(dt.from_numpy_dtype(i.dtype).name not in POSITIONS for i in given):
        raise NotServed("a mask")
    common = np.broadcast_shapes(*[i.shape for i in given])
    front = where[0] if where[-1] - where[0] + 1 == len(where) else 0
    rest = [d for d in range(a.ndim) if d not in where]
    shape = (*[a.shape[d] for d in rest[:front]], *common, *[a.shape[d] for d in rest[front:]])
    behind = len(rest) - front
    picked = [(d, i[(..., *[None] * behind)]) for d, i in zip(where, given, strict=True)]
    kept = [(d, k if k < front else k + len(common)) for k, d in enumerate(rest)]
    return read_at(backend, a, picked, kept, shape, "index")


# --- writes ---------------------------------------------------------------------------------------


def write_along(
    backend: Device,
    how: str,
    target: DeviceArray,
    d: int,
    index: DeviceArray,
    source: DeviceArray,
    shape: tuple[int, ...],
    wrap: bool = False,
) -> None:
    """target[.., index[.., j, ..], ..] combined with source[.., j, ..]; index and source have the shape."""
    if not math.prod(shape):
        return
    of, by = (dt.from_numpy_dtype(a.dtype).name for a in (target, index))
    if by not in POSITIONS or source.dtype != target.dtype or of.startswith("complex"):
        raise NotServed("a write of this dtype")
    if of == "bool" and how in ("add", "mul"):
        raise NotServed("a sum of bools")
    others = [i for i in range(len(shape)) if i != d]
    count, n, size = math.prod(shape[i] for i in others), shape[d], target.shape[d]
    parts = max(1, min(size, backend.card.processors * 512 // max(count, 1))) if n >= 64 else 1
    span = -(-size // parts)
    kernel = Source(lines.writes, (how, of, by, len(others)), 3, len(lines.NUMBERS) + 4 * len(others) + 1)
    numbers = [count, n, parts, span, -size if wrap else 0, size]
    numbers += [a.strides[d] if a.shape[d] != 1 or shape[d] == 1 else 0 for a in (index, source)]
    numbers += [target.strides[d], *[shape[i] for i in others]]
    numbers += [0 if a.shape[i] == 1 else a.strides[i] for a in (index, source, target) for i in others]
    numbers.append(backend.failed)
    backend.launch(kernel, backend.grid(count * parts), (index, source), (target,), numbers, f"write {how}")


def spread(a: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
    """An array broadcast to a shape, as a view."""
    steps = [0 if n == 1 else s for n, s in zip(a.shape, a.strides, strict=True)]
    return a.relaid(shape, (*[0] * (len(shape) - a.ndim), *steps))


def _dense_backward(
    backend: Device, grad: DeviceArray, indices: DeviceArray, rows: int, padding_idx: int, by_freq: bool
) -> DeviceArray:
    if by_freq:
        raise NotServed("scale_grad_by_freq")
    width = grad.shape[-1]
    made: DeviceArray = backend.empty((rows, width), grad.dtype, None, poison=False)
    launches.convert(backend, made, np.zeros((), grad.dtype))
    places = launches.contiguous(backend, indices).reshape(-1)
    given = launches.contiguous(backend, grad).reshape(-1, width)
    shape = given.shape
    write_along(backend, "add", made, 0, spread(places[:, None], shape), given, shape)
    if padding_idx >= 0:
        launches.convert(backend, made[padding_idx], np.zeros((), grad.dtype))
    return made


def _written(
    backend: Device, how: str, a: DeviceArray, dim: int, index: Any, source: Any, wrap: bool = False
) -> DeviceArray:
    """A copy of `a` that is written to."""
    made = launches.copied(backend, a)
    if index.__class__ is not DeviceArray or not a.ndim or index.ndim != a.ndim:
        raise NotServed("a write of unlike dims")
    d = wrap_dim(dim, a.ndim)
    shape = index.shape
    if any(i != d and shape[i] > a.shape[i] for i in range(a.ndim)):
        raise NotServed("an index that is larger")
    if source.__class__ is DeviceArray and source.ndim:
        if source.ndim != a.ndim or any(n > k for n, k in zip(shape, source.shape, strict=True)):
            raise NotServed("a source that is smaller")
        given = source
    else:
        value = source if source.__class__ is DeviceArray else backend.number(source, a.dtype)
        given = spread(functions.as_dtype(backend, value, a.dtype), shape)
    write_along(backend, how, made, d, index, given, shape, wrap)
    return made


_REDUCE = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _scatter(
    backend: Device, a: Any, dim: int, index: Any, src: Any = None, value: Any = None, reduce: Any = None
) -> DeviceArray:
    how = "set" if reduce is None else _REDUCE.get(reduce)
    if how is None:
        raise NotServed(f"scatter by {reduce}")
    return _written(backend, how, a, dim, index, value if src is None else src)


def _scatter_add(backend: Device, a: Any, dim: int, index: Any, src: Any) -> DeviceArray:
    return _written(backend, "add", a, dim, index, src)


def _scatter_reduce(
    backend: Device, a: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> DeviceArray:
    if reduce not in _REDUCE or not include_self:
        raise NotServed(f"scatter_reduce by {reduce}")
    return _written(backend, _REDUCE[reduce], a, dim, index, src)


def _slices(backend: Device, how: str, a: DeviceArray, dim: int, index: Any, source: Any) -> DeviceArray:
    """A copy of `a` whose slices at `index` along a dim are combined with those of `source`, or a number."""
    if not a.ndim or index.__class__ is not DeviceArray or index.ndim > 1:
        raise NotServed("slices of no dims")
    d = wrap_dim(dim, a.ndim)
    shape = (*a.shape[:d], index.size, *a.shape[d + 1 :])
    if source.__class__ is DeviceArray and source.ndim:
        if source.shape != shape or source.dtype != a.dtype:
            raise NotServed("a source of another shape or dtype")
        given = source
    else:
        number = source if source.__class__ is DeviceArray else backend.number(source, a.dtype)
        given = spread(functions.as_dtype(backend, number, a.dtype), shape)
    steps = tuple([index.strides[0] if i == d and index.ndim else 0 for i in range(a.ndim)])
    made = launches.copied(backend, a)
    write_along(backend, how, made, d, index.relaid(shape, steps), given, shape, how == "set")
    return made


def _index_add(backend: Device, a: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> DeviceArray:
    if alpha != 1:
        source = functions.ufunc(backend, np.multiply, (source, alpha), {})
    return _slices(backend, "add", a, dim, index, source)


def _index_copy(backend: Device, a: Any, dim: int, index: Any, source: Any) -> DeviceArray:
    return _slices(backend, "set", a, dim, index, source)


def _index_fill(backend: Device, a: Any, dim: int, index: Any, value: Any) -> DeviceArray:
    if getattr(value, "ndim", 0):
        raise NotServed("a value of some dims")
    return _slices(backend, "set", a, dim, index, value)


# --- losses ---------------------------------------------------------------------------------------


@cache
def _counted(of: str, by: str, weighted: bool) -> tuple[Meaning, Meaning]:
    """(a target, or 0 where it is ignored; the loss and the share of what was picked there)."""
    target, ignored = m.cast(symbol("target"), arg="int64"), symbol("ignored")
    counts = m.ne(target, ignored)
    safe = Meaning(
        (m.where(counts, target, whole(0)),), (("target", by), ("ignored", "int64")), ("int64",), "int64"
    )
    zero, one = symbol("zero"), symbol("share") if weighted else symbol("one")
    loss = m.where(counts, m.neg(symbol("picked")) * one, zero), m.where(counts, one, zero)
    names = [("picked", of), ("target", by), ("ignored", "int64"), ("zero", of)]
    names.append(("share" if weighted else "one", of))
    return safe, Meaning(loss, tuple(names), (of, of), dt.opmath(dt.BY_NAME[of]).name)


def _nll(backend: Device, a: DeviceArray, target: DeviceArray, weight: Any, ignore_index: int) -> Any:
    """-(log-probability of the target) * its class weight, and that weight; 0 where ignored."""
    rows, places = (a[None], target.reshape(1)) if a.ndim == 1 else (a, target)
    of = dt.from_numpy_dtype(a.dtype)
    if not of.is_floating_point or target.dtype.kind not in "iu" or rows.ndim != places.ndim + 1:
        raise NotServed("a loss of this kind")
    safe, losses = _counted(of.name, dt.from_numpy_dtype(target.dtype).name, weight is not None)
    ignored, zero = integer(ignore_index), np.zeros((), a.dtype)
    inside = launches.pointwise(backend, safe, (places, ignored), None, np.dtype(np.int64), "nll_loss")
    kept = [(d, d if d == 0 else d - 1) for d in range(rows.ndim) if d != 1]
    picked = read_at(backend, rows, [(1, inside)], kept, places.shape, "nll_loss", False)
    share: Any = np.ones((), a.dtype)
    if weight is not None:
        share = read_at(backend, weight, [(0, inside)], [], places.shape, "nll_loss", False)
    made = [backend.empty(places.shape, a.dtype, None, poison=False) for _ in range(2)]
    launches.into(backend, losses, (picked, places, ignored, zero, share), made, "nll_loss")
    return tuple([x.reshape(target.shape) for x in made])


ROWS: dict[str, Callable[..., DeviceArray]] = {
    "gather": _gather,
    "index_select": _index_select,
    "embedding": _embedding,
    "embedding_dense_backward": _dense_backward,
    "take": _take,
    "index": _index,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "scatter_reduce": _scatter_reduce,
    "index_add": _index_add,
    "index_copy": _index_copy,
    "index_fill": _index_fill,
    "_nll": _nll,
}
