"""Linear equations: triangular and general ones, inverses, equations between tensors, Cholesky's factors."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import int32
from rushlight._engine.core.results import named
from rushlight._engine.core.services import service
from rushlight._engine.names.deprecations import deprecated
from rushlight._engine.ops.linalg.lu import factor, order_of
from rushlight._engine.ops.linalg.matmul import product
from rushlight._engine.ops.linalg.matrix_checks import (
    SINGULAR,
    batch_of,
    blame,
    check_equation,
    check_matrix,
    check_same,
    check_square,
    column_major,
    columns,
    dagger,
    infos,
    reporting,
)
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

# Rows that machine code solves at once, and up to which it inverts matrices.
_SMALL, _TINY = 64, 8

# --- triangular equations -------------------------------------------------------------------------


def solve_upper(a: Array, b: Array) -> Array:
    """X with A X = B for upper triangular A; a zero on the diagonal gives inf and nan, as in LAPACK."""
    try:
        # Gaussian elimination finds nothing to do, and substitutes back.
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        x = np.array(np.broadcast_to(b, (*batch_of(a, b), *b.shape[-2:])))
        for i in range(a.shape[-1] - 1, -1, -1):
            x[..., i, :] /= a[..., i, i, None]
            x[..., :i, :] -= a[..., :i, i, None] * x[..., i, None, :]
        return x


def substituted(a: Array, x: Array, upper: bool, unit: bool) -> bool:
    """Replace x by what triangles make of it, some rows at a time, which a product then takes off the others;
    whether there is machine code for that.
    """
    starts = range(0, x.shape[1], _SMALL)
    for start in starts[::-1] if upper else starts:
        own = slice(start, start + _SMALL)
        others = slice(0, start) if upper else slice(start + _SMALL, None)
        if not service("substitution")(a[:, own, own], x[:, own], upper, unit):
            return False
        if x[:, others].size:
            x[:, others] -= product(a[:, others, own], x[:, own])
    return True


@opaque(name="_solve_triangular", where=("aten",), node="linalg_solve_triangular")
def _solve_triangular(A, B, upper: bool, unit: bool) -> Array:
    """X with A X = B, where only one triangle of A is read (and its diagonal counts as ones if unit)."""
    n, wide = B.shape[-2:]
    if n and A.dtype == B.dtype:
        batch = A.shape[:-2]
        if batch != B.shape[:-2]:
            batch = batch_of(A, B)
            A, B = (np.broadcast_to(o, (*batch, *o.shape[-2:])) for o in (A, B))
        count = prod(batch)
        x, a = B.copy("C").reshape(count, n, wide), np.ascontiguousarray(A).reshape(count, n, n)
        if substituted(a, x, upper, unit):
            return columns(x.reshape(*batch, n, wide))
    if not upper:
        # Rows and columns turned round, a lower triangle is an upper one.
        return columns(_solve_triangular.body(A[..., ::-1, ::-1], B[..., ::-1, :], True, unit)[..., ::-1, :])
    A = np.triu(A, 1 if unit else 0)
    if unit:
        A[..., range(A.shape[-1]), range(A.shape[-1])] = 1
    return columns(solve_upper(A, B))


@_solve_triangular.gradient
def _solve_triangular_gradient(s: Any, grad: Any) -> Any:
    back = _solve_triangular(dagger(s.A), grad, not s.upper, s.unit)
    to_a = None
    if s.needs("A"):
        full = -(back @ dagger(s.result)).sum_to_size(s.shape("A"))
        to_a = full.triu(int(s.unit)) if s.upper else full.tril(-int(s.unit))
    return to_a, back.sum_to_size(s.shape("B"))


@composite(where=("linalg.solve_triangular",), name="linalg_solve_triangular", out=True, planned=True)
def linalg_solve_triangular(A, B, *, upper: bool, left: bool = True, unitriangular: bool = False):
    """X with A X = B (X A = B, left=False) for a triangular A, of which the other triangle is not read.

    B is converted to A's dtype.
    """
    op = "linalg.solve_triangular"
    check_matrix(op, A._geometry)
    check_matrix(op, B._geometry, "B")
    check_square(op, A._geometry)
    check_equation(op, A._geometry, B._geometry, left)
    B = B if B.dtype is A.dtype else B.to(A.dtype)
    if left:
        return _solve_triangular(A, B, upper, unitriangular)
    return column_major(_solve_triangular(A.mT, B.mT, not upper, unitriangular).mT)


@composite(out=True)
def triangular_solve(input, A, upper: bool = True, transpose: bool = False, unitriangular: bool = False):
    """(solution, a copy of A): linalg.solve_triangular in its older spelling."""
    deprecated("triangular_solve")
    if input.ndim < 2 or A.ndim < 2:
        name, t = ("b", input) if input.ndim < 2 else ("A", A)
        raise RuntimeError(
            f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
            f"has {t.ndim} dimensions instead"
        )
    return named("triangular_solve")(*_solved_and_copied(input, A, upper, transpose, unitriangular))


@composite(where=("aten",), planned=True)
def _solved_and_copied(input, A, upper: bool, transpose: bool, unitriangular: bool):
    """triangular_solve."""
    check_older("triangular_solve", input, A)
    x = _solve_triangular(A.mT if transpose else A, input, upper is not transpose, unitriangular)
    return x, column_major(A.clone())


def check_older(op: str, b: Any, a: Any) -> None:
    """What PyTorch's older solvers check of A X = b, in their words."""
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b.dtype.legacy} "
            f"and A of type {a.dtype.legacy} instead."
        )
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if a.shape[-2] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {op}: each A matrix is {a.shape[-1]} by "
            f"{a.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )


