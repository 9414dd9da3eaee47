"""Matrix products by cuBLAS, which real devices have; a simulated one lets the host compute them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed, Products
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.served import functions


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


# --- einsum ---------------------------------------------------------------------------------------

Labelled = tuple[str, DeviceArray]


def _einsum(backend: Device, operands: Sequence[DeviceArray], equation: str) -> DeviceArray:
    """A contraction: operand by operand, each step a batch of products."""
    blas = _blas(backend, *operands)
    inputs, out = equation.split("->")
    sizes: dict[str, int] = {}
    every = [_diagonals(labels, a) for labels, a in zip(inputs.split(","), operands, strict=True)]
    for labels, a in every:
        for c, n in zip(labels, a.shape, strict=True):
            sizes[c] = n if sizes.get(c, 1) == 1 else sizes[c]
    # A dim of size 1 is every place of a larger one.
    given = [_without(labels, a, lambda c, n: n == 1 and sizes[c] > 1) for labels, a in every]
    # As on the CPU the last two come first, and then what they give: the result's dims lie so.
    given.reverse()
    while len(given) > 1:
        one, two, *rest = given
        needed = set(out).union(*[labels for labels, _ in rest])
        given = [*rest, _contracted(backend, blas, two, one, needed)]
    found = given[0]
    labels, a = _summed(backend, found, set(out))
    if set(labels) == set(out) and len(operands) > 1:
        return a.transpose([labels.index(c) for c in out]) if labels else a
    shape = tuple([sizes[c] for c in out])
    turned = a.transpose([labels.index(c) for c in out if c in labels]) if labels else a
    steps = iter(turned.strides)
    wide = turned.relaid(shape, tuple([next(steps) if c in labels else 0 for c in out]))
    return launches.copied(backend, wide, wide.strides if wide.dense else None)


def _diagonals(labels: str, a: DeviceArray) -> Labelled:
    """A label that comes again names a diagonal."""
    different = "".join(dict.fromkeys(labels))
    if len(different) == len(labels):
        return labels, a
    shape = [a.shape[labels.index(c)] for c in different]
    steps = [sum([s for d, s in zip(labels, a.strides, strict=True) if d == c]) for c in different]
    return different, a.relaid(tuple(shape), tuple(steps))


def _without(labels: str, a: DeviceArray, gone: Callable[[str, int], bool]) -> Labelled:
    kept = [k for k, (c, n) in enumerate(zip(labels, a.shape, strict=True)) if not gone(c, n)]
    view = a.relaid(tuple([a.shape[k] for k in kept]), tuple([a.strides[k] for k in kept]))
    return "".join([labels[k] for k in kept]), view if len(kept) < a.ndim else a


def _summed(backend: Device, one: Labelled, kept: set[str]) -> Labelled:
    """Without the labels that nobody else has."""
    labels, a = one
    axes = tuple([k for k, c in enumerate(labels) if c not in kept])
    if not axes:
        return one
    return "".join([c for c in labels if c in kept]), functions.FUNCTIONS[np.sum](backend, a, axis=axes)


def _contracted(backend: Device, blas: Any, one: Labelled, two: Labelled, needed: set[str]) -> Labelled:
    """Two operands as one, with the labels that are needed."""
    one, two = (_summed(backend, own, needed | set(other[0])) for own, other in ((one, two), (two, one)))
    (a_labels, a), (b_labels, b) = one, two
    batch = [c for c in a_labels if c in b_labels and c in needed]
    inner = [c for c in a_labels if c in b_labels and c not in needed]
    left = [c for c in a_labels if c not in b_labels]
    right = [c for c in b_labels if c not in a_labels]
    sizes = {**dict(zip(b_labels, b.shape, strict=True)), **dict(zip(a_labels, a.shape, strict=True))}

    def matrices(labels: str, x: DeviceArray, *groups: list[str]) -> DeviceArray:
        turned = x.transpose([labels.index(c) for group in groups for c in group])
        return turned.reshape(*[math.prod([sizes[c] for c in group]) for group in groups])

    made = blas.product(matrices(a_labels, a, batch, left, inner), matrices(b_labels, b, batch, inner, right))
    labels = [*batch, *left, *right]
    return "".join(labels), made.reshape(*[sizes[c] for c in labels])


ROWS: dict[str, Callable[..., Any]] = {
    "_einsum": _einsum,
    "mm": _mm,
    "bmm": _bmm,
    "_matmul": _matmul,
    "mv": _mv,
    "dot": _dot,
    "linear": _linear,
    "_sum_of_outers": _sum_of_outers,
}
