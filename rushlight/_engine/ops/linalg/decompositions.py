"""Matrix decompositions: QR, Householder's reflections, LDL; and the exponential."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import complex128, float64
from rushlight._engine.core.recording import decides
from rushlight._engine.core.results import named
from rushlight._engine.names.deprecations import deprecated
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.linalg.matrix_checks import (
    batch_of,
    check_matrix,
    check_square,
    column_major,
    columns,
    dagger,
    diagonal_of,
    reporting,
    size_of,
)
from rushlight._engine.ops.linalg.reflections import factors
from rushlight._engine.ops.linalg.solving import check_older
from rushlight._engine.ops.table import ROWS, Array, Row, composite, opaque


@opaque(name="_qr", where=("aten",), node="linalg_qr")
def _qr(input, mode: str) -> tuple[Array, Array]:
    """Q with orthonormal columns and R upper triangular, input = Q R (LAPACK's Householder QR)."""
    check_matrix("linalg.qr", input)
    q, r = factors(input, mode == "complete")
    return columns(q), columns(r)


@_qr.gradient
def _qr_gradient(s: Any, grad_q: Any, grad_r: Any) -> Any:
    q, r = s.result
    rows, columns = s.shape("input")[-2:]
    if s.mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced') instead."
        )
    if s.mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    if rows >= columns:
        return _tall_gradient(q, r, grad_q, grad_r)
    # A wide input is [X, Y] with X = Q U, r = [U, V] and Y = Q V: Q takes part in both.
    left, right = r[..., :rows], r[..., rows:]
    if grad_r is None:
        return ROWS["cat"]([_tall_gradient(q, left, grad_q, None), ROWS["zeros_like"](q @ right)], -1)
    through = q @ right @ grad_r[..., rows:].mT.conj()
    grad_q = through if grad_q is None else grad_q + through
    return ROWS["cat"]([_tall_gradient(q, left, grad_q, grad_r[..., :rows]), q @ grad_r[..., rows:]], -1)


def _tall_gradient(q: Any, r: Any, grad_q: Any, grad_r: Any) -> Any:
    """Walter and Lehmann (arXiv:1009.6112), for input with at least as many rows as columns."""
    inner: Any = r @ grad_r.mT.conj() if grad_r is not None else None
    if grad_q is not None:
        part = grad_q.mT.conj() @ q
        inner = -part if inner is None else inner - part
    # R's diagonal is real.
    symmetric = inner.tril(-1) + inner.tril(-1).mT.conj() + diagonal_of(inner).real.diag_embed()
    total = q @ symmetric
    if grad_q is not None:
        total = total + grad_q
    return ROWS["_solve_triangular"](r, total.mT.conj(), True, False).mT.conj()


@composite(where=("linalg.qr",), name="linalg_qr", out=True, planned=True)
def linalg_qr(A, mode: str = "reduced"):
    """(Q, R) with A = Q R, of (*, m, n): Q has orthonormal columns, R is upper triangular.

    mode: "reduced" (Q (m, k), R (k, n), k = min(m, n)), "complete" (Q (m, m), R (m, n)), or "r", with an
    empty Q.
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    q, r = _qr(A, mode)
    if mode == "r":
        q = A.new_empty(0)
    return named("linalg_qr")(q, r)


@composite(out=True)
def qr(input, some: bool = True):
    """linalg.qr in its older spelling."""
    deprecated("qr")
    q, r = _qr(input, "reduced" if some else "complete")
    return named("qr")(q, r)


_TAYLOR = 18


@composite(aliases=("linalg.matrix_exp",))
def matrix_exp(input):
    """The matrix exponential of (*, n, n): Taylor's series of a scaled matrix, then repeated squaring."""
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_exp: The input tensor A must have at least 2 dimensions.")
    high, wide = input.shape[-2:]
    if high != wide:
        raise RuntimeError(
            f"linalg.matrix_exp: A must be batches of square matrices, but they are {high} by {wide} matrices"
        )
    if not input.numel():
        return input.clone()
    decides("matrix_exp")
    size = float(np.abs(input._array).sum(-1).max())
    squarings = max(0, int(np.ceil(np.log2(max(size, 1e-30)))) + 1)
    # In double precision: each squaring doubles the error so far.
    x = input.to(complex128 if input.is_complex() else float64) * 0.5**squarings
    total = term = ROWS["eye"](input.shape[-1], dtype=x.dtype).expand(input.shape)
    for k in range(1, _TAYLOR + 1):
        term = term @ x * (1.0 / k)
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return total.to(input.dtype)


