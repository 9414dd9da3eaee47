"""LU decompositions with partial pivoting, and what is built on them: solving, determinants.

NumPy hands no LU on, so it is written here: panels of columns are eliminated one column at a time, for
all rows and the whole batch at once, and the rest of the matrix follows in one product.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import int32
from rushlight._engine.core.recording import decides
from rushlight._engine.core.results import named
from rushlight._engine.core.services import service
from rushlight._engine.names.deprecations import deprecated
from rushlight._engine.ops.linalg.matmul import product
from rushlight._engine.ops.linalg.matrix_checks import (
    batch_of,
    check_equation,
    check_matrix,
    check_same,
    check_square,
    column_major,
    columns,
    dagger,
    reporting,
    size_of,
)
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


@composite(out=True, planned=True)
def lu_solve(input, LU_data, LU_pivots):
    """linalg.lu_solve with its operands in the older order."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


@composite(planned=True)
def det(input):
    """linalg.det in its older spelling."""
    return linalg_det(input)


_PANEL = 64


def factor(a: Array) -> tuple[Array, Array, Array]:
    """(LU, one-based pivots, infos) of a batch of (m, n) matrices, as LAPACK's getrf packs them."""
    rows, wide = a.shape[-2:]
    small = min(rows, wide)
    lu = np.array(a.reshape(prod(a.shape[:-2]), rows, wide), order="C")
    pivots = np.empty((len(lu), small), np.int32)
    info, each = np.zeros(len(lu), np.int32), np.arange(len(lu))
    alone = small > _PANEL or not service("elimination")(lu, pivots, info)
    for start in range(0, small * alone, _PANEL):
        stop = min(start + _PANEL, small)
        if not service("elimination")(lu, pivots, info, start, stop):
            for j in range(start, stop):
                _eliminate(lu, pivots, info, each, j, stop)
        if stop < wide:
            _follow(lu, start, stop)
    return (lu.reshape(a.shape), pivots.reshape(*a.shape[:-2], small), info.reshape(a.shape[:-2]))


def _eliminate(lu: Array, pivots: Array, info: Array, each: Array, j: int, stop: int) -> None:
    """Column j: the largest element becomes the pivot, and the panel's columns up to `stop` follow."""
    below = lu[:, j:, j]
    place = size_of(below).argmax(1)
    if place.any():
        place += j
        chosen = lu[each, place]
        lu[each, place] = lu[:, j].copy()
        lu[:, j] = chosen
        pivots[:, j] = place + 1
    else:
        pivots[:, j] = j + 1
    pivot = lu[:, j, j]
    if not pivot.all():
        info[(pivot == 0) & (info == 0)] = j + 1
        pivot = np.where(pivot == 0, 1, pivot)
    column, rest = lu[:, j + 1 :, j : j + 1], lu[:, j + 1 :, j + 1 : stop]
    column /= pivot[:, None, None]
    rest -= column * lu[:, j : j + 1, j + 1 : stop]


def _follow(lu: Array, start: int, stop: int) -> None:
    """The columns behind a panel: their part of U, then one product for what is left."""
    panel, known = lu[:, start:stop, start:stop], lu[:, start:stop, stop:]
    if not service("substitution")(panel, known, False, True):
        # Turned round, the panel's L is upper triangular: LAPACK only has to substitute back.
        lower = np.tril(panel, -1) + np.eye(stop - start, dtype=lu.dtype)
        known[...] = np.linalg.solve(lower[:, ::-1, ::-1], known[:, ::-1])[:, ::-1]
    if stop < lu.shape[1]:
        lu[:, stop:, stop:] -= product(lu[:, stop:, start:stop], known)


