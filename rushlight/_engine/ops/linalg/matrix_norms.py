"""Norms of matrices, and what they say of solving equations: the condition number."""

from __future__ import annotations

from math import inf
from typing import Any

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.ops.linalg.matrix_checks import check_floating, check_matrix, check_square, is_inexact
from rushlight._engine.ops.reductions.statistics import check_norm_dtype, vector_norm
from rushlight._engine.ops.table import ROWS, composite

_OP = "linalg.matrix_norm"
_SINGULAR = ("nuc", 2, -2)


def _check(A: Any, ord: Any, dim: Any, dtype: Any) -> tuple[int, int]:
    """The two dims, counted from the front; the errors of what cannot be."""
    check_matrix(_OP, A._geometry)
    if not is_inexact(A._geometry) or ord in _SINGULAR:
        check_floating(_OP, A._geometry)
    if ord not in ("fro", 1, -1, inf, -inf, *_SINGULAR):
        raise RuntimeError(f"{_OP}: Order {ord} not supported.")
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"{_OP}: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    first, second = (wrap_dim(d, A.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"{_OP}: dims must be different. Got ({dims[0]}, {dims[1]})")
    if dtype is not None:
        check_norm_dtype(_OP, A.dtype, dtype)
    return first, second


def matrix_norm_of(A: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any = None) -> Any:
    """The norm of the matrices in two dims of a tensor."""
    rows, wide = _check(A, ord, dim, dtype)
    x = A if dtype is None else A.to(dtype)
    if ord == "fro":
        return vector_norm(x, 2, (rows, wide), keepdim)
    if ord in _SINGULAR:
        found = _of_singular(ROWS["_svdvals"](x.movedim((rows, wide), (-2, -1))), ord)
        return found[..., None, None].movedim((-2, -1), (rows, wide)) if keepdim else found
    summed, rest = (rows, wide) if abs(ord) == 1 else (wide, rows)
    sums = vector_norm(x, 1, summed, keepdim)
    rest -= not keepdim and rest > summed
    if ord > 0 and not sums.shape[rest]:
        # The largest of no sums is no error here: 0.
        return sums.detach().sum(rest, keepdim)
    return sums.amax(rest, keepdim) if ord > 0 else sums.amin(rest, keepdim)


def _of_singular(values: Any, ord: Any) -> Any:
    if ord == "nuc" or (ord == 2 and not values.shape[-1]):
        return values.sum(-1)
    return values.amax(-1) if ord == 2 else values.amin(-1)


@composite(where=("linalg.matrix_norm",), name="linalg_matrix_norm", out=True, planned=True)
def linalg_matrix_norm(
    input,
    ord: Any = "fro",
    dim: Ints = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
):
    """ord: "fro", "nuc" (sum of singular values), 2, -2 (largest, smallest), 1, -1 (largest, smallest sum of
    a column's absolute values), inf, -inf (of a row's).
    """
    return matrix_norm_of(input, ord, dim, keepdim, dtype)


@composite(where=("linalg.norm",), name="linalg_norm", out=True, planned=True)
def linalg_norm(
    input,
    ord: Any = None,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
):
    """A vector norm over one dim, a matrix norm over two; ord=None is the 2-norm of all elements."""
    dims = (dim,) if isinstance(dim, int) else dim
    if (isinstance(ord, str) or ord is not None) and dims is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    if isinstance(ord, str):
        return matrix_norm_of(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is not None and (input.ndim if dims is None else len(dims)) == 2:
        return matrix_norm_of(input, ord, (0, 1) if dims is None else dims, keepdim, dtype)
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


@composite(where=("linalg.cond",), name="linalg_cond", out=True)
def linalg_cond(input, p: Any = None):
    """norm(input) * norm(input^-1): by singular values for p None, 2 and -2; inf for a singular matrix."""
    if input.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p in (None, 2, -2):
        values = ROWS["linalg_svdvals"](input)
        if not values.numel():
            return values.new_zeros(values.shape[:-1])
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    if p not in ("fro", "nuc", 1, -1, inf, -inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_square(f"linalg.cond(ord={p})", input._geometry)
    if not input.numel():
        return matrix_norm_of(input, "fro", (-2, -1), False)
    inverse, info = ROWS["linalg_inv_ex"](input)
    bad = info > 0
    inverse = inverse.masked_fill(bad[..., None, None], 0)
    found = matrix_norm_of(input, p, (-2, -1), False) * matrix_norm_of(inverse, p, (-2, -1), False)
    return found.masked_fill(bad, inf)
