"""LDL decompositions of symmetric and Hermitian matrices that need not be positive-definite.

Bunch and Kaufman's pivoting as LAPACK's sytrf and hetrf do it: D has blocks of one or two columns, chosen
by the data, so that the matrices of a batch take their own ways, one after the other.
"""
from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from rushlight.base.results import named
from rushlight.ops.along import legacy
from rushlight.ops.matrices import Array, blame, check_square, columns
from rushlight.ops.solving import check_older
from rushlight.ops.table import composite, opaque

_ALPHA = (1 + sqrt(17)) / 8


def _size(x: Array) -> Array:
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """(the row to bring up, one or two columns), for what is left of the matrix from column k on."""
    own, below = float(_size(a[k, k])), _size(a[k + 1:, k])
    most = float(below.max(initial=0))
    if own >= _ALPHA * most:
        return k, 1
    row = k + 1 + int(below.argmax())
    others = np.concatenate([a[row, k:row], a[row + 1:, row]])
    width = float(_size(others).max())
    if own >= _ALPHA * most * (most / width):
        return k, 1
    return (row, 1) if float(_size(a[row, row])) >= _ALPHA * width else (row, 2)


def _swap(a: Array, k: int, kk: int, p: int, hermitian: bool) -> None:
    """Rows and columns kk and p of the lower triangle, in column k's step."""
    a[p + 1:, [kk, p]] = a[p + 1:, [p, kk]]
    column, row = a[kk + 1:p, kk].copy(), a[p, kk + 1:p].copy()
    a[kk + 1:p, kk], a[p, kk + 1:p] = (row.conj(), column.conj()) if hermitian else (row, column)
    if hermitian:
        a[p, kk] = a[p, kk].conj()
    a[kk, kk], a[p, p] = a[p, p], a[kk, kk]
    if kk > k:
        a[kk, k], a[p, k] = a[p, k], a[kk, k]


def _turn(x: Array, hermitian: bool) -> Array:
    return x.conj() if hermitian else x


def _eliminate(a: Array, k: int, step: int, hermitian: bool) -> None:
    """Take the block at column k out of what is left: its columns become L's."""
    rest = a[k + step:, k:k + step]
    block = a[k:k + step, k:k + step].copy()
    if step == 2:
        block[0, 1] = _turn(block[1, 0], hermitian)
    inverse = np.linalg.inv(block) if step == 2 else 1 / block
    scaled = rest @ inverse
    a[k + step:, k + step:] -= np.tril(scaled @ _turn(rest, hermitian).T)
    a[k + step:, k:k + step] = scaled


def _factor(a: Array, pivots: Array, hermitian: bool) -> int:
    """One matrix in place; the info."""
    n, k, info = len(a), 0, 0
    if hermitian:
        a[range(n), range(n)] = a.diagonal().real
    while k < n:
        if not _size(a[k:, k]).any() or np.isnan(a[k, k]):
            info, p, step = info or k + 1, k, 1
        else:
            p, step = _pivot(a, k)
            if p != k + step - 1:
                _swap(a, k, k + step - 1, p, hermitian)
            if k + step < n:
                _eliminate(a, k, step, hermitian)
                if hermitian:
                    a[range(k + step, n), range(k + step, n)] = a.diagonal()[k + step:].real
        pivots[k:k + step] = p + 1 if step == 1 else -(p + 1)
        k += step
    return info


@opaque(name="_ldl_factor", where=("aten",))
def _ldl_factor(A, hermitian: "bool") -> tuple[Array, Array, Array]:
    """(LD, pivots, info)."""
    found = np.tril(A)
    pivots, info = np.zeros(A.shape[:-1], np.int32), np.zeros(A.shape[:-2], np.int32)
    for i in np.ndindex(A.shape[:-2]):
        info[i] = _factor(found[i], pivots[i], hermitian and A.dtype.kind == "c")
    return columns(found), pivots, info


@_ldl_factor.gradient
def _(s: Any, *grads: Any) -> Any:
    raise RuntimeError("derivative for aten::linalg_ldl_factor_ex is not implemented; for a gradient, use "
                       "torch.linalg.solve on the matrix itself")


def _checked(A: Any, hermitian: bool) -> Any:
    check_square("torch.linalg.ldl_factor_ex", A._a)
    return _ldl_factor(A, hermitian)


_ZERO = "D[{0},{0}] is zero, and using it on ldl_solve would result in a division by zero."


@composite(where=("linalg.ldl_factor",), name="linalg_ldl_factor", out=True)
def linalg_ldl_factor(input, *, hermitian: "bool" = False):
    """(LD, pivots) as LAPACK packs them; input is symmetric (Hermitian), and its lower triangle is read."""
    found, pivots, info = _checked(input, hermitian)
    blame("torch.linalg.ldl_factor", info, _ZERO, RuntimeError)
    return named("linalg_ldl_factor")(found, pivots)


@composite(where=("linalg.ldl_factor_ex",), name="linalg_ldl_factor_ex", out=True)
def linalg_ldl_factor_ex(input, *, hermitian: "bool" = False, check_errors: "bool" = False):
    """(LD, pivots, info): linalg.ldl_factor that reports a singular D in info instead of raising."""
    found, pivots, info = _checked(input, hermitian)
    blame("torch.linalg.ldl_factor_ex", info, _ZERO, RuntimeError, wanted=check_errors)
    return named("linalg_ldl_factor_ex")(found, pivots, info)


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
        x[k + step:] -= a[k + step:, k:k + step] @ x[k:k + step]
        block = a[k:k + step, k:k + step].copy()
        if step == 2:
            block[0, 1] = _turn(block[1, 0], hermitian)
        x[k:k + step] = np.linalg.solve(block, x[k:k + step]) if step == 2 else x[k:k + 1] / block
    for k, step, p in reversed(steps):
        x[k:k + step] -= _turn(a[k + step:, k:k + step], hermitian).T @ x[k + step:]
        x[[k + step - 1, p]] = x[[p, k + step - 1]]


@opaque(name="_ldl_solve", where=("aten",))
def _ldl_solve(LD, pivots, B, hermitian: "bool") -> Array:
    """X with A X = B."""
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    x = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    packed = np.broadcast_to(LD, (*batch, *LD.shape[-2:]))
    swaps = np.broadcast_to(pivots, (*batch, LD.shape[-1]))
    for i in np.ndindex(batch):
        _solve_one(packed[i], swaps[i], x[i], hermitian and LD.dtype.kind == "c")
    return columns(x)


@_ldl_solve.gradient
def _(s: Any, grad: Any) -> Any:
    raise RuntimeError("derivative for aten::linalg_ldl_solve is not implemented; for a gradient, use "
                       "torch.linalg.solve on the matrix itself")


@composite(where=("linalg.ldl_solve",), name="linalg_ldl_solve", out=True)
def linalg_ldl_solve(LD, pivots, B, *, hermitian: "bool" = False):
    """X with A X = B, from A's LDL decomposition."""
    op = "torch.linalg.ldl_solve"
    check_square(op, LD._a)
    if B.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    check_older(op, B, LD)
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(f"{op}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots "
                           f"with shape {list(pivots.shape)} instead")
    if pivots._a.dtype.kind not in "iu":
        raise RuntimeError(f"{op}: Expected pivots to be integers. Got {legacy(pivots._a)}")
    return _ldl_solve(LD, pivots, B, hermitian)
