"""Products of matrices and vectors of other shapes: powers, chains, Kronecker's, cross and inner ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.names.deprecations import deprecated
from rushlight._engine.ops.creation.copying import converted
from rushlight._engine.ops.expressions import Expr
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.linalg.matmul import matmul, mm, unrounded_product
from rushlight._engine.ops.linalg.matrix_checks import check_square, is_inexact
from rushlight._engine.ops.signature import spread_tensors
from rushlight._engine.ops.table import ROWS, Array, composite, pointwise


@composite(out=True, planned=True)
def matrix_power(input, n: int):
    """linalg.matrix_power in its older spelling."""
    return linalg_matrix_power(input, n)


@composite(where=("linalg.diagonal",), planned=True)
def linalg_diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """A view of the diagonals of the matrices in the last two dims."""
    return A.diagonal(offset, dim1, dim2)


@composite(where=("linalg.cross",), out=True, planned=True)
def linalg_cross(input, other, *, dim: int = -1):
    """The cross product of vectors of three elements along dim; other dims broadcast."""
    return cross(input, other, dim)


@composite(where=("linalg.matrix_power",), name="linalg_matrix_power", out=True, planned=True)
def linalg_matrix_power(input, n: int):
    """input @ input @ ... (n times), by squaring; the inverse's power for negative n."""
    check_square("linalg.matrix_power", input._geometry)
    if n < 0:
        return linalg_matrix_power(ROWS["linalg_inv"](input), -n)
    if n == 0:
        return input.clone().copy_(ROWS["eye"](input.shape[-1], dtype=input.dtype, device=input.device))
    if n == 1:
        return input.clone()
    found, square = None, input
    while n:
        if n & 1:
            found = square if found is None else matmul(found, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return found


# --- chains ---------------------------------------------------------------------------------------


def _check_chain(tensors: list[Any]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for place, t in (("first", tensors[0]), ("last", tensors[-1])):
        if t.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {place} tensor must be 1D or 2D but got {t.ndim}D")
    for i, t in enumerate(tensors):
        if 0 < i < len(tensors) - 1 and t.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{tensors[0].dtype.c_name} and tensor {i} {t.dtype.c_name}"
            )


def _order(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each chain i..j so that the multiplications are fewest (Cormen et al., 15.2)."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            price = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
            }
            cuts[i, j] = best = min(price, key=price.__getitem__)
            cost[i, j] = price[best]
    return cuts


def _chain(matrices: list[Any]) -> Any:
    for i, (a, b) in enumerate(zip(matrices, matrices[1:], strict=False)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and "
                f"{list(b.shape)} cannot be multiplied"
            )
    cuts = _order([m.shape[0] for m in matrices] + [matrices[-1].shape[1]])
    return _product(matrices, cuts, 0, len(matrices) - 1)


def _product(matrices: list[Any], cuts: dict[tuple[int, int], int], i: int, j: int) -> Any:
    """The product of the matrices from i to j, in the order that the cuts say."""
    if i == j:
        return matrices[i]
    cut = cuts[i, j]
    return matmul(_product(matrices, cuts, i, cut), _product(matrices, cuts, cut + 1, j))


@composite(where=("linalg.multi_dot",), name="linalg_multi_dot", out=True, planned=True)
def linalg_multi_dot(tensors: list[Tensor]):
    """The product of two or more matrices, in the cheapest order; the first and last may be vectors."""
    _check_chain(tensors)
    matrices = list(tensors)
    row, column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    matrices[0] = matrices[0].unsqueeze(0) if row else matrices[0]
    matrices[-1] = matrices[-1].unsqueeze(-1) if column else matrices[-1]
    found = _chain(matrices)
    if row:
        found = found.squeeze(0)
    return found.squeeze(-1) if column else found


@composite(where=("torch",), out=True)
def chain_matmul(matrices: "*Any" = ()):
    """linalg.multi_dot of matrices, given one by one; a single one is returned as it is."""
    deprecated("chain_matmul")
    if len(matrices) == 0:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for t in spread_tensors("chain_matmul", matrices):
        if t.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {t.ndim}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(list(matrices))


# Products of 2 ** 14, so many of which are whole numbers of 24 bits, which float32 has.
_PRODUCTS = 1 << 10


@composite(name="_product_of_bytes", where=("aten",))
def _product_of_bytes(input, mat2):
    """The product of matrices of int8, in int32."""
    wide = dt.float32 if input.shape[-1] <= _PRODUCTS else dt.int32
    return mm(input.to(wide), mat2.to(wide)).to(dt.int32)


@_product_of_bytes.kernel
def _product_of_bytes_kernel(a: Array, b: Array) -> Any:
    """By bfloat16, which has all of int8, and whose sums are of float32."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not 0 < a.shape[1] <= _PRODUCTS:
        return NotImplemented
    narrow = [converted(t, np.empty(t.shape, dt.bfloat16.np)) for t in (a, b)]
    found = unrounded_product(*narrow)
    return converted(found, np.empty(found.shape, np.int32))


@composite(out=True, planned=True)
def kron(input, other):
    """Kronecker's product: every element of input times the whole of other, block by block."""
    n = max(input.ndim, other.ndim)
    a, b = ((1,) * (n - t.ndim) + tuple(t.shape) for t in (input, other))
    left = input.reshape([s for size in a for s in (size, 1)])
    right = other.reshape([s for size in b for s in (1, size)])
    return (left * right).reshape([p * q for p, q in zip(a, b, strict=True)])


# --- vectors --------------------------------------------------------------------------------------


def _cross(input: Any, other: Any, dim: int) -> Any:
    op = "linalg.cross"
    if input.ndim != other.ndim:
        raise RuntimeError(f"{op}: inputs must have the same number of dimensions.")
    at = wrap_dim(dim, input.ndim)
    if input.shape[at] != 3 or other.shape[at] != 3:
        raise RuntimeError(
            f"{op}: inputs dimension {dim} must have length 3. Got {input.shape[at]} and {other.shape[at]}"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {other.dtype.legacy}")
    (a, b, c), (x, y, z) = input.unbind(at), other.unbind(at)
    return ROWS["stack"]([_minor(b, z, c, y), _minor(c, x, a, z), _minor(a, y, b, x)], at)


@pointwise(where=(), inplace=False)
def _minor(a: Expr, b: Expr, c: Expr, d: Expr) -> Expr:
    """a * b - c * d."""
    return a * b - c * d


@composite(out=True, planned=True)
def cross(input, other, dim: int | None = None):
    """linalg.cross; without dim, along the first dim of size 3."""
    if dim is None:
        deprecated("cross")
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None and input.ndim == other.ndim:
            raise RuntimeError("no dimension of size 3 in input")
    return _cross(input, other, 0 if dim is None else dim)


@composite(where=("linalg.vecdot",), name="linalg_vecdot", out=True, planned=True)
def linalg_vecdot(x, y, *, dim: int = -1):
    """The sum of conj(x) * y along dim; the others broadcast."""
    if not is_inexact(x._geometry):
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {legacy(x._geometry)}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{legacy(x._geometry)} and y of type {legacy(y._geometry)} instead"
        )
    if x.ndim == 1 and y.ndim == 1:
        return x.vdot(y)
    return (x.conj() * y).sum(dim)
