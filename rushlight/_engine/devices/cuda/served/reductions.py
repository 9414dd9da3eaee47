"""Reductions by the device's kernels."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import reduced_sizes
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import complexes, launches, reducing
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.loops.row_plan import wide
from rushlight._engine.ops.expressions import Expr, symbol

# How many elements a block, and a thread, adds up at most before the work is shared out.
BLOCK_CHUNK, THREAD_CHUNK = 1 << 14, 1 << 10


@cache
def _mapped(expression: Expr, given: str, work: str) -> Meaning:
    return Meaning((expression,), (("input", given),), (work,), work)


@cache
def _finished(expression: Expr, work: str, result: str) -> Meaning:
    return Meaning((expression,), (("combined", work), ("count", work)), (result,), work)


def reduce(
    backend: Device,
    reducer: Any,
    a: DeviceArray,
    axes: tuple[int, ...],
    keepdim: bool,
    compute: dt.dtype,
    result: dt.dtype,
) -> DeviceArray:
    """A reduce row over axes."""
    how, given = reducer.meaning.combine, dt.from_numpy_dtype(a.dtype).name
    if compute.is_complex or given.startswith("complex"):
        return _of_parts(backend, reducer, a, axes, keepdim, compute, result)
    work = "bool" if how in ("any", "all") else dt.opmath(compute).name
    mapped = _mapped(reducer.meaning.map, given, given if how in ("any", "all") else work)
    if how not in ("any", "all") and given != compute.name:
        # a circle, if that file is loaded first: it reduces by this one
        from rushlight._engine.devices.cuda.served.functions import as_dtype

        a = as_dtype(backend, a, compute.np)
        mapped = _mapped(reducer.meaning.map, compute.name, work)
    finish = None if reducer.finish is None else _finished(reducer.finish, work, result.name)
    shape = reduced_sizes(a.shape, axes, keepdim)
    made: DeviceArray = backend.empty(shape, result.np, None, poison=False)
    into(backend, how, mapped, finish, a, axes, made, reducer.row.name)
    return made


def _of_parts(
    backend: Device, reducer: Any, a: DeviceArray, axes: Any, keepdim: bool, compute: Any, result: Any
) -> DeviceArray:
    """Sums and means of complex numbers: of each part."""
    if reducer.row.name not in ("sum", "mean") or a.dtype.kind != "c" or result is not compute:
        raise NotServed("a reduction of complex numbers")
    real = compute.to_real()
    found = [reduce(backend, reducer, part, axes, keepdim, real, real) for part in complexes.split(a)]
    made: DeviceArray = backend.empty(found[0].shape, compute.np, None, poison=False)
    for part, given in zip(complexes.split(made), found, strict=True):
        launches.convert(backend, part, given)
    return made


def into(
    backend: Device,
    how: str,
    mapped: Meaning,
    finish: Meaning | None,
    a: DeviceArray,
    axes: tuple[int, ...],
    made: DeviceArray,
    what: str,
) -> None:
    """Reduce `a` over axes into `made`, which is contiguous."""
    kept = [i for i in range(a.ndim) if i not in axes]
    outs, n = math.prod(a.shape[i] for i in kept), math.prod(a.shape[i] for i in axes)
    if not outs:
        return
    inner = min((abs(a.strides[i]) for i in kept if a.shape[i] > 1), default=1 << 62)
    block = n >= 32 and _reads_along(a, axes, inner)
    parts = _parts(backend, outs, n, block)
    target, last = made, finish
    result = mapped.out_dtypes[0] if finish is not None else dt.from_numpy_dtype(made.dtype).name
    if parts > 1:
        partial = "bool" if how in ("any", "all") else wide(how, mapped.work)
        target, last, result = (
            backend.empty((outs, parts), dt.BY_NAME[partial].np, None, poison=False),
            None,
            partial,
        )
    stored = Meaning(mapped.outputs, mapped.inputs, (result,), mapped.work)
    _launch(backend, how, stored, last, a, kept, axes, (outs, n, parts), block, target, what, n)
    if parts > 1:
        again = Meaning(
            (symbol("input"),), (("input", result),), (dt.from_numpy_dtype(made.dtype).name,), result
        )
        _launch(backend, how, again, finish, target, [0], (1,), (outs, parts, 1), False, made, what, n)


def _reads_along(a: DeviceArray, axes: tuple[int, ...], inner: int) -> bool:
    """Whether the elements that lie closest are reduced."""
    return min((abs(a.strides[i]) for i in axes if a.shape[i] > 1), default=1 << 62) < inner


def _parts(backend: Device, outs: int, n: int, block: bool) -> int:
    """Into how many parts the elements of a result are shared out: only where results are few."""
    chunk = BLOCK_CHUNK if block else THREAD_CHUNK
    busy = backend.card.processors * (4 if block else 512)
    return 1 if n <= chunk or outs >= busy else min(-(-n // chunk), -(-busy // outs))


def _launch(
    backend: Device,
    how: str,
    mapped: Meaning,
    finish: Meaning | None,
    a: DeviceArray,
    kept: list[int],
    axes: tuple[int, ...],
    counts: tuple[int, int, int],
    block: bool,
    made: DeviceArray,
    what: str,
    count: int,
) -> None:
    keep, gone = _dims(a, kept), _dims(a, axes)
    outs, n, parts = counts
    source = _source(how, mapped, finish, len(keep), len(gone), block)
    numbers = [outs, n, parts, -(-n // parts), count]
    for dims in (keep, gone):
        numbers += [size for size, _ in dims] + [stride for _, stride in dims]
    grid = backend.blocks(outs * parts, n) if block else backend.grid(outs * parts)
    backend.launch(source, grid, (a,), (made,), numbers, what)


@cache
def _source(
    how: str, mapped: Meaning, finish: Meaning | None, kept: int, reduced: int, block: bool
) -> Source:
    numbers = 5 + 2 * (kept + reduced)
    return Source(reducing.reduction, (how, mapped, finish, kept, reduced, block), 2, numbers)


def _dims(a: DeviceArray, axes: Any) -> list[tuple[int, int]]:
    """(size, stride) of some dims, those that lie together as one."""
    found: list[tuple[int, int]] = []
    for i in sorted(axes):
        size, stride = a.shape[i], a.strides[i]
        if size == 1:
            continue
        if found and found[-1][1] == size * stride:
            found[-1] = found[-1][0] * size, stride
        else:
            found.append((size, stride))
    return found


# --- the first of the greatest ---------------------------------------------------------------------


def first_of(backend: Device, how: str, a: DeviceArray, dim: int) -> tuple[DeviceArray, DeviceArray]:
    """(values, positions) of the greatest or least along a dim, without the dim."""
    kept = [i for i in range(a.ndim) if i != dim]
    shape = tuple([a.shape[i] for i in kept])
    if not a.size:
        raise NotServed("the greatest of nothing")
    outs, n = math.prod(shape), a.shape[dim] if a.ndim else 1
    parts = _parts(backend, outs, n, False)
    chunk = -(-n // parts)
    parts = -(-n // chunk)
    partial_shape = shape if parts == 1 else (*shape, parts)
    values = backend.empty(partial_shape, a.dtype, None, poison=False)
    places = backend.empty(partial_shape, np.dtype(np.int64), None, poison=False)
    dims = _dims(a, kept)
    source = Source(
        reducing.first_of, (how, dt.from_numpy_dtype(a.dtype).name, len(dims)), 3, 5 + 2 * len(dims)
    )
    numbers = [outs, n, a.strides[dim] if a.ndim else 0, parts, chunk]
    numbers += [size for size, _ in dims] + [stride for _, stride in dims]
    backend.launch(source, backend.grid(outs * parts), (a,), (values, places), numbers, f"arg{how}")
    if parts == 1:
        return values, places
    # few reductions are cut in parts
    from rushlight._engine.devices.cuda.served import indexing

    best, which = first_of(backend, how, values, len(shape))
    lines = [(i, i) for i in range(len(shape))]
    picked = indexing.read_at(backend, places, [(len(shape), which)], lines, shape, f"arg{how}", False)
    return best, picked