def order_of(pivots: Array, rows: int) -> Array:
    """The permutation (as indices) that a sequence of row swaps makes."""
    flat = pivots.reshape(prod(pivots.shape[:-1]), pivots.shape[-1])
    if len(flat) == 1:  # numbers of Python are exchanged faster than elements of arrays
        numbers = list(range(rows))
        for j, place in enumerate(flat[0].tolist()):
            numbers[j], numbers[place - 1] = numbers[place - 1], numbers[j]
        return np.array(numbers, np.int64).reshape(*pivots.shape[:-1], rows)
    order = np.tile(np.arange(rows), (len(flat), 1))
    each = np.arange(len(flat))
    for j in range(flat.shape[1]):
        place = flat[:, j] - 1
        chosen = order[each, place]
        order[each, place] = order[:, j]
        order[:, j] = chosen
    return order.reshape(*pivots.shape[:-1], rows)


@opaque(name="_lu_factor", where=("aten",), node="linalg_lu_factor_ex")
def _lu_factor(A) -> tuple[Array, Array, Array]:
    """(LU, pivots, info)."""
    lu, pivots, info = factor(A)
    return columns(lu), pivots, info


@_lu_factor.shape_rule
def _lu_factor_shape(A: Any) -> Any:
    found = column_major(A.new_empty(A.shape, device="meta"))
    small = min(A.shape[-2:])
    return (
        found,
        found.new_empty((*A.shape[:-2], small), dtype=int32),
        found.new_empty(A.shape[:-2], dtype=int32),
    )


@_lu_factor.gradient
def _lu_factor_gradient(s: Any, grad: Any, *_: Any) -> Any:
    """From the factors' gradients by Jacobi's trick: L^-1 dA U^-1 = L^-1 dL + dU U^-1 has parts below
    and above the diagonal. https://arxiv.org/abs/2009.10071 (derived there for all shapes).
    """
    lu, pivots, _info = s.result
    rows, wide = lu.shape[-2:]
    small = min(rows, wide)
    L, U = _lower(lu), _upper(lu)
    gL, gU = grad[..., :, :small].tril(-1), grad[..., :small, :].triu()
    solve = ROWS["linalg_solve_triangular"]
    L1, U1 = dagger(L[..., :small, :]), dagger(U[..., :, :small])
    low = L1 @ gL[..., :small, :] - gU[..., :, small:] @ dagger(U[..., :, small:])
    high = gU[..., :, :small] @ U1 - dagger(L[..., small:, :]) @ gL[..., small:, :]
    inner = low.tril(-1) + high.triu()
    if wide > small:
        # Columns behind the square part hang on L alone, those in it on U as well.
        left = solve(U1, inner, upper=False, left=False)
        inner = solve(L1, ROWS["cat"]([left, gU[..., :, small:]], -1), upper=True, unitriangular=True)
    else:
        top = solve(L1, inner, upper=True, unitriangular=True)
        inner = solve(U1, ROWS["cat"]([top, gL[..., small:, :]], -2), upper=False, left=False)
    return _unpermuted(pivots, inner)


def _lower(lu: Any) -> Any:
    """The unit lower triangular factor (m, k)."""
    rows, small = lu.shape[-2], min(lu.shape[-2:])
    return lu[..., :, :small].tril(-1) + ROWS["eye"](rows, small, dtype=lu.dtype, device=lu.device)


def _upper(lu: Any) -> Any:
    """The upper triangular factor (k, n)."""
    return lu[..., : min(lu.shape[-2:]), :].triu()


@opaque(name="_pivot_order", where=("aten",))
def _pivot_order(pivots, rows: int, inverse: bool) -> Array:
    """The permutation's indices, or its inverse's."""
    order = order_of(pivots, rows)
    return np.argsort(order, -1) if inverse else order


def _permuted(pivots: Any, b: Any, inverse: bool = False) -> Any:
    """P^T b: the rows of b in the pivots' order (P b with inverse)."""
    order = _pivot_order(pivots, b.shape[-2], inverse)
    return b.take_along_dim(order.unsqueeze(-1), -2)


def _unpermuted(pivots: Any, b: Any) -> Any:
    return _permuted(pivots, b, True)


def _factored(A: Any, pivot: bool, op: str = "torch.lu_factor") -> Any:
    if A.ndim < 2:
        raise RuntimeError(
            f"{op}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead"
        )
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return _lu_factor(A)


