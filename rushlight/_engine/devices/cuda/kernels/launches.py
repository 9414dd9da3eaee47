"""Pointwise kernels: which one serves a call, and its grid. Copies and conversions are pointwise kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.layout import result_room
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import writing
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import symbol

# The most dims that a kernel's layout has.
MOST = 12


@cache
def source(meaning: Meaning, rank: int, width: int, values: frozenset[str]) -> Source:
    """The kernel of a meaning for arrays of `rank` dims, 0 for contiguous ones."""
    arrays = len(meaning.inputs) - len(values) + len(meaning.outputs)
    numbers = 1 + rank * (1 + arrays) + len(values)
    return Source(writing.pointwise, (meaning, rank, width, values), arrays, numbers)


def pointwise(
    home: Any, meaning: Meaning, arrays: Sequence[Any], out: Any, of: Any, what: str
) -> DeviceArray:
    """The one result of a pointwise kernel, of NumPy's dtype `of`, queued. NotServed where no kernel serves."""
    if any(a.__class__ is not DeviceArray and a.ndim for a in arrays) or len(meaning.outputs) != 1:
        raise NotServed("operands of the host")
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    there = [a for a in arrays if a.__class__ is DeviceArray]
    made = out
    if out is None:
        room = result_room([home.outline(a) for a in there], of, ()) if there else None
        made = home.empty(shape, of, None if room is None else room.strides, poison=False)
    elif made.shape != shape:
        raise NotServed("a result of another shape")
    into(home, meaning, arrays, (made,), what)
    return made  # type: ignore[no-any-return]


def into(
    home: Any, meaning: Meaning, arrays: Sequence[Any], results: Sequence[DeviceArray], what: str
) -> None:
    """Compute into arrays of one shape, which operands broadcast to; host's operands are numbers."""
    shape = results[0].shape
    if 0 in shape:
        return
    values = frozenset(
        name for (name, _), a in zip(meaning.inputs, arrays, strict=True) if a.__class__ is not DeviceArray
    )
    there = [a for a in arrays if a.__class__ is DeviceArray]
    flat, every = _flattened(shape, [*there, *results])
    width = writing.vector_width(meaning) if not flat else 1
    if results[0].size % width or any(a.address % writing.ACCESS for a in every):
        width = 1
    rank = len(flat)
    if rank > MOST:
        raise NotServed(f"a layout of {rank} dims")
    kernel = source(meaning, rank, width, values)
    numbers = [results[0].size // width]
    if rank:
        numbers += [n for n, _ in flat] + [steps[k] for k in range(len(every)) for _, steps in flat]
    numbers += [bits(a) for a in arrays if a.__class__ is not DeviceArray]
    home.launch(kernel, home.grid(numbers[0]), there, results, numbers, what)


def _flattened(
    shape: tuple[int, ...], arrays: Sequence[DeviceArray]
) -> tuple[list[tuple[int, tuple[int, ...]]], Sequence[DeviceArray]]:
    """(dims as (size, strides of each array), arrays): none where all are contiguous.

    Dims of size 1 are dropped; neighbours that lie without gaps in every array are one.
    """
    places = []
    for a in arrays:
        steps = [0 if n == 1 else s for n, s in zip(a.shape, a.strides, strict=True)]
        places.append([0] * (len(shape) - len(steps)) + steps)
    dims: list[tuple[int, tuple[int, ...]]] = []
    for axis in sorted(range(len(shape)), key=lambda i: -abs(places[-1][i])):
        n, steps = shape[axis], tuple([p[axis] for p in places])
        if n == 1:
            continue
        if dims and all(before == n * now for before, now in zip(dims[-1][1], steps, strict=True)):
            dims[-1] = dims[-1][0] * n, steps
        else:
            dims.append((n, steps))
    if not dims or (len(dims) == 1 and dims[0][1] == tuple([a.itemsize for a in arrays])):
        # One element is contiguous, unless an operand were of another shape.
        return [], arrays
    return dims, arrays


def bits(a: Any) -> int:
    """A number's bits, as a kernel takes it."""
    return int.from_bytes(np.asarray(a).tobytes(), "little")


# --- copies ---------------------------------------------------------------------------------------


@cache
def conversion(source: str, to: str) -> Meaning:
    """One dtype to another."""
    work = dt.opmath(dt.BY_NAME[to]).name
    return Meaning((symbol("a"),), (("a", source),), (to,), work)


# Dtypes whose elements are moved as numbers of their size, where nothing is computed.
_MOVED = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def convert(home: Any, target: DeviceArray, given: Any, what: str = "copy") -> None:
    """target[...] = given, an array of the device or a number of the host's, converted and broadcast."""
    if given.__class__ is DeviceArray and given.dtype == target.dtype:
        target, given = _as_numbers(target), _as_numbers(given)
    one, two = (dt.from_numpy_dtype(a.dtype).name for a in (given, target))
    into(home, conversion(one, two), (given,), (target,), what)


def _as_numbers(a: DeviceArray) -> DeviceArray:
    """The same bytes as integers, so that any dtype is moved; complex128 as pairs."""
    item = a.itemsize
    if item == 16:
        return a.relaid((*a.shape, 2), (*a.strides, 8), 0, np.dtype(np.int64))
    return a.relaid(a.shape, a.strides, 0, np.dtype(_MOVED[item]))


def copied(home: Any, a: DeviceArray, strides: Any = None) -> DeviceArray:
    """A new array with the elements of `a`, contiguous or with these strides."""
    made: DeviceArray = home.empty(a.shape, a.dtype, strides, poison=False)
    convert(home, made, a)
    return made


def contiguous(home: Any, a: DeviceArray) -> DeviceArray:
    """The array itself where it lies row by row, else a copy that does."""
    return a if a.flags.c_contiguous else copied(home, a)