@composite(where=("linalg.householder_product",), aliases=("torch.orgqr", "Tensor.orgqr"), out=True)
def householder_product(input, tau):
    """The first columns of the product of the reflections that (input, tau) hold, as geqrf gives them."""
    op = "torch.linalg.householder_product"
    _check_reflections(op, input, tau)
    rows, wide = input.shape[-2:]
    if rows < wide:
        raise RuntimeError(f"{op}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if wide < tau.shape[-1]:
        raise RuntimeError(f"{op}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    first = ROWS["eye"](rows, wide, dtype=input.dtype, device=input.device).expand(input.shape)
    return column_major(_reflected(input, tau, first, False) if tau.shape[-1] else first + 0 * input)


def _reflected(input: Any, tau: Any, found: Any, turned: bool) -> Any:
    """Q @ found (Q^H, turned), for the Q that the reflections make: column k of input holds one."""
    count = tau.shape[-1]
    unit = ROWS["eye"](*input.shape[-2:], dtype=input.dtype, device=input.device)
    vectors = input.tril(-1) + unit
    for k in range(count) if turned else range(count - 1, -1, -1):
        v, scale = vectors[..., k : k + 1], tau[..., k : k + 1].unsqueeze(-1)
        found = found - (scale.conj() if turned else scale) * v @ (dagger(v) @ found)
    return found


def _check_reflections(op: str, input: Any, tau: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{op}: input must have at least 2 dimensions.")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{op}: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {tau.ndim} and input.ndim is equal to {input.ndim}"
        )
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{op}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}"
        )
    if tau.dtype is not input.dtype:
        raise RuntimeError(
            f"{op}: tau dtype {tau.dtype.legacy} does not match input dtype {input.dtype.legacy}"
        )


@composite(out=True)
def ormqr(input, tau, other, left: bool = True, transpose: bool = False):
    """Q @ other (Q^H @ other with transpose; from the right without left), for geqrf's reflections."""
    op = "torch.ormqr"
    if input.ndim >= 2 and other.ndim < 2:
        raise RuntimeError(f"{op}: other must have at least 2 dimensions.")
    if input.ndim >= 2:
        _check_operand(op, input, tau, other, -2 if left else -1)
    _check_reflections(op, input, tau)
    if other.dtype is not input.dtype:
        raise RuntimeError(
            f"{op}: Expected input and other to have the same dtype, but input has dtype"
            f"{input.dtype.legacy} and other has dtype {other.dtype.legacy}"
        )
    if input.dtype.itemsize <= 2 or input.dtype.category < 2:
        raise NotImplementedError(f"\"ormqr_cpu\" not implemented for '{input.dtype.legacy}'")
    if left:
        return column_major(_reflected(input, tau, other, transpose))
    return dagger(_reflected(input, tau, dagger(other), not transpose))


