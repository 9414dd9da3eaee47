"""Distances between vectors in p-norms: cdist between two sets, pdist within one."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.table import ROWS, composite

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
        return (size * size).sum(-1).sqrt()
    if p == inf:
        return size.amax(-1) if size.shape[-1] else size.sum(-1)
    return (size**p).sum(-1) ** (1 / p)


@_length.gradient
def _length_gradient(s: Any, grad: Any) -> Any:
    # Where two vectors meet the distance has no gradient: 0, as PyTorch's.
    apart, p = s.input, s.p
    grad, y = grad.unsqueeze(-1), s.result.unsqueeze(-1)
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


def _check(name: str, x: Any, what: str, runs: bool = True) -> None:
    if x.dtype.name not in ("float32", "float64"):
        if x.dtype.category == 2 and runs:
            raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.legacy}'")
        if x.dtype.category != 2:
            raise RuntimeError(f"{name} only supports floating-point dtypes, {what} got: {x.dtype.legacy}")


@composite(where=("torch",))
def cdist(x1, x2, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"):
    """The distances (..., P, R) between the vectors of x1 (..., P, M) and those of x2 (..., R, M)."""
    if compute_mode not in _BY_PRODUCT:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    _check("cdist", x1, "X1")
    _check("cdist", x2, "X2")
    for x, what in ((x1, "X1"), (x2, "X2")):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {what} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    many = _BY_PRODUCT[compute_mode]
    if p == 2 and max(x1.shape[-2], x2.shape[-2]) > many:
        return _euclid_by_product(x1, x2)
    return _length(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


@composite(where=("torch", "nn.functional"))
def pdist(input, p: float = 2.0):
    """The distances between all pairs of rows i < j of a matrix, as a vector."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    _check("pdist", input, "input", input.shape[0] > 1)
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = (tensor_of(i) for i in np.triu_indices(input.shape[0], 1))
    select = ROWS["index_select"]
    apart = select(input, 0, first) - select(input, 0, second)
    if p == 0:  # nan where rows cannot be compared
        return apart.abs().ceil().clamp(max=1).sum(-1)
    return _length(apart, p)