# --- general equations ----------------------------------------------------------------------------


def _spared(a: Array) -> tuple[Array, Array]:
    """(matrices with the singular ones replaced by identities, infos)."""
    info = factor(a)[2]
    return np.where((info > 0)[..., None, None], np.eye(a.shape[-1], dtype=a.dtype), a), info


def _spoiled(found: Array, info: Array) -> Array:
    found[np.broadcast_to(info > 0, found.shape[:-2])] = np.nan
    return found


def _by_factors(A: Array, B: Array) -> Array | None:
    """X with A X = B by an LU decomposition in blocks.

    None for small or singular matrices, and where there is no machine code.
    """
    n, wide = B.shape[-2:]
    usual = n >= _SMALL and A.dtype == B.dtype and A.dtype.char in "fd" and A.shape[:-2] == B.shape[:-2]
    if not usual or not B.size or not service("suits the team")(A, B):
        return None
    lu, pivots, info = factor(A)
    if info.any():
        return None
    count = prod(A.shape[:-2])
    a, x = lu.reshape(count, n, n), np.take_along_axis(B, order_of(pivots, n)[..., None], -2)
    x = x.reshape(count, n, wide)
    done = substituted(a, x, False, True) and substituted(a, x, True, False)
    return x.reshape(B.shape) if done else None


@opaque(name="_solve", where=("aten",), node="linalg_solve_ex")
def _solve(A, B) -> tuple[Array, Array]:
    """(X with A X = B, info); X is nan where A is singular."""
    if (found := _by_factors(A, B)) is not None:
        return columns(found), infos(A)
    try:
        return columns(np.linalg.solve(A, B)), infos(A)
    except np.linalg.LinAlgError:
        spared, info = _spared(A)
        return columns(_spoiled(np.linalg.solve(spared, B), info)), info


_solve.shape_rule(
    lambda A, B: (column_major(B.new_empty((*batch_of(A, B), *B.shape[-2:]), device="meta")), _info_like(A))
)


def _info_like(A: Any) -> Any:
    return A.new_empty(A.shape[:-2], dtype=int32, device="meta")


@_solve.gradient
def _solve_gradient(s: Any, grad: Any, *_: Any) -> Any:
    back = _solve(dagger(s.A), grad)[0]
    return (
        -(back @ dagger(s.result[0])).sum_to_size(s.shape("A")) if s.needs("A") else None,
        back.sum_to_size(s.shape("B")),
    )


_UNSOLVED = "The solver failed because the input matrix is singular."


@reporting(_UNSOLVED, "(X, info): linalg.solve that reports singular matrices in info instead of raising.")
def solve(A, B, *, left: bool = True):
    """X with A X = B (X A = B, left=False): A (*, n, n), B (*, n, k), or (n,) or (*, n) as vectors; batch
    dims broadcast.

    LinAlgError if a matrix is singular; RuntimeError unless A is square, floating or complex, and of B's
    dtype.
    """
    op = "linalg.solve"
    check_square(op, A._geometry)
    check_same(op, A._geometry, B._geometry)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    b = B.unsqueeze(-1) if vector else B
    if vector and not left:
        raise RuntimeError(
            f"{op}: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    check_equation(op, A._geometry, b._geometry, left)
    found, info = _solve(A, b) if left else _solve(A.mT, b.mT)
    if vector:
        found = found.squeeze(-1)
        return column_major(found) if found.ndim > 1 else found, info
    return (found if left else found.mT), info


# --- inverses -------------------------------------------------------------------------------------


@opaque(name="_inverse", where=("aten",), node="linalg_inv_ex")
def _inverse(A) -> tuple[Array, Array]:
    """(A^-1, info); nan where A is singular."""
    if 0 < A.shape[-1] <= _TINY and (found := _by_elimination(A)) is not None:
        return columns(found), infos(A)
    if A.shape[-1] >= _SMALL:
        one = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape)
        if (found := _by_factors(A, one)) is not None:
            return columns(found), infos(A)
    try:
        return columns(np.linalg.inv(A)), infos(A)
    except np.linalg.LinAlgError:
        spared, info = _spared(A)
        return columns(_spoiled(np.linalg.inv(spared), info)), info


