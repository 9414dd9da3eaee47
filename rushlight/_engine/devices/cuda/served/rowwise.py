"""Row kernels on the device: softmax, norms, losses and their gradients, from the rows' own expressions."""

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
from rushlight._engine.devices.cuda.kernels import launches, writing
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.loops.pointwise import work_dtype
from rushlight._engine.kernels.loops.row_plan import RowLevels
from rushlight._engine.ops.nn import normalization, softmax
from rushlight._engine.ops.row_kernels import RowKernel


@cache
def _meaning(
    kernel: RowKernel, dtypes: tuple[str, ...], result: str, kept: tuple[int, ...] | None
) -> tuple[Meaning, tuple[str, ...], list[int]]:
    """(what a row kernel computes, its operands' roles, which results are vectors)."""
    outputs = kernel.meaning()
    outputs = outputs if kept is None else tuple([outputs[i] for i in kept])
    roles = tuple(["scalar" if n in kernel.scalars else "vector" for n in kernel.inputs])
    work = work_dtype(tuple([d for d, role in zip(dtypes, roles, strict=True) if role == "vector"]))
    inputs = tuple(zip(kernel.inputs, dtypes, strict=True))
    meaning = Meaning(outputs, inputs, (result,) * len(outputs), work)
    return meaning, roles, RowLevels(meaning, roles, 1).out_vectors


def run(
    backend: Device, kernel: RowKernel, arrays: Sequence[Any], what: str, kept: tuple[int, ...] | None = None
) -> list[DeviceArray]:
    """A row kernel along the last dim: vectors are (..., n), scalars (...), or one number of the host's."""
    first = next(a for a, n in zip(arrays, kernel.inputs, strict=True) if n not in kernel.scalars)
    names = tuple([dt.from_numpy_dtype(a.dtype).name for a in arrays])
    of = dt.from_numpy_dtype(first.dtype)
    if not of.is_floating_point or not first.size:
        raise NotServed("rows of this dtype")
    result = kernel.result(of)
    meaning, roles, vectors = _meaning(kernel, names, result.name, kept)
    lead, n = first.shape[:-1], first.shape[-1]
    values = frozenset(
        name for (name, _), a in zip(meaning.inputs, arrays, strict=True) if a.__class__ is not DeviceArray
    )
    given, steps = list[DeviceArray](), list[int]()
    for a, role in zip(arrays, roles, strict=True):
        if a.__class__ is DeviceArray:
            a, step = _in_rows(backend, a, lead, role == "vector")
            given.append(a)
            steps.append(step)
    made = []
    for o in range(len(meaning.outputs)):
        shape = (*lead, n) if o in vectors else lead
        made.append(backend.empty(shape, result.np, None, poison=False))
        steps.append(result.itemsize * (n if o in vectors else 1))
    count = math.prod(lead)
    numbers = [count, n, *steps]
    numbers += [launches.bits(a) for a in arrays if a.__class__ is not DeviceArray]
    pointers = len(given) + len(made)
    source = Source(writing.rows, (meaning, roles, values), pointers, 2 + pointers + len(values))
    backend.launch(source, backend.blocks(count, n), given, made, numbers, what)
    return made


def _in_rows(backend: Device, a: DeviceArray, lead: tuple[int, ...], vector: bool) -> tuple[DeviceArray, int]:
    """(the array, or a copy, whose rows lie at equal distances; the distance in bytes)."""
    own = a.shape[:-1] if vector else a.shape
    n = a.shape[-1] if vector else 1
    if math.prod(own) == 1 and (not vector or a.flags.c_contiguous):
        return a, 0
    if own != lead:
        target = (*lead, n) if vector else lead
        steps = (0,) * (len(target) - a.ndim) + tuple(
            [
                0 if size == 1 and want != 1 else s
                for size, s, want in zip(a.shape, a.strides, target[len(target) - a.ndim :], strict=True)
            ]
        )
        a = a.relaid(target, steps)
    return launches.contiguous(backend, a), n * a.itemsize


def along(
    backend: Device, kernel: RowKernel, dim: int, arrays: Sequence[Any], what: str
) -> list[DeviceArray]:
    """A row kernel along a dim; scalars have a size of 1 there."""
    first = arrays[0]
    if not first.ndim:
        raise NotServed("a row of no dims")
    dim = wrap_dim(dim, first.ndim)
    last = dim == first.ndim - 1
    turned = [a if last or a.__class__ is not DeviceArray else a.swapaxes(dim, -1) for a in arrays]
    rows = [
        a[..., 0] if n in kernel.scalars and a.__class__ is DeviceArray and a.ndim == first.ndim else a
        for n, a in zip(kernel.inputs, turned, strict=True)
    ]
    found = run(backend, kernel, rows, what)
    return found if last else [launches.contiguous(backend, f.swapaxes(dim, -1)) for f in found]


def _of_row(kernel: RowKernel, what: str) -> Callable[..., Any]:
    def serve(backend: Device, *values: Any) -> Any:
        return along(backend, kernel, values[-1], values[:-1], what)[0]

    return serve


def _normalize_rows(backend: Device, a: Any, eps: float, weight: Any = None, bias: Any = None) -> Any:
    more = {name: p for name, p in (("weight", weight), ("bias", bias)) if p is not None}
    number = np.asarray(eps, np.float32 if a.itemsize <= 2 else a.dtype)
    hat, center, rstd = run(
        backend, normalization._forward[*more,], (a, number, *more.values()), "layer norm"
    )
    return hat, center[..., None], rstd[..., None]


def _rows_backward(backend: Device, g: Any, x: Any, center: Any, rstd: Any, weight: Any = None) -> Any:
    given = () if weight is None else ("weight",)
    arrays = (g, x, center[..., 0], rstd[..., 0], *(() if weight is None else (weight,)))
    return run(backend, normalization._backward[given], arrays, "layer norm backward")[0]


ROWS: dict[str, Callable[..., Any]] = {
    "_softmax": _of_row(softmax._softmax_kernel, "softmax"),
    "_log_softmax": _of_row(softmax._log_softmax_kernel, "log_softmax"),
    "_softmax_backward": _of_row(softmax._softmax_back, "softmax backward"),
    "_log_softmax_backward": _of_row(softmax._log_softmax_back, "log_softmax backward"),
    "_normalize_rows": _normalize_rows,
    "_rows_backward": _rows_backward,
}
