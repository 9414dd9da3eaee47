"""Linear equations: triangular and general ones, inverses, equations between tensors."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from rushlight.base.dtype import int32
from rushlight.base.results import named
from rushlight.ops.lufactors import factor
from rushlight.ops.matrices import (SINGULAR, Array, batch_of, blame, check_equation, check_floating,
                                    check_kernel, check_matrix, check_same, check_square, column_major,
                                    columns, dagger, infos)
from rushlight.ops.table import composite, opaque

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


@opaque(name="_solve_triangular", where=("aten",), node="linalg_solve_triangular")
def _solve_triangular(A, B, upper: "bool", unit: "bool") -> Array:
    """X with A X = B, where only one triangle of A is read (and its diagonal counts as ones if unit)."""
    if not upper:
        # Rows and columns turned round, a lower triangle is an upper one.
        return columns(_solve_triangular.body(A[..., ::-1, ::-1], B[..., ::-1, :], True, unit)[..., ::-1, :])
    A = np.triu(A, 1 if unit else 0)
    if unit:
        A[..., range(A.shape[-1]), range(A.shape[-1])] = 1
    return columns(solve_upper(A, B))


@_solve_triangular.gradient
def _(s: Any, grad: Any) -> Any:
    back = _solve_triangular(dagger(s.A), grad, not s.upper, s.unit)
    to_a = None
    if s.needs("A"):
        full = -(back @ dagger(s.result)).sum_to_size(s.shape("A"))
        to_a = full.triu(int(s.unit)) if s.upper else full.tril(-int(s.unit))
    return to_a, back.sum_to_size(s.shape("B"))


@composite(where=("linalg.solve_triangular",), name="linalg_solve_triangular", out=True)
def linalg_solve_triangular(A, B, *, upper: "bool", left: "bool" = True, unitriangular: "bool" = False):
    """X with A X = B (X A = B, left=False) for a triangular A, of which the other triangle is not read."""
    op = "linalg.solve_triangular"
    check_matrix(op, A._a)
    check_matrix(op, B._a, "B")
    check_square(op, A._a)
    check_equation(op, A._a, B._a, left)
    check_kernel("triangular_solve_cpu", A._a)
    check_same(op, A._a, B._a)
    if left:
        return _solve_triangular(A, B, upper, unitriangular)
    return _solve_triangular(A.mT, B.mT, not upper, unitriangular).mT


@composite(out=True)
def triangular_solve(input, A, upper: "bool" = True, transpose: "bool" = False,
                     unitriangular: "bool" = False):
    """(solution, a copy of A): linalg.solve_triangular in its older spelling."""
    if input.ndim < 2 or A.ndim < 2:
        name, t = ("b", input) if input.ndim < 2 else ("A", A)
        raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                           f"has {t.ndim} dimensions instead")
    check_older("triangular_solve", input, A)
    check_kernel("triangular_solve_cpu", A._a)
    x = _solve_triangular(A.mT if transpose else A, input, upper is not transpose, unitriangular)
    return named("triangular_solve")(x, column_major(A.clone()))


def check_older(op: str, b: Any, a: Any) -> None:
    """What PyTorch's older solvers check of A X = b, in their words."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {b.dtype.legacy} "
                           f"and A of type {a.dtype.legacy} instead.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {a.shape[-2]} by "
                           f"{a.shape[-1]} matrices")
    if a.shape[-2] != b.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for {op}: each A matrix is {a.shape[-1]} by "
                           f"{a.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}")


# --- general equations ----------------------------------------------------------------------------


def _spared(a: Array) -> tuple[Array, Array]:
    """(matrices with the singular ones replaced by identities, infos)."""
    info = factor(a)[2]
    return np.where((info > 0)[..., None, None], np.eye(a.shape[-1], dtype=a.dtype), a), info


def _spoiled(found: Array, info: Array) -> Array:
    found[np.broadcast_to(info > 0, found.shape[:-2])] = np.nan
    return found


@opaque(name="_solve", where=("aten",), node="linalg_solve_ex")
def _solve(A, B) -> tuple[Array, Array]:
    """(X with A X = B, info); X is nan where A is singular."""
    try:
        return columns(np.linalg.solve(A, B)), infos(A)
    except np.linalg.LinAlgError:
        spared, info = _spared(A)
        return columns(_spoiled(np.linalg.solve(spared, B), info)), info


_solve.shape_rule(lambda A, B: (B.new_empty((*batch_of(A, B), *B.shape[-2:]), device="meta"), _info_like(A)))


def _info_like(A: Any) -> Any:
    return A.new_empty(A.shape[:-2], dtype=int32, device="meta")