def _check_operand(op: str, input: Any, tau: Any, other: Any, dim: int) -> None:
    if other.shape[dim] != input.shape[-2]:
        raise RuntimeError(f"{op}: other.shape[{dim}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[dim], input.shape[-1]):
        raise RuntimeError(f"{op}: tau.shape[-1] must be equal to min(other.shape[{dim}], input.shape[-1])")


@opaque(out=True)
def geqrf(input) -> tuple[Array, Array]:
    """(a, tau): R above and the reflections below the diagonal, as LAPACK stores a QR decomposition."""
    check_matrix("torch.geqrf", input)
    a, tau = np.linalg.qr(input, mode="raw")
    found: tuple[Array, Array] = named("geqrf")(columns(a.swapaxes(-1, -2)), tau)
    return found


def _underived(row: Row, what: str, instead: str) -> None:
    def rule(s: Any, *grads: Any) -> Any:
        raise RuntimeError(f"{what} is not implemented; for a gradient, use torch.linalg.{instead}")

    row.gradient(rule)


_underived(geqrf, "the derivative for 'geqrf'", "qr")


# --- LDL, of symmetric and Hermitian matrices ----------------------------------------------------

# Bunch and Kaufman's pivoting as LAPACK's sytrf and hetrf do it: D has blocks of one or two columns, chosen
# by the data, so that the matrices of a batch take their own ways, one after the other.

_ALPHA = (1 + sqrt(17)) / 8


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """(the row to bring up, one or two columns), for what is left of the matrix from column k on."""
    own, below = float(size_of(a[k, k])), size_of(a[k + 1 :, k])
    most = float(below.max(initial=0))
    if own >= _ALPHA * most:
        return k, 1
    row = k + 1 + int(below.argmax())
    others = np.concatenate([a[row, k:row], a[row + 1 :, row]])
    width = float(size_of(others).max())
    if own >= _ALPHA * most * (most / width):
        return k, 1
    return (row, 1) if float(size_of(a[row, row])) >= _ALPHA * width else (row, 2)


def _swap(a: Array, k: int, kk: int, p: int, hermitian: bool) -> None:
    """Rows and columns kk and p of the lower triangle, in column k's step."""
    a[p + 1 :, [kk, p]] = a[p + 1 :, [p, kk]]
    column, row = a[kk + 1 : p, kk].copy(), a[p, kk + 1 : p].copy()
    a[kk + 1 : p, kk], a[p, kk + 1 : p] = (row.conj(), column.conj()) if hermitian else (row, column)
    if hermitian:
        a[p, kk] = a[p, kk].conj()
    a[kk, kk], a[p, p] = a[p, p], a[kk, kk]
    if kk > k:
        a[kk, k], a[p, k] = a[p, k], a[kk, k]


def _turn(x: Array, hermitian: bool) -> Array:
    return x.conj() if hermitian else x


def _eliminate(a: Array, k: int, step: int, hermitian: bool) -> None:
    """Take the block at column k out of what is left: its columns become L's."""
    rest = a[k + step :, k : k + step]
    block = a[k : k + step, k : k + step].copy()
    if step == 2:
        block[0, 1] = _turn(block[1, 0], hermitian)
    inverse = np.linalg.inv(block) if step == 2 else 1 / block
    scaled = rest @ inverse
    a[k + step :, k + step :] -= np.tril(scaled @ _turn(rest, hermitian).T)
    a[k + step :, k : k + step] = scaled


def _factor(a: Array, pivots: Array, hermitian: bool) -> int:
    """One matrix in place; the info."""
    n, k, info = len(a), 0, 0
    if hermitian:
        a[range(n), range(n)] = a.diagonal().real
    while k < n:
        if not size_of(a[k:, k]).any() or np.isnan(a[k, k]):
            info, p, step = info or k + 1, k, 1
        else:
            p, step = _pivot(a, k)
            if p != k + step - 1:
                _swap(a, k, k + step - 1, p, hermitian)
            if k + step < n:
                _eliminate(a, k, step, hermitian)
                if hermitian:
                    a[range(k + step, n), range(k + step, n)] = a.diagonal()[k + step :].real
        pivots[k : k + step] = p + 1 if step == 1 else -(p + 1)
        k += step
    return info


@opaque(name="_ldl_factor", where=("aten",))
def _ldl_factor(A, hermitian: bool) -> tuple[Array, Array, Array]:
    """(LD, pivots, info)."""
    found = np.tril(A)
    pivots, info = np.zeros(A.shape[:-1], np.int32), np.zeros(A.shape[:-2], np.int32)
    for i in np.ndindex(A.shape[:-2]):
        info[i] = _factor(found[i], pivots[i], hermitian and A.dtype.kind == "c")
    return columns(found), pivots, info


_underived(_ldl_factor, "derivative for aten::linalg_ldl_factor_ex", "solve on the matrix itself")


_ZERO = "D[{0},{0}] is zero, and using it on ldl_solve would result in a division by zero."


@reporting(
    _ZERO,
    "(LD, pivots, info): linalg.ldl_factor that reports a singular D in info instead of raising.",
    RuntimeError,
)
def ldl_factor(input, *, hermitian: bool = False):
    """(LD, pivots) as LAPACK packs them; input is symmetric (Hermitian), and its lower triangle is read."""
    check_square("torch.linalg.ldl_factor_ex", input._geometry)
    return _ldl_factor(input, hermitian)


# --- solving --------------------------------------------------------------------------------------


def _steps(pivots: Array) -> list[tuple[int, int, int]]:
    """(column, columns of its block, the row that was brought up) of each step."""
    found, k = [], 0
    while k < len(pivots):
        step = 1 if pivots[k] > 0 else 2
        found.append((k, step, abs(int(pivots[k])) - 1))
        k += step
    return found


def _solve_one(a: Array, pivots: Array, x: Array, hermitian: bool) -> None:
    """x becomes A^-1 x, by the steps of the decomposition and back."""
    steps = _steps(pivots)
    for k, step, p in steps:
        x[[k + step - 1, p]] = x[[p, k + step - 1]]
        x[k + step :] -= a[k + step :, k : k + step] @ x[k : k + step]
        block = a[k : k + step, k : k + step].copy()
        if step == 2:
            block[0, 1] = _turn(block[1, 0], hermitian)
        x[k : k + step] = np.linalg.solve(block, x[k : k + step]) if step == 2 else x[k : k + 1] / block
    for k, step, p in reversed(steps):
        x[k : k + step] -= _turn(a[k + step :, k : k + step], hermitian).T @ x[k + step :]
        x[[k + step - 1, p]] = x[[p, k + step - 1]]


@opaque(name="_ldl_solve", where=("aten",))
def _ldl_solve(LD, pivots, B, hermitian: bool) -> Array:
    """X with A X = B."""
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    x = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    packed = np.broadcast_to(LD, (*batch, *LD.shape[-2:]))
    swaps = np.broadcast_to(pivots, (*batch, LD.shape[-1]))
    for i in np.ndindex(batch):
        _solve_one(packed[i], swaps[i], x[i], hermitian and LD.dtype.kind == "c")
    return columns(x)


_ldl_solve.shape_rule(
    lambda LD, pivots, B, hermitian: column_major(B.new_empty((*batch_of(LD, B), *B.shape[-2:])))
)
_underived(_ldl_solve, "derivative for aten::linalg_ldl_solve", "solve on the matrix itself")


@composite(where=("linalg.ldl_solve",), name="linalg_ldl_solve", out=True)
def linalg_ldl_solve(LD, pivots, B, *, hermitian: bool = False):
    """X with A X = B, from A's LDL decomposition."""
    op = "torch.linalg.ldl_solve"
    check_square(op, LD._geometry)
    if B.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    check_older(op, B, LD)
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"{op}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots "
            f"with shape {list(pivots.shape)} instead"
        )
    if pivots._geometry.dtype.kind not in "iu":
        raise RuntimeError(f"{op}: Expected pivots to be integers. Got {legacy(pivots._geometry)}")
    return _ldl_solve(LD, pivots, B, hermitian)