def _by_elimination(A: Array) -> Array | None:
    """The inverses of small matrices, none of which is singular; None where there is no machine code."""
    n, count = A.shape[-1], prod(A.shape[:-2])
    both = np.zeros((count, n, 2 * n), A.dtype)
    both[:, :, :n] = A.reshape(count, n, n)
    both[:, range(n), range(n, 2 * n)] = 1
    pivots, info = np.empty((count, n), np.int32), np.zeros(count, np.int32)
    done = service("elimination")(both, pivots, info) and not info.any()
    done = done and service("substitution")(both[:, :, :n], both[:, :, n:], True, False)
    return np.ascontiguousarray(both[:, :, n:]).reshape(A.shape) if done else None


_inverse.shape_rule(lambda A: (column_major(A.new_empty(A.shape, device="meta")), _info_like(A)))


@_inverse.gradient
def _inverse_gradient(s: Any, grad: Any, *_: Any) -> Any:
    turned = dagger(s.result[0])
    return -(turned @ (grad @ turned))


@reporting(
    SINGULAR,
    "(inverse, info): linalg.inv that reports singular matrices in info instead of raising.",
    spaces=("linalg.", "linalg."),
)
def inv(A):
    """The inverses of square matrices (*, n, n); LinAlgError if one is singular. Prefer solve(A, B) to inv(A)
    @ B.
    """
    check_square("linalg.inv", A._geometry)
    return _inverse(A)


# --- equations between tensors --------------------------------------------------------------------


@composite(where=("linalg.tensorinv",), name="linalg_tensorinv", out=True)
def linalg_tensorinv(input, ind: int = 2):
    """The inverse for tensordot(input, other, ind): the first `ind` dims against the others."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, wide = input.shape[:ind], input.shape[ind:]
    if prod(rows) != prod(wide):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {prod(wide)} != {prod(rows)}"
        )
    found, info = ROWS["linalg_inv_ex"](input.reshape(prod(rows), prod(wide)))
    blame("inv", info, SINGULAR)
    return found.reshape((*wide, *rows))


@composite(where=("linalg.tensorsolve",), name="linalg_tensorsolve", out=True)
def linalg_tensorsolve(input, other, dims: Ints | None = None):
    """X with tensordot(input, X, X.ndim) = other; `dims` of input are moved to its end first."""
    if dims is not None:
        dims = (dims,) if isinstance(dims, int) else dims
        input = input.movedim(tuple(dims), tuple(range(input.ndim - len(dims), input.ndim)))
    rows, wide = prod(input.shape[: other.ndim]), input.shape[other.ndim :]
    if prod(wide) != rows:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {prod(wide)} != {rows}"
        )
    return solve(input.reshape(rows, prod(wide)), other.flatten()).reshape(wide)


# --- Cholesky decompositions of positive-definite matrices, and solving with them -----------------

_INDEFINITE = (
    "The factorization could not be completed because the input is not positive-definite (the "
    "leading minor of order {} is not positive-definite)."
)


@opaque(name="_cholesky", where=("aten",), node="linalg_cholesky_ex")
def _cholesky(A, upper: bool) -> tuple[Array, Array]:
    """(L with A = L L^H, info), or U = L^H from A's upper triangle."""
    if (u := _small_factor(A, upper)) is not None:
        return (columns(u) if upper else u.swapaxes(-1, -2)), infos(A)
    lower = A.swapaxes(-1, -2) if upper else A  # conj(A) = U^T conj(U), so its L is U^T
    try:
        found, info = np.linalg.cholesky(lower), infos(A)
        fine = not np.isnan(np.diagonal(found, 0, -2, -1)).any()
    except np.linalg.LinAlgError:
        fine = False
    if not fine:
        found, info = _by_columns(lower)
    return columns(found.swapaxes(-1, -2) if upper else found), info


def _small_factor(A: Array, upper: bool) -> Array | None:
    """U with A = U^T U of small matrices; None for others, where one is not positive-definite, and where
    there is no machine code.
    """
    n = A.shape[-1]
    if not 0 < n <= _SMALL or A.dtype.char not in "fd":
        return None
    u = np.array(A if upper else A.swapaxes(-1, -2), order="C")
    done = service("roots of matrices")(u.reshape(prod(A.shape[:-2]), n, n))
    return np.where(_above(n), u, 0) if done else None