@_solve.gradient
def _(s: Any, grad: Any, *_: Any) -> Any:
    back = _solve(dagger(s.A), grad)[0]
    return (-(back @ dagger(s.result[0])).sum_to_size(s.shape("A")) if s.needs("A") else None,
            back.sum_to_size(s.shape("B")))


def _solution(A: Any, B: Any, left: bool) -> tuple[Any, Any]:
    op = "linalg.solve"
    check_floating(op, A._a, "lu_cpu")
    check_square(op, A._a)
    check_same(op, A._a, B._a)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    b = B.unsqueeze(-1) if vector else B
    if vector and not left:
        raise RuntimeError(f"{op}: Vector broadcasting of the left hand side is not supported for "
                           "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    check_equation(op, A._a, b._a, left)
    found, info = _solve(A, b) if left else _solve(A.mT, b.mT)
    if vector:
        found = found.squeeze(-1)
        return column_major(found) if found.ndim > 1 else found, info
    return (found if left else found.mT), info


@composite(where=("linalg.solve",), name="linalg_solve", out=True)
def linalg_solve(A, B, *, left: "bool" = True):
    """X with A X = B (X A = B, left=False) for square A; B may be a vector or a batch of them."""
    found, info = _solution(A, B, left)
    blame("torch.linalg.solve", info, _UNSOLVED)
    return found


_UNSOLVED = "The solver failed because the input matrix is singular."


@composite(where=("linalg.solve_ex",), name="linalg_solve_ex", out=True)
def linalg_solve_ex(A, B, *, left: "bool" = True, check_errors: "bool" = False):
    """(X, info): linalg.solve that reports singular matrices in info instead of raising."""
    found, info = _solution(A, B, left)
    blame("torch.linalg.solve_ex", info, _UNSOLVED, wanted=check_errors)
    return named("linalg_solve_ex")(found, info)


# --- inverses -------------------------------------------------------------------------------------


@opaque(name="_inverse", where=("aten",), node="linalg_inv_ex")
def _inverse(A) -> tuple[Array, Array]:
    """(A^-1, info); nan where A is singular."""
    try:
        return columns(np.linalg.inv(A)), infos(A)
    except np.linalg.LinAlgError:
        spared, info = _spared(A)
        return columns(_spoiled(np.linalg.inv(spared), info)), info


_inverse.shape_rule(lambda A: (A.new_empty(A.shape, device="meta"), _info_like(A)))


@_inverse.gradient
def _(s: Any, grad: Any, *_: Any) -> Any:
    turned = dagger(s.result[0])
    return -(turned @ (grad @ turned))


def _checked_inverse(A: Any) -> Any:
    check_square("linalg.inv", A._a)
    check_floating("linalg.inv", A._a)
    return _inverse(A)


@composite(where=("linalg.inv",), name="linalg_inv", out=True)
def linalg_inv(A):
    """The inverses of square matrices; LinAlgError if one is singular."""
    found, info = _checked_inverse(A)
    blame("linalg.inv", info, SINGULAR)
    return found


@composite(out=True)
def inverse(input):
    """linalg.inv in its older spelling."""
    return linalg_inv(input)


@composite(where=("linalg.inv_ex",), name="linalg_inv_ex", out=True)
def linalg_inv_ex(A, *, check_errors: "bool" = False):
    """(inverse, info): linalg.inv that reports singular matrices in info instead of raising."""
    found, info = _checked_inverse(A)
    blame("linalg.inv_ex", info, SINGULAR, wanted=check_errors)
    return named("linalg_inv_ex")(found, info)


# --- equations between tensors --------------------------------------------------------------------


@composite(where=("linalg.tensorinv",), name="linalg_tensorinv", out=True)
def linalg_tensorinv(input, ind: "int" = 2):
    """The inverse for tensordot(input, other, ind): the first `ind` dims against the others."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, wide = input.shape[:ind], input.shape[ind:]
    if prod(rows) != prod(wide):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                           f"prod(self.shape[:ind]), but got {prod(wide)} != {prod(rows)}")
    found, info = _checked_inverse(input.reshape(prod(rows), prod(wide)))
    blame("inv", info, SINGULAR)
    return found.reshape((*wide, *rows))


@composite(where=("linalg.tensorsolve",), name="linalg_tensorsolve", out=True)
def linalg_tensorsolve(input, other, dims: "Ints | None" = None):
    """X with tensordot(input, X, X.ndim) = other; `dims` of input are moved to its end first."""
    if dims is not None:
        dims = (dims,) if isinstance(dims, int) else dims
        input = input.movedim(tuple(dims), tuple(range(input.ndim - len(dims), input.ndim)))
    rows, wide = prod(input.shape[:other.ndim]), input.shape[other.ndim:]
    if prod(wide) != rows:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {prod(wide)} != {rows}")
    return linalg_solve(input.reshape(rows, prod(wide)), other.flatten()).reshape(wide)