_ZERO = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


@reporting(
    _ZERO, "(LU, pivots, info); info counts the first zero on U's diagonal instead of raising.", RuntimeError
)
def lu_factor(A, *, pivot: bool = True):
    """(LU, pivots): L below and U on and above the diagonal of one matrix, and the rows' swaps."""
    return _factored(A, pivot)


@composite(where=("torch", "Tensor"), out=True)
def lu(A, pivot: bool = True, get_infos: bool = False):
    """(LU, pivots), and infos with get_infos: linalg.lu_factor_ex in its older spelling."""
    deprecated("lu")
    found = _factored(A, pivot)
    return named("_lu_with_info")(*found) if get_infos else tuple(found[:2])


@composite(where=("linalg.lu",), name="linalg_lu", out=True)
def linalg_lu(A, *, pivot: bool = True):
    """(P, L, U) with A = P L U, of (*, m, n): a permutation, a unit lower and an upper triangular matrix.

    pivot=False: no rows are swapped, P is empty; RuntimeError on the CPU, as in PyTorch.
    """
    packed, pivots, _info = _factored(A, pivot, "linalg.lu")
    return named("linalg_lu")(*lu_unpack(packed, pivots))


@composite(out=True, where=("torch",))
def lu_unpack(LU_data, LU_pivots, unpack_data: bool = True, unpack_pivots: bool = True):
    """(P, L, U) of what lu_factor packs; parts that are not asked for come empty."""
    if LU_data.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(LU_data.shape)} instead"
        )
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            f"dtype. Note: this function is intended to be used with the output produced by "
            f"torch.linalg.lu_factor; got {LU_pivots.dtype}"
        )
    nothing = LU_data.new_empty(0)
    L, U = (_lower(LU_data), _upper(LU_data)) if unpack_data else (nothing, nothing.clone())
    P = _permutation(LU_data.detach(), LU_pivots) if unpack_pivots else nothing.clone()
    return named("lu_unpack")(P, L, U)


@opaque(name="_permutation", quiet=True, where=("aten",))
def _permutation(A, pivots) -> Array:
    """P with A = P L U."""
    rows = A.shape[-2]
    if pivots.size and (pivots.min() < 1 or pivots.max() > rows):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )
    order = order_of(pivots, rows)
    return np.asarray(order[..., None, :] == np.arange(rows)[:, None], A.dtype)


_permutation.shape_rule(lambda A, pivots: A.new_empty((*pivots.shape[:-1], A.shape[-2], A.shape[-2])))


