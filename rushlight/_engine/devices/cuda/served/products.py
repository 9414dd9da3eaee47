"""Matrix products by cuBLAS, which real devices have; a simulated one lets the host compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed, Products
from rushlight._engine.devices.cuda.kernels import launches


def _blas(backend: Device, *operands: DeviceArray) -> Products:
    if backend.simulated:
        raise NotServed("a library call")
    if len({a.dtype for a in operands}) != 1:
        raise NotServed("operands of two dtypes")
    return backend.blas


def _check(good: bool) -> None:
    if not good:
        raise NotServed("operands whose sizes do not fit")


def _mm(backend: Device, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    blas = _blas(backend, a, b)
    _check(a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0])
    return blas.product(a, b)


def _bmm(backend: Device, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    blas = _blas(backend, a, b)
    _check(a.ndim == b.ndim == 3 and a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1])
    return blas.product(a, b)


def _matmul(backend: Device, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    blas = _blas(backend, a, b)
    _check(a.ndim >= 2 and b.ndim >= 2 and a.shape[-1] == b.shape[-2])
    return blas.product(a, b)


def _mv(backend: Device, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    blas = _blas(backend, a, b)
    _check(a.ndim == 2 and b.ndim == 1 and a.shape[1] == b.shape[0])
    return blas.product(a, b[:, None])[:, 0]


def _dot(backend: Device, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    blas = _blas(backend, a, b)
    _check(a.ndim == b.ndim == 1 and a.shape == b.shape)
    return blas.product(a[None], b[:, None])[0, 0]


def _linear(backend: Device, a: DeviceArray, weight: DeviceArray, bias: Any = None) -> DeviceArray:
    given = (a, weight) if bias is None else (a, weight, bias)
    blas = _blas(backend, *given)
    _check(a.ndim >= 1 and weight.ndim == 2 and a.shape[-1] == weight.shape[1])
    _check(bias is None or bias.shape == weight.shape[:1])
    rows = launches.contiguous(backend, a).reshape(-1, a.shape[-1])
    found = blas.product(rows, weight.T, bias)
    return found.reshape(*a.shape[:-1], weight.shape[0])


def _sum_of_outers(backend: Device, a: DeviceArray, b: DeviceArray) -> DeviceArray:
    blas = _blas(backend, a, b)
    _check(a.shape[:-1] == b.shape[:-1])
    one, two = (launches.contiguous(backend, x).reshape(-1, x.shape[-1]) for x in (a, b))
    return blas.product(one.T, two)


ROWS: dict[str, Callable[..., Any]] = {
    "mm": _mm,
    "bmm": _bmm,
    "_matmul": _matmul,
    "mv": _mv,
    "dot": _dot,
    "linear": _linear,
    "_sum_of_outers": _sum_of_outers,
}
