"""Linear recurrences: each element from those before it, so that neither threads nor vectors share a row."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime.handwritten_kernels import ADDRESS, INTEGER, HandwrittenKernel
from rushlight._engine.kernels.runtime.shared_loops import close

Array = np.ndarray[Any, Any]

_SCALARS = {"float32": "float", "float64": "double"}


def linear(x: Array, a: Array, y: Array) -> None:
    """y[r, n + order - 1] = x[r, n] - sum over k of a[r % channels, k] * y[r, n + k], n counting up.

    x: (rows, length).  a: (channels, order), order at least 1, what is multiplied with the oldest first.
    y: (rows, length + order - 1), changed: its first order - 1 columns are where the recurrence starts, the
    others are zero.  All contiguous, of one dtype, float32 or float64.
    """
    kernel = _kernel(x.dtype.name)
    if not kernel(x, a, y):
        _by_columns(x, a, y)


def _by_columns(x: Array, a: Array, y: Array) -> None:
    """The same by NumPy, a call for each column and coefficient: the same bits."""
    (channels, order), (rows, length) = a.shape, x.shape
    batch = rows // channels if channels else 0
    columns, inputs = y.reshape(batch, channels, y.shape[1]), x.reshape(batch, channels, length)
    for n in range(length):
        value = inputs[..., n].copy()
        for k in range(order):
            value -= columns[..., n + k] * a[:, k]
        columns[..., n + order - 1] = value


class _Recurrence(HandwrittenKernel):
    """Compiled for its first call: by NumPy a second of sound takes a thousand times as long."""

    exact = False


@cache
def _kernel(dtype: str) -> HandwrittenKernel:
    scalar = _SCALARS[dtype]
    return _Recurrence(
        "linear recurrence",
        dtype,
        lambda module, name: _write(module, name, scalar, np.dtype(dtype).itemsize),
        (ADDRESS, ADDRESS, ADDRESS, INTEGER, INTEGER, INTEGER, INTEGER),
        lambda x, a, y: (pointer(x), pointer(a), pointer(y), *x.shape, *a.shape),
    )


def _write(module: Module, name: str, scalar: str, size: int) -> None:
    """The IR of `i64 name(ptr x, ptr a, ptr y, i64 rows, i64 length, i64 channels, i64 order)`."""
    f = Function(
        module,
        f"define i64 @{name}(ptr %x, ptr %a, ptr %y, i64 %rows, i64 %length, i64 %channels, i64 %order)",
    )
    width = f.i64("add", "%length", f.i64("sub", "%order", 1))
    with f.loop("%rows") as row:
        channel = f.i64("urem", row, "%channels")
        weights = f.at("%a", f.i64("mul", f.i64("mul", channel, "%order"), size))
        inputs = f.at("%x", f.i64("mul", f.i64("mul", row, "%length"), size))
        outputs = f.at("%y", f.i64("mul", f.i64("mul", row, width), size))
        with f.loop("%length") as n:
            value = f.var(f.load(scalar, inputs, f.i64("mul", n, size)), scalar)
            with f.loop("%order") as k:
                before = f.load(scalar, outputs, f.i64("mul", f.i64("add", n, k), size))
                weight = f.load(scalar, weights, f.i64("mul", k, size))
                product = f.op(f"fmul {scalar} {before}, {weight}")
                value.set(f.op(f"fsub {scalar} {value.get()}, {product}"))
            last = f.i64("add", n, f.i64("sub", "%order", 1))
            f.store(scalar, value.get(), outputs, f.i64("mul", last, size))
    close(f, "i64 0")