@composite(where=("linalg.lu_solve",), name="linalg_lu_solve", out=True, planned=True)
def linalg_lu_solve(LU, pivots, B, *, left: bool = True, adjoint: bool = False):
    """X with A X = B (X A = B, left=False; A^H, adjoint=True), from A's LU decomposition."""
    op = "linalg.lu_solve"
    check_matrix(op, B._geometry, "B")
    check_same(op, LU._geometry, B._geometry, "LU")
    if pivots.dtype is not int32:
        raise RuntimeError(f"{op}: pivots should be a Tensor of scalar type torch.int32")
    check_square("torch.linalg.lu_solve", LU._geometry)
    check_equation(op, LU._geometry, B._geometry, left)
    if pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError(f"{op}: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape[:-1] != LU.shape[:-2]:
        raise RuntimeError(
            f"{op}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots "
            f"with shape {list(pivots.shape)} instead"
        )
    # X A = B is A^H X^H = B^H.
    turned = adjoint is left
    x = _solved_packed(LU, pivots, B if left else dagger(B), turned)
    return x if left else dagger(x)


def _solved_packed(packed: Any, pivots: Any, b: Any, turned: bool) -> Any:
    """X with P L U X = B, or with (P L U)^H X = B."""
    solve = ROWS["linalg_solve_triangular"]
    batch = batch_of(packed, b)
    b = b.expand(*batch, *b.shape[-2:])
    pivots = pivots.expand(*batch, pivots.shape[-1])
    if not turned:
        b = solve(packed, _permuted(pivots, b), upper=False, unitriangular=True)
        return solve(packed, b, upper=True)
    b = solve(dagger(packed), b, upper=False)
    return column_major(_unpermuted(pivots, solve(dagger(packed), b, upper=True, unitriangular=True)))


# --- determinants ----------------------------------------------------------------------------------


@opaque(name="_det", where=("aten",), node="linalg_det")
def _det(A) -> Array:
    """The product of U's diagonal, with the sign of the swaps."""
    packed, pivots, _info = factor(A)
    swaps = (pivots != np.arange(1, A.shape[-1] + 1)).sum(-1)
    found = packed.diagonal(0, -2, -1).prod(-1)
    return np.asarray(np.where(swaps % 2, -found, found), A.dtype)


_det.shape_rule(lambda A: A.new_empty(A.shape[:-2], device="meta"))


@_det.gradient
def _det_gradient(s: Any, grad: Any) -> Any:
    """Jacobi's formula: grad det(A)* A^-H; the adjugate's singular vectors where A has no inverse
    (https://nhigham.com/2020/06/16/what-is-the-adjugate-of-a-matrix/).
    """
    A, det = s.A, s.result
    decides("det's gradient")
    if not (det._array == 0).any():
        return ROWS["_inverse"](dagger(A))[0] * (grad * det.conj())[..., None, None]
    U, S, Vh = ROWS["_svd"](A, False)
    others = S.unsqueeze(-2).expand(*S.shape, S.shape[-1])
    own = ROWS["eye"](S.shape[-1], device=S.device).bool()
    scale = others.masked_fill(own, 1).prod(-1) * ((_det(U) * _det(Vh)).conj() * grad).unsqueeze(-1)
    return (U * scale.unsqueeze(-2)) @ Vh


@composite(where=("linalg.det",), name="linalg_det", out=True, planned=True)
def linalg_det(A):
    """The determinants (*) of square matrices (*, n, n)."""
    check_square("linalg.det", A._geometry)
    return _det(A)


@opaque(name="_slogdet", where=("aten",), node="linalg_slogdet")
def _slogdet(A) -> tuple[Array, Array]:
    """(sign, log |det|)."""
    sign, size = np.linalg.slogdet(A)
    return np.asarray(sign), np.asarray(size)


@_slogdet.gradient
def _slogdet_gradient(s: Any, grad_sign: Any, grad_size: Any) -> Any:
    """d log|det| = Re tr(A^-1 dA), d sign = i sign Im tr(A^-1 dA)."""
    A, sign = s.A, s.result[0]
    scale = grad_size
    if grad_sign is not None and A.is_complex():
        turn = ROWS["complex"](ROWS["zeros_like"](s.result[1]), -(grad_sign.conj() * sign).imag)
        scale = turn if scale is None else scale + turn
    if scale is None:
        return None
    return ROWS["_inverse"](dagger(A))[0] * scale[..., None, None]


def _logarithm(op: str, A: Any) -> tuple[Any, Any]:
    check_square(op, A._geometry)
    found: tuple[Any, Any] = _slogdet(A)
    return found


@composite(where=("linalg.slogdet",), name="linalg_slogdet", out=True)
def linalg_slogdet(A):
    """(sign, logabsdet), each (*), with det(A) = sign * exp(logabsdet); sign has modulus 1, or is 0 (with
    -inf).
    """
    return named("linalg_slogdet")(*_logarithm("linalg.slogdet", A))


@composite(out=True)
def slogdet(input):
    """linalg.slogdet in its older spelling."""
    return named("slogdet")(*_logarithm("linalg.slogdet", input))


@composite
def logdet(input):
    """log det(A) (*) of square matrices (*, n, n); -inf of a singular one, nan for a negative determinant."""
    sign, size = _logarithm("logdet", input)
    return sign.log() + size if input.is_complex() else ROWS["where"](sign == -1, float("nan"), size)
