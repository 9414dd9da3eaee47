"""Fourier transforms by matrix products: of few numbers one with the matrix of waves, of more in two steps.

A transform of n1 * n2 numbers is n2 transforms of n1, a turn of each result, and n1 transforms of n2 (Cooley
and Tukey): so products of matrices of at most LONGEST waves, which cuBLAS computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import complexes, launches
from rushlight._engine.devices.cuda.served import functions
from rushlight._engine.ops.signal import fourier

# So many waves a matrix has where a size can be divided, and where it cannot.
LONGEST, MOST = 256, 4096


def _angle(n: int, j: Any, k: Any, forward: bool, of: Any) -> Any:
    """exp(-2 pi i j k / n), or its conjugate; products of positions are taken modulo n, exactly."""
    turns = np.outer(j, k) % n
    return np.exp((-2j if forward else 2j) * math.pi * turns / n).astype(of)


def _waves(backend: Device, n: int, forward: bool, of: Any) -> DeviceArray:
    line = np.arange(n)
    return backend.kept(("waves", n, forward, of), lambda: _angle(n, line, line, forward, of))


def _divisor(n: int) -> int:
    """The divisor of n next to its root, and at most LONGEST; 1 for none."""
    least = max(math.isqrt(n), 1)
    near = [k for k in range(2, min(n - 1, LONGEST) + 1) if n % k == 0]
    return min(near, key=lambda k: abs(k - min(least, LONGEST)), default=1)


def _transformed(backend: Device, z: DeviceArray, forward: bool) -> DeviceArray:
    """(b, n), without gaps: the transform of each row."""
    b, n = z.shape
    one = _divisor(n) if n > LONGEST else 1
    if one == 1:
        if n > MOST:
            raise NotServed(f"a transform of {n} numbers, which has no small divisor")
        return backend.blas.product(z, _waves(backend, n, forward, z.dtype))
    two = n // one
    inner = backend.blas.product(_waves(backend, one, forward, z.dtype), z.reshape(b, one, two))
    turns = backend.kept(
        ("turns", one, two, forward, z.dtype),
        lambda: _angle(n, np.arange(one), np.arange(two), forward, z.dtype),
    )
    turned = functions.ufunc(backend, np.multiply, (inner, turns), {})
    outer = _transformed(backend, turned.reshape(b * one, two), forward).reshape(b, one, two)
    found: DeviceArray = launches.copied(backend, outer.transpose(0, 2, 1)).reshape(b, n)
    return found


def _scaled(backend: Device, a: DeviceArray, total: int, scale: str) -> DeviceArray:
    factor = {"none": 1.0, "n": 1 / total, "root": 1 / math.sqrt(total)}[scale]
    if factor == 1:
        return launches.contiguous(backend, a)
    result: DeviceArray = functions.ufunc(backend, np.multiply, (a, a.dtype.type(factor)), {})
    return launches.contiguous(backend, result)


def _over(
    backend: Device, z: DeviceArray, count: int, forward: bool, scale: str, left: int = 0
) -> DeviceArray:
    """The transform over `count` dims, behind which `left` others are, scaled; laid out row by row."""
    if backend.simulated:
        raise NotServed("a library call")
    if z.dtype not in (np.complex64, np.complex128) or not z.size:
        raise NotServed("a transform of this dtype")
    dims = range(z.ndim - left - count, z.ndim - left)
    for d in dims:
        turned = z.swapaxes(d, -1)
        rows = launches.contiguous(backend, turned).reshape(-1, turned.shape[-1])
        z = _transformed(backend, rows, forward).reshape(*turned.shape).swapaxes(d, -1)
    return _scaled(backend, launches.contiguous(backend, z), math.prod([z.shape[d] for d in dims]), scale)


def _last(a: DeviceArray, dim: Any) -> tuple[DeviceArray, Callable[[DeviceArray], DeviceArray]]:
    """The rows' own way to turn dims to the end, and back, which looks at geometry alone."""
    orders: Any = fourier.orders
    order, back = orders(a, dim)
    return a.transpose(order), lambda found: found.transpose(back)


def _c2c(backend: Device, z: DeviceArray, dim: Any, scale: str, forward: bool) -> DeviceArray:
    if not dim:
        return launches.copied(backend, z)
    turned, back = _last(z, dim)
    return back(_over(backend, turned, len(dim), forward, scale))


def _r2c(backend: Device, a: DeviceArray, dim: Any, scale: str, onesided: bool) -> DeviceArray:
    if a.dtype.kind != "f" or a.itemsize < 4:
        raise NotServed("a transform of this dtype")
    turned, back = _last(functions.astype(backend, a, np.dtype(f"c{2 * a.itemsize}")), dim)
    found = _over(backend, turned, len(dim), True, scale)
    if onesided:
        found = launches.copied(backend, found[..., : found.shape[-1] // 2 + 1])
    return back(found)


def _c2r(backend: Device, z: DeviceArray, dim: Any, scale: str, size: int) -> DeviceArray:
    """What is missing of the spectrum is the conjugate of what is there, at the opposite place."""
    z, back = _last(z, dim)
    total = math.prod(z.shape[z.ndim - len(dim) : -1]) * size
    if len(dim) > 1:
        z = _over(backend, z, len(dim) - 1, False, "none", 1)
    half = size // 2 + 1
    if z.shape[-1] != half:
        raise NotServed("a spectrum of another size")
    whole = backend.empty((*z.shape[:-1], size), z.dtype, None, poison=False)
    launches.convert(backend, whole[..., :half], z)
    behind = z[..., (size - 1) // 2 : 0 : -1]
    if behind.size:
        functions.ufunc(backend, np.conjugate, (behind,), {"out": (whole[..., half:],)})
    # The first number, and of an even size the middle one, is taken for real.
    for k in {0, size // 2} if size % 2 == 0 else {0}:
        edge = complexes.split(whole[..., k : k + 1])[1]
        launches.convert(backend, edge, np.zeros((), edge.dtype))
    real = complexes.split(_over(backend, whole, 1, False, "none"))[0]
    return back(_scaled(backend, real, total, scale))


ROWS: dict[str, Callable[..., Any]] = {"_fft_c2c": _c2c, "_fft_r2c": _r2c, "_fft_c2r": _c2r}
