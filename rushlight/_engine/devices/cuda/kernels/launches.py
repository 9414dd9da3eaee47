"""Pointwise kernels: which one serves a call, and its grid. Copies and conversions are pointwise kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import result_memory
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import complexes, writing
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import m, symbol

# (input, axis whose coordinate it is), and (input, the values that it must lie between).
Axes = tuple[tuple[str, int], ...]
Ranges = tuple[tuple[str, str, str], ...]
# The most dims that a kernel's layout has.
MOST = 12


@cache
def source(
    meaning: Meaning,
    rank: int,
    width: int,
    values: frozenset[str],
    axes: Axes = (),
    checked: Ranges = (),
    placed: bool = False,
    bases: tuple[str, ...] = (),
) -> Source:
    """The kernel of a meaning for arrays of `rank` dims, 0 for contiguous ones."""
    arrays = len(meaning.inputs) - len(values) - len(axes) - len(bases)
    arrays += 0 if placed else len(meaning.outputs)
    numbers = 1 + rank * (1 + arrays) + len(values) + bool(checked)
    arguments = (meaning, rank, width, values, axes, checked, placed, bases)
    return Source(writing.pointwise, arguments, len(bases) + arrays, numbers)


class LaunchForm(NamedTuple):
    """How a pointwise kernel serves operands of a geometry."""

    source: Source
    grid: tuple[int, int]
    numbers: list[int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # of a new result
    of: Any  # what the plan is for, which its key names by its identity


def pointwise(
    backend: Device, of: Any, arrays: Sequence[Any], out: DeviceArray | None, result: Any, what: str
) -> DeviceArray:
    """The one result of a pointwise kernel, of NumPy's dtype `result`, queued.

    of: a Meaning, or a kernel that has one.  out: an array for it, or None.  NotServed where no kernel
    serves.
    """
    key = (id(of), None if out is None else _geometry(out), *[_geometry(a) for a in arrays])
    plan = backend.plans.get(key)
    if plan is None:
        if complexes.is_complex(getattr(of, "meaning", of)):
            return _by_parts(backend, getattr(of, "meaning", of), arrays, out, result, what)
        plan = _planned(backend, of, arrays, out, result)
        if len(backend.plans) > _KEPT:
            backend.plans.clear()
        backend.plans[key] = plan
    made = backend.empty(plan.shape, result, plan.strides, poison=False) if out is None else out
    if made.size:
        if backend.fuses and _put_off(backend, getattr(of, "meaning", of), arrays, (made,)):
            return made
        there, numbers = arrays, plan.numbers
        if any([a.__class__ is not DeviceArray for a in arrays]):
            there = [a for a in arrays if a.__class__ is DeviceArray]
            numbers = numbers + [bits(a) for a in arrays if a.__class__ is not DeviceArray]
        backend.launch(plan.source, plan.grid, there, (made,), numbers, what)
    return made


def known(backend: Any, of: Any, arrays: Sequence[Any], out: Any) -> LaunchForm | None:
    """The plan of a pointwise kernel for operands like those, where one like them was served."""
    key = id(of), None if out is None else _geometry(out), *[_geometry(a) for a in arrays]
    found: LaunchForm | None = backend.plans.get(key)
    return found


def _by_parts(
    backend: Device, meaning: Meaning, arrays: Sequence[Any], out: DeviceArray | None, result: Any, what: str
) -> DeviceArray:
    """A pointwise kernel of complex numbers."""
    if len(meaning.outputs) != 1:
        raise NotServed("several results")
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if out is not None and out.shape != shape:
        raise NotServed("a result of another shape")
    made = out
    if made is None:
        outlines = [backend.outline(a) for a in arrays if a.__class__ is DeviceArray]
        memory = result_memory(outlines, result, ()) if outlines else None
        made = backend.empty(shape, result, None if memory is None else memory.strides, poison=False)
    parts = complexes.lowered(meaning)
    into(backend, parts, complexes.every(arrays), complexes.split(made), what)
    return made


def _put_off(backend: Any, meaning: Meaning, arrays: Sequence[Any], results: Sequence[DeviceArray]) -> bool:
    """Whether the work waits to be fused with what follows."""
    from rushlight._engine.devices.cuda.kernels import fusing  # which launches by this file

    return fusing.put_off(backend, meaning, arrays, results)


# How many geometries a device keeps plans for.
_KEPT = 1 << 14


def _geometry(a: Any) -> Any:
    """What decides about a kernel, of an operand: None of a number, which is handed over by its bits."""
    if a.__class__ is DeviceArray:
        return a.form, a.address % writing.ACCESS
    if a.ndim:
        raise NotServed("operands of the host")
    return None


def _planned(backend: Device, of: Any, arrays: Sequence[Any], out: Any, result: Any) -> LaunchForm:
    meaning = getattr(of, "meaning", of)
    if len(meaning.outputs) != 1:
        raise NotServed("several results")
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    there = [a for a in arrays if a.__class__ is DeviceArray]
    if out is not None and out.shape != shape:
        raise NotServed("a result of another shape")
    target, strides = out, None
    if out is None:
        memory = result_memory([backend.outline(a) for a in there], result, ()) if there else None
        strides = None if memory is None else memory.strides
        steps = row_strides(shape, np.dtype(result).itemsize) if strides is None else strides
        target = DeviceArray(backend, None, 0, shape, steps, np.dtype(result))
    if 0 in shape:
        return LaunchForm(source(meaning, 0, 1, frozenset()), (1, 1), [], shape, strides, of)
    kernel, numbers = _kernel(meaning, arrays, [*there, target], shape)
    return LaunchForm(kernel, backend.grid(numbers[0]), numbers, shape, strides, of)


def _kernel(
    meaning: Meaning, arrays: Sequence[Any], every: Sequence[DeviceArray], shape: tuple[int, ...]
) -> tuple[Source, list[int]]:
    """(the kernel, its numbers but for the operands' bits) for operands and results, `every` of the
    device's.
    """
    flat = _merged(_dims(shape, every), every)
    count = math.prod(shape)
    width = writing.vector_width(meaning) if not flat else 1
    if count % width or any([a.address % writing.ACCESS for a in every]):
        width = 1
    kernel = source(meaning, _rank(flat), width, _numbers_of(meaning.inputs, arrays))
    return kernel, [count // width, *_layout(flat, len(every))]


def into(
    backend: Device, meaning: Meaning, arrays: Sequence[Any], results: Sequence[DeviceArray], what: str
) -> None:
    """Compute into arrays of one shape, which operands broadcast to; host's operands are numbers."""
    if 0 in results[0].shape or (backend.fuses and _put_off(backend, meaning, arrays, results)):
        return
    there = [a for a in arrays if a.__class__ is DeviceArray]
    key = id(meaning), *[_geometry(a) for a in (*arrays, *results)]
    plan = backend.plans.get(key)
    if plan is None:
        kernel, numbers = _kernel(meaning, arrays, [*there, *results], results[0].shape)
        plan = LaunchForm(kernel, backend.grid(numbers[0]), numbers, results[0].shape, None, meaning)
        backend.plans[key] = plan
    numbers = plan.numbers + [bits(a) for a in arrays if a.__class__ is not DeviceArray]
    backend.launch(plan.source, plan.grid, there, results, numbers, what)


def by_coordinates(
    backend: Device,
    meaning: Meaning,
    arrays: Sequence[Any],
    results: Sequence[DeviceArray],
    what: str,
    shape: tuple[int, ...] = (),
    axes: Axes = (),
    checked: Ranges = (),
    bases: Sequence[tuple[str, DeviceArray]] = (),
) -> None:
    """Compute where an element's coordinates count: `axes` are inputs that stand behind those of `arrays`,
    and behind them the addresses of arrays, `bases`.

    results: none where the second output is the address at which the first is stored; then `shape` is walked.
    checked: (input, low, high): inputs that must lie in [low, high), which are others.
    """
    placed = not results
    shape = shape if placed else results[0].shape
    if 0 in shape:
        return
    given = meaning.inputs[: len(arrays)]
    values = _numbers_of(given, arrays)
    there = [a for a in arrays if a.__class__ is DeviceArray]
    every = [*there, *results]
    dims = _dims(shape, every) or [(1, (0,) * len(every))]
    kernel = source(meaning, _rank(dims), 1, values, axes, checked, placed, tuple([n for n, _ in bases]))
    numbers = [math.prod(shape), *_layout(dims, len(every))]
    numbers += [bits(a) for a in arrays if a.__class__ is not DeviceArray]
    numbers += [backend.failed] if checked else []
    given_bases = [a for _, a in bases]
    backend.launch(kernel, backend.grid(numbers[0]), [*given_bases, *there], results, numbers, what)


def _numbers_of(inputs: Any, arrays: Sequence[Any]) -> frozenset[str]:
    return frozenset(
        name for (name, _), a in zip(inputs, arrays, strict=True) if a.__class__ is not DeviceArray
    )


Dims = list[tuple[int, tuple[int, ...]]]


def _dims(shape: tuple[int, ...], arrays: Sequence[DeviceArray]) -> Dims:
    """The dims as (size, strides of each array, 0 where it is broadcast)."""
    places = []
    for a in arrays:
        steps = [0 if n == 1 else s for n, s in zip(a.shape, a.strides, strict=True)]
        places.append([0] * (len(shape) - len(steps)) + steps)
    return [(n, tuple([p[axis] for p in places])) for axis, n in enumerate(shape)]


def _merged(dims: Dims, arrays: Sequence[DeviceArray]) -> Dims:
    """Dims that matter: none where all arrays are contiguous.

    Dims of size 1 are dropped; neighbours that lie without gaps in every array are one.
    """
    found: Dims = []
    for n, steps in sorted(dims, key=_outermost):
        if n == 1:
            continue
        if found and all(before == n * now for before, now in zip(found[-1][1], steps, strict=True)):
            found[-1] = found[-1][0] * n, steps
        else:
            found.append((n, steps))
    if not found or (len(found) == 1 and found[0][1] == tuple([a.itemsize for a in arrays])):
        return []
    return found


def _outermost(dim: tuple[int, tuple[int, ...]]) -> int:
    return -abs(dim[1][-1])


def _rank(dims: Dims) -> int:
    if len(dims) > MOST:
        raise NotServed(f"a layout of {len(dims)} dims")
    return len(dims)


def _layout(dims: Dims, arrays: int) -> list[int]:
    """Sizes, then each array's strides."""
    return [n for n, _ in dims] + [steps[k] for k in range(arrays) for _, steps in dims]


def bits(a: Any) -> int:
    """A number's bits, as a kernel takes it."""
    return int.from_bytes(np.asarray(a).tobytes(), "little")


# --- copies ---------------------------------------------------------------------------------------


@cache
def conversion(source: str, to: str) -> Meaning:
    """One dtype to another."""
    work = dt.opmath(dt.BY_NAME[to]).name
    root = symbol("a")
    if source.startswith("complex") != to.startswith("complex"):
        root = m.cast(root, arg=to)
    return Meaning((root,), (("a", source),), (to,), work)


# Dtypes whose elements are moved as numbers of their size, where nothing is computed.
MOVED = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def convert(backend: Device, target: DeviceArray, given: Any, what: str = "copy") -> None:
    """target[...] = given, an array of the device or a number of the host's, converted and broadcast."""
    if given.__class__ is not DeviceArray and given.ndim:
        raise NotServed("an array of the host's")
    if given.__class__ is DeviceArray and given.dtype == target.dtype:
        target, given = _as_numbers(target), _as_numbers(given)
    one, two = (dt.from_numpy_dtype(a.dtype).name for a in (given, target))
    meaning = conversion(one, two)
    if complexes.is_complex(meaning):
        into(backend, complexes.lowered(meaning), complexes.split(given), complexes.split(target), what)
    else:
        into(backend, meaning, (given,), (target,), what)


def _as_numbers(a: DeviceArray) -> DeviceArray:
    """The same bytes as integers, so that any dtype is moved; complex128 as pairs."""
    item = a.itemsize
    if item == 16:
        return a.relaid((*a.shape, 2), (*a.strides, 8), 0, np.dtype(np.int64))
    return a.relaid(a.shape, a.strides, 0, np.dtype(MOVED[item]))


def copied(backend: Device, a: DeviceArray, strides: Any = None) -> DeviceArray:
    """A new array with the elements of `a`, contiguous or with these strides."""
    made: DeviceArray = backend.empty(a.shape, a.dtype, strides, poison=False)
    convert(backend, made, a)
    return made


def contiguous(backend: Device, a: DeviceArray) -> DeviceArray:
    """The array itself where it lies row by row, else a copy that does."""
    return a if a.flags.c_contiguous else copied(backend, a)