@lru_cache(maxsize=64)
def _above(n: int) -> Array:
    """Which elements of n x n matrices are on the diagonal or above it."""
    return np.tri(n, dtype=bool).T


def _by_columns(a: Array) -> tuple[Array, Array]:
    """Where a matrix of the batch is not positive-definite: a column at a time, up to that place."""
    lower, info = np.tril(a), infos(a)
    for j in range(a.shape[-1]):
        pivot = lower[..., j, j].real
        info = np.where((info == 0) & ~(pivot > 0), np.int32(j + 1), info)
        alive = (info == 0)[..., None]
        root = np.sqrt(np.where(info == 0, pivot, 1))[..., None]
        column = lower[..., j:, j] = np.where(alive, lower[..., j:, j] / root, lower[..., j:, j])
        below = np.where(alive, column[..., 1:], 0)
        lower[..., j + 1 :, j + 1 :] -= np.tril(below[..., :, None] * below[..., None, :].conj())
    return lower, np.asarray(info, np.int32)


_cholesky.shape_rule(lambda A, upper: (column_major(A.new_empty(A.shape, device="meta")), _info_like(A)))


@_cholesky.gradient
def _cholesky_gradient(s: Any, grad: Any, *_: Any) -> Any:
    """Murray, "Differentiation of the Cholesky decomposition" (arXiv:1602.07527), eq. 8."""
    found = s.result[0]
    L, grad = (dagger(found), dagger(grad)) if s.upper else (found, grad)
    inner = (dagger(L) @ grad).tril()
    inner = inner + dagger(inner.tril(-1))
    solve = ROWS["linalg_solve_triangular"]
    return 0.5 * solve(L, solve(dagger(L), inner, upper=True), upper=False, left=False)


@reporting(
    _INDEFINITE,
    "(L, info): linalg.cholesky that reports the first bad leading minor instead of raising.",
    spaces=("linalg.", "torch.linalg."),
)
def cholesky_(input, *, upper: bool = False):
    """L, lower triangular, with input = L L^H (U with U^H U, upper=True): (*, n, n).

    One triangle of the input is read; LinAlgError unless every matrix is positive-definite.
    """
    check_square("linalg.cholesky", input._geometry)
    return _cholesky(input, upper)


@composite(out=True)
def cholesky(input, upper: bool = False):
    """linalg.cholesky in its older spelling."""
    deprecated("cholesky")
    if not input.numel():
        return ROWS["clone"](input)
    check_square("cholesky", input._geometry)
    found, info = _cholesky(input, upper)
    blame("cholesky", info, _INDEFINITE)
    return found


@composite(out=True, planned=True)
def cholesky_solve(input, input2, upper: bool = False):
    """X with A X = input, from A's Cholesky factor input2 (L, or U with upper=True)."""
    for name, t in (("b", input), ("u", input2)):
        if t.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions instead"
            )
    check_older("cholesky_solve", input, input2)
    solve = ROWS["linalg_solve_triangular"]
    lower = dagger(input2) if upper else input2
    return solve(dagger(lower), solve(lower, input, upper=False), upper=True)


@cholesky_solve.gradient
def cholesky_solve_gradient(s: Any, grad: Any) -> Any:
    back = cholesky_solve(grad, s.input2, s.upper)
    return (
        back.sum_to_size(s.shape("input")) if s.needs("input") else None,
        _to_factor(s.input2, back @ dagger(s.result), s.upper) if s.needs("input2") else None,
    )


def _to_factor(factor: Any, share: Any, upper: bool) -> Any:
    """A factor's gradient in the whole of it, as PyTorch's, though a triangle alone is read."""
    both = share + dagger(share)
    return -(factor @ both if upper else both @ factor).sum_to_size(factor.shape)


@composite(out=True)
def cholesky_inverse(input, upper: bool = False):
    """A^-1, from A's Cholesky factor (L, or U with upper=True)."""
    check_square("cholesky_inverse", input._geometry)
    zeros = np.diagonal(input._array, 0, -2, -1) == 0
    if input.numel() and not input._kind.on_meta:
        blame("cholesky_inverse", np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0), SINGULAR)
    unit = ROWS["eye"](input.shape[-1], dtype=input.dtype, device=input.device)
    return cholesky_solve(unit.expand(input.shape), input, upper)


cholesky_inverse.gradient(lambda s, grad: _to_factor(s.input, s.result @ grad @ s.result, s.upper))
