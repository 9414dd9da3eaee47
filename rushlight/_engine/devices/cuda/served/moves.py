"""Copies, joins, conversions, fills and triangles by the device's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.errors import wrap_dim, wrap_dims
from rushlight._engine.core.layout import as_tuple
from rushlight._engine.devices.cuda import copies
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import complexes, launches
from rushlight._engine.devices.cuda.served import functions
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import m, symbol


def _copy(backend: Device, a: DeviceArray, of: Any, memory_format: Any) -> DeviceArray:
    steps = [s // a.itemsize for s in copies._strides(a, memory_format)]
    made: DeviceArray = backend.empty(a.shape, of, tuple([s * of.itemsize for s in steps]), poison=False)
    launches.convert(backend, made, a)
    return made


def _clone(backend: Device, a: DeviceArray, memory_format: Any = None) -> DeviceArray:
    return _copy(backend, a, a.dtype, memory_format)


def _to_dtype(backend: Device, a: DeviceArray, of: Any, memory_format: Any = None) -> DeviceArray:
    return _copy(backend, a, np.dtype(of.np), memory_format)


def _overwritten(backend: Device, a: DeviceArray, source: DeviceArray) -> DeviceArray:
    if source.__class__ is not DeviceArray:
        raise NotServed("a copy from the host")
    made: DeviceArray = backend.empty(a.shape, a.dtype, None, poison=False)
    launches.convert(backend, made, source)
    return made


def _cat(backend: Device, tensors: Sequence[DeviceArray], dim: int) -> DeviceArray:
    taken = [t for t in tensors if t.shape != (0,)]
    if len(taken) < len(tensors) or len({t.ndim for t in taken}) != 1 or len({t.dtype for t in taken}) != 1:
        raise NotServed("cat of tensors of unlike dims")
    d = wrap_dim(dim, taken[0].ndim)
    if not taken[0].ndim or len({(*t.shape[:d], *t.shape[d + 1 :]) for t in taken}) != 1:
        raise NotServed("cat of tensors of unlike shapes")
    if any(t.ndim in (4, 5) and not t.flags.c_contiguous for t in taken):
        raise NotServed("cat in another memory format")
    return functions.concatenate(backend, taken, d)


def _stack(backend: Device, tensors: Sequence[DeviceArray], dim: int) -> DeviceArray:
    first = tensors[0]
    if len({(t.shape, t.dtype) for t in tensors}) != 1:
        raise NotServed("stack of tensors of unlike shapes")
    d = wrap_dim(dim, first.ndim + 1)
    return functions.concatenate(backend, [t[(slice(None),) * d + (None,)] for t in tensors], d)


def _flip(backend: Device, a: DeviceArray, dims: Any) -> DeviceArray:
    axes = wrap_dims(as_tuple(dims), a.ndim) if as_tuple(dims) else ()
    made: DeviceArray = backend.empty(a.shape, a.dtype, a.strides if a.dense else None, poison=False)
    launches.convert(
        backend, made, a[tuple([slice(None, None, -1 if d in axes else 1) for d in range(a.ndim)])]
    )
    return made


def _roll(backend: Device, a: DeviceArray, shifts: Any, dims: Any = ()) -> DeviceArray:
    steps, axes = as_tuple(shifts), as_tuple(() if dims is None else dims)
    if not axes and len(steps) == 1:
        flat = launches.contiguous(backend, a).reshape(-1)
        return _rolled(backend, flat, steps[0], 0).reshape(a.shape)
    if len(steps) != len(axes) or not steps or not a.ndim:
        raise NotServed("shifts and dims that do not fit")
    for step, d in zip(steps, axes, strict=True):
        a = _rolled(backend, a, step, wrap_dim(d, a.ndim))
    return a


def _rolled(backend: Device, a: DeviceArray, step: int, d: int) -> DeviceArray:
    before, kept = (slice(None),) * d, -step % max(a.shape[d], 1)
    return functions.concatenate(backend, [a[(*before, slice(kept, None))], a[(*before, slice(kept))]], d)


def _repeat(backend: Device, a: DeviceArray, repeats: Any) -> DeviceArray:
    times = as_tuple(repeats)
    if len(times) < a.ndim or any(t < 0 for t in times):
        raise NotServed("repeat of fewer dims")
    shape = (1,) * (len(times) - a.ndim) + a.shape
    steps = (0,) * (len(times) - a.ndim) + a.strides
    made: DeviceArray = backend.empty(
        tuple([t * n for t, n in zip(times, shape, strict=True)]), a.dtype, None, poison=False
    )
    if not made.size:
        return made
    wide, inner = list[int](), list[int]()
    for t, n, s in zip(times, shape, steps, strict=True):
        wide += [t, n]
        inner += [0, s]
    launches.convert(backend, made.reshape(*wide), a.relaid(tuple(wide), tuple(inner)))
    return made


def _pad(backend: Device, a: DeviceArray, pad: Any, value: Any = 0) -> DeviceArray:
    sizes = as_tuple(pad)
    if len(sizes) % 2 or len(sizes) > 2 * a.ndim:
        raise NotServed("a padding of this kind")
    if a.ndim in (4, 5) and not a.flags.c_contiguous:
        raise NotServed("a padding in another memory format")
    shape, there, here = list(a.shape), [slice(None)] * a.ndim, [slice(None)] * a.ndim
    for k in range(len(sizes) // 2):
        d, before, behind = a.ndim - 1 - k, sizes[2 * k], sizes[2 * k + 1]
        shape[d] += before + behind
        # Negative sizes cut elements off.
        there[d] = slice(max(before, 0), shape[d] - max(behind, 0))
        here[d] = slice(max(-before, 0), a.shape[d] - max(-behind, 0))
    if min(shape, default=0) < 0:
        raise NotServed("a padding that leaves less than nothing")
    made: DeviceArray = backend.empty(tuple(shape), a.dtype, None, poison=False)
    launches.convert(backend, made, np.asarray(value or 0).astype(a.dtype))
    launches.convert(backend, made[tuple(there)], a[tuple(here)])
    return made


def _masked_fill(backend: Device, a: DeviceArray, mask: Any, value: Any) -> DeviceArray:
    if mask.__class__ is not DeviceArray or mask.dtype.kind != "b" or np.ndim(value) or a.itemsize > 8:
        raise NotServed("a mask of this kind")
    of = np.dtype(launches.MOVED[a.itemsize])  # bits are moved, whatever they mean
    if value.__class__ is DeviceArray:
        value = functions.as_dtype(backend, value, a.dtype)
        value = value.relaid(value.shape, value.strides, 0, of)
    else:
        value = np.asarray(value).astype(a.dtype).reshape(1).view(of).reshape(())
    meaning = functions.choice(of.name)
    shape = np.broadcast_shapes(a.shape, mask.shape)
    made: DeviceArray = backend.empty(
        shape, a.dtype, a.strides if a.dense and shape == a.shape else None, poison=False
    )
    given, to = (x.relaid(x.shape, x.strides, 0, of) for x in (a, made))
    launches.into(backend, meaning, (mask, value, given), (to,), "masked_fill")
    return made


@cache
def _triangle_meaning(of: str, upper: bool) -> Meaning:
    row, column, k = symbol("row"), symbol("column"), symbol("k")
    kept = m.ge(column - row, k) if upper else m.le(column - row, k)
    names = (("x", of), ("zero", of), ("k", "int64"), ("row", "int64"), ("column", "int64"))
    return Meaning((m.where(kept, symbol("x"), symbol("zero")),), names, (of,), of)


def _triangle(upper: bool) -> Callable[..., Any]:
    def serve(backend: Device, a: DeviceArray, diagonal: int = 0) -> DeviceArray:
        if a.ndim < 2 or a.itemsize > 8:
            raise NotServed("a triangle of this dtype")
        made: DeviceArray = backend.empty(a.shape, a.dtype, None, poison=False)
        of = np.dtype(launches.MOVED[a.itemsize])  # the bits of 0 are zeros in every dtype
        given, to = (x.relaid(x.shape, x.strides, 0, of) for x in (a, made))
        meaning = _triangle_meaning(of.name, upper)
        arrays = (given, np.zeros((), of), np.asarray(diagonal, np.int64))
        axes = (("row", a.ndim - 2), ("column", a.ndim - 1))
        launches.by_coordinates(backend, meaning, arrays, (to,), "triu" if upper else "tril", axes=axes)
        return made

    return serve


def _diag_embed(
    backend: Device, a: DeviceArray, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> DeviceArray:
    n = a.ndim + 1
    first, second = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if first == second:
        raise NotServed("one dim for both")
    size = a.shape[-1]
    side = size + abs(offset)
    made: DeviceArray = backend.empty((*a.shape[:-1], side, side), a.dtype, None, poison=False)
    launches.convert(backend, made, np.zeros((), a.dtype))
    rows = made[..., max(-offset, 0) :, max(offset, 0) :]
    steps = (*rows.strides[:-2], rows.strides[-2] + rows.strides[-1])
    launches.convert(backend, rows.relaid((*a.shape[:-1], size), steps), a)
    if (first, second) == (n - 2, n - 1):
        return made
    order = list(range(n - 2))
    for at, d in sorted(((first, n - 2), (second, n - 1))):
        order.insert(at, d)
    return launches.copied(backend, made.transpose(order))


def _complex(backend: Device, real: DeviceArray, imag: DeviceArray) -> DeviceArray:
    if real.dtype != imag.dtype or real.dtype.kind != "f" or real.itemsize < 4:
        raise NotServed("parts of these dtypes")
    shape = np.broadcast_shapes(real.shape, imag.shape)
    made: DeviceArray = backend.empty(shape, np.dtype(f"c{2 * real.itemsize}"), None, poison=False)
    for part, given in zip(complexes.split(made), (real, imag), strict=True):
        launches.convert(backend, part, given)
    return made


def _polar(backend: Device, size: DeviceArray, angle: DeviceArray) -> DeviceArray:
    def u(function: Any, *x: Any) -> Any:
        return functions.ufunc(backend, function, x, {})

    return _complex(backend, *[u(np.multiply, size, u(f, angle)) for f in (np.cos, np.sin)])


def _equal(backend: Device, a: DeviceArray, b: DeviceArray) -> Any:
    if a.shape != b.shape or a.dtype != b.dtype or not a.size:
        raise NotServed("equal of unlike operands")
    same = functions.ufunc(backend, np.equal, (a, b), {})
    return bool(backend.read(functions.FUNCTIONS[np.all](backend, same)))


ROWS: dict[str, Callable[..., Any]] = {
    "clone": _clone,
    "_to_dtype": _to_dtype,
    "_overwritten": _overwritten,
    "_tensor_of": lambda backend, a: a,
    "_cat": _cat,
    "_stack": _stack,
    "flip": _flip,
    "repeat": _repeat,
    "roll": _roll,
    "constant_pad_nd": _pad,
    "masked_fill": _masked_fill,
    "tril": _triangle(False),
    "triu": _triangle(True),
    "diag_embed": _diag_embed,
    "complex": _complex,
    "polar": _polar,
    "equal": _equal,
}
