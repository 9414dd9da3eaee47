"""Distances between vectors in p-norms: cdist between two sets, pdist within one."""

from __future__ import annotations

from functools import cache, partial, reduce
from math import inf
from typing import Any

import numpy as np

from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.resolved import resolved
from rushlight._engine.ops.row_expressions import reduce_
from rushlight._engine.ops.row_kernels import RowKernel, launch
from rushlight._engine.ops.table import ROWS, Array, composite

# From this many vectors on PyTorch takes Euclidean distances from a product of matrices.
_MANY = 25
_BY_PRODUCT = {
    "use_mm_for_euclid_dist_if_necessary": _MANY,
    "use_mm_for_euclid_dist": 0,
    "donot_use_mm_for_euclid_dist": inf,
}


@composite(name="_length", where=("aten",), node="cdist")
def _length(input, p: float):
    """The p-norm over the last dim."""
    size = input.abs()
    if p == 0:
        return (size != 0).to(size.dtype).sum(-1)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        square = (size * size).sum(-1)
        meet = square == 0  # where the root has no slope
        return square.masked_fill(meet, 1).sqrt().masked_fill(meet, 0)
    if p == inf:
        return size.amax(-1) if size.shape[-1] else size.sum(-1)
    return (size**p).sum(-1) ** (1 / p)


@_length.gradient
def _length_gradient(s: Any, grad: Any) -> Any:
    return _slopes(grad, s.input, s.result, s.p)


def _slopes(grad: Any, apart: Any, found: Any, p: float) -> Any:
    """The gradient of what is between two vectors. Where they meet it is 0, as PyTorch's."""
    grad, y = grad.unsqueeze(-1), found.unsqueeze(-1)
    if p == 0:
        return apart * 0.0
    if p == 1:
        return grad * apart.sign()
    if p == 2:
        return apart * (grad / y).masked_fill(y == 0, 0)
    size = apart.abs()
    if p == inf:
        return grad * apart.sign() * (size == y).to(grad.dtype)
    slope = apart.sign() * (size ** (p - 1)).masked_fill(size == 0, 0)
    return slope * (grad / y ** (p - 1)).masked_fill(y == 0, 0)


@composite(name="_euclid_by_product", where=("aten",), node="cdist")
def _euclid_by_product(x1, x2):
    """Euclidean distances by |a - b|^2 = |a|^2 + |b|^2 - 2 a b."""
    square = (x1 * x1).sum(-1, True) + (x2 * x2).sum(-1).unsqueeze(-2) - 2 * (x1 @ x2.mT)
    return square.clamp(min=0).sqrt()


@_euclid_by_product.gradient
def _euclid_by_product_gradient(s: Any, grad: Any) -> Any:
    y, a, b = s.result, s.x1, s.x2
    ratio = (grad / y).masked_fill(y == 0, 0)
    first = a * ratio.sum(-1, True) - ratio @ b
    second = b * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ a
    return first.sum_to_size(s.shape("x1")), second.sum_to_size(s.shape("x2"))


def _check_floating(name: str, x: Any, more: str = "") -> None:
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"{name} only supports floating-point dtypes{more}")


def _check_wide(name: str, x: Any) -> None:
    if x.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.legacy}'")


@composite(where=("torch",), planned=True)
def cdist(x1, x2, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"):
    """The distances (..., P, R) between the vectors of x1 (..., P, M) and those of x2 (..., R, M)."""
    if compute_mode not in _BY_PRODUCT:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for x, what in ((x1, "X1"), (x2, "X2")):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {what} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    for x, what in ((x1, "X1"), (x2, "X2")):
        _check_floating("cdist", x, f", {what} got: {x.dtype.legacy}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    many = _BY_PRODUCT[compute_mode]
    if p == 2 and max(x1.shape[-2], x2.shape[-2]) > many:
        return _euclid_by_product(x1, x2)
    if x1.numel() and x2.numel():
        _check_wide("cdist", x1)
        if x1.dtype is not x2.dtype:
            raise RuntimeError(f"expected scalar type {x1.dtype.legacy} but found {x2.dtype.legacy}")
    return _between(x1, x2, p)


_A, _B = symbol("a"), symbol("b")
# Elements of a vector up to which its parts are operands of one kernel; more are a row.
_FEW = 8
# Elements of all pairs up to which starting a kernel costs more than what it does.
_ONE_CALL = 1 << 11


def _summand(p: float) -> Expr:
    """What is summed, or is the largest, of two elements."""
    apart = _A - _B
    return apart * apart if p == 2 else m.abs(apart)


_ROWS = {
    p: RowKernel(
        partial(lambda p: (_finish(reduce_("max" if p == inf else "add", _summand(p)), p),), p), ("a", "b")
    )
    for p in (1, 2, inf)
}


def _finish(total: Expr, p: float) -> Expr:
    return m.sqrt(total) if p == 2 else total


@composite(name="_between", where=("aten",), node="cdist")
def _between(x1, x2, p: float):
    """(*, n, m) distances between vectors (*, n, size) and (*, m, size)."""
    return _length(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


@_between.kernel
@resolved
def _between_kernel(x1: Array, x2: Array, p: float) -> Any:
    size = x1.shape[-1]
    usual = p in _ROWS and size and x1.size and x2.size and x1.dtype == x2.dtype
    if not usual or x1.dtype.name not in ("float32", "float64"):
        return NotImplemented
    if size > _FEW or x1.size * x2.shape[-2] <= _ONE_CALL:
        kernel = _ROWS[p].compiled(x1, x2)
        return kernel if kernel is NotImplemented else lambda x1, x2: launch(kernel, _facing(x1, x2))
    of_parts = _of_parts(x1.dtype.name, size, p)

    def run(x1: Array, x2: Array) -> Any:
        parts = [np.ascontiguousarray(t[..., k]) for t in _facing(x1, x2) for k in range(size)]
        return of_parts.large(*parts)

    return run


def _facing(x1: Array, x2: Array) -> tuple[Array, Array]:
    """Each vector of x1 beside each of x2, as views."""
    return x1[..., :, None, :], x2[..., None, :, :]


@cache
def _of_parts(of: str, size: int, p: float) -> Any:
    """The kernel of the distance between vectors of a few elements: all of the first's, then the second's."""
    pairs = [(symbol(f"a{k}"), symbol(f"b{k}")) for k in range(size)]
    terms = [m.abs(a - b) if p != 2 else (a - b) * (a - b) for a, b in pairs]
    total = reduce(m.maximum, terms) if p == inf else sum(terms[1:], terms[0])
    names = [(f"{what}{k}", of) for what in "ab" for k in range(size)]
    kernel = service("pointwise kernel")((_finish(total, p),), tuple(names), (of,))
    kernel.compile_now()
    return kernel


@_between.gradient
def _between_gradient(s: Any, grad: Any) -> Any:
    found = _slopes(grad, s.x1.unsqueeze(-2) - s.x2.unsqueeze(-3), s.result, s.p)
    return (
        found.sum(-2).sum_to_size(s.shape("x1")),
        (-found).sum(-3).sum_to_size(s.shape("x2")),
    )


@composite(name="_pairs", where=("aten",), node="pdist")
def _pairs(input, p: float):
    """The distances between all pairs of rows i < j of a matrix."""
    rows, columns = np.triu_indices(input.shape[0], 1)
    return _between(input, input, p).reshape(-1).index_select(0, tensor_of(rows * input.shape[0] + columns))


# Rows up to which those behind each are a part of one call.
_MOST = 1 << 9


@_pairs.kernel
@resolved
def _pairs_kernel(x: Array, p: float) -> Any:
    n, size = x.shape
    by_rows = size > _FEW or 0 < n * n * size <= _ONE_CALL
    if p not in _ROWS or not by_rows or n > _MOST or not x.flags.c_contiguous:
        return NotImplemented
    kernel, of = _ROWS[p].compiled(x, x), x.dtype
    if kernel is NotImplemented or not kernel.compile_now():
        return NotImplemented
    like, out = np.empty_like(x), np.empty(n * (n - 1) // 2, of)
    ends = np.add.accumulate(np.arange(n - 1, 0, -1)).tolist()
    parts = [
        (np.broadcast_to(like[i], (n - 1 - i, size)), like[i + 1 :], out[end - (n - 1 - i) : end])
        for i, end in enumerate(ends)
    ]
    loop = service("loops over parts")(kernel, parts, (like, out))
    if loop is None:
        return NotImplemented

    def run(x: Array) -> Array:
        found = np.empty(n * (n - 1) // 2, of)
        loop(x, found)
        return found

    return run


@composite(where=("torch", "nn.functional"), planned=True)
def pdist(input, p: float = 2.0):
    """The distances between all pairs of rows i < j of a matrix, as a vector."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    _check_floating("pdist", input)
    if input.shape[0] > 1 and input.shape[1]:
        _check_wide("pdist", input)
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if p > 0 and input.shape[0] > 1 and input.shape[1]:
        return _pairs(input, p)
    rows, columns = np.triu_indices(input.shape[0], 1)
    first, second = tensor_of(rows), tensor_of(columns)
    select = ROWS["index_select"]
    apart = select(input, 0, first) - select(input, 0, second)
    if p == 0:  # nan where rows cannot be compared
        return apart.abs().ceil().clamp(max=1).sum(-1)
    return _length(apart, p)
