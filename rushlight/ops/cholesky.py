"""Cholesky decompositions of positive-definite matrices, and solving with them."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.dtype import int32
from rushlight.base.results import named
from rushlight.ops.matrices import SINGULAR, Array, blame, check_square, columns, dagger, infos
from rushlight.ops.solving import check_older
from rushlight.ops.table import ROWS, composite, opaque

_INDEFINITE = ("The factorization could not be completed because the input is not positive-definite (the "
               "leading minor of order {} is not positive-definite).")


@opaque(name="_cholesky", where=("aten",), node="linalg_cholesky_ex")
def _cholesky(A, upper: "bool") -> tuple[Array, Array]:
    """(L with A = L L^H, info), or U = L^H from A's upper triangle."""
    lower = A.swapaxes(-1, -2) if upper else A  # conj(A) = U^T conj(U), so its L is U^T
    try:
        found, info = np.linalg.cholesky(lower), infos(A)
        fine = not np.isnan(np.diagonal(found, 0, -2, -1)).any()
    except np.linalg.LinAlgError:
        fine = False
    if not fine:
        found, info = _by_columns(lower)
    return columns(found.swapaxes(-1, -2) if upper else found), info


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
        lower[..., j + 1:, j + 1:] -= np.tril(below[..., :, None] * below[..., None, :].conj())
    return lower, np.asarray(info, np.int32)


@_cholesky.shape_rule
def _(A: Any, upper: bool) -> Any:
    return A.new_empty(A.shape, device="meta"), A.new_empty(A.shape[:-2], dtype=int32, device="meta")


@_cholesky.gradient
def _(s: Any, grad: Any, *_: Any) -> Any:
    """Murray, "Differentiation of the Cholesky decomposition" (arXiv:1602.07527), eq. 8."""
    found = s.result[0]
    L, grad = (dagger(found), dagger(grad)) if s.upper else (found, grad)
    inner = (dagger(L) @ grad).tril()
    inner = inner + dagger(inner.tril(-1))
    solve = ROWS["linalg_solve_triangular"]
    return 0.5 * solve(L, solve(dagger(L), inner, upper=True), upper=False, left=False)


@composite(where=("linalg.cholesky",), name="linalg_cholesky", out=True)
def linalg_cholesky(input, *, upper: "bool" = False):
    """L with input = L L^H (U with U^H U, upper=True); LinAlgError unless input is positive-definite."""
    found, info = _checked(input, upper)
    blame("linalg.cholesky", info, _INDEFINITE)
    return found


def _checked(A: Any, upper: bool) -> Any:
    check_square("linalg.cholesky", A._a)
    return _cholesky(A, upper)


@composite(where=("linalg.cholesky_ex",), name="linalg_cholesky_ex", out=True)
def linalg_cholesky_ex(input, *, upper: "bool" = False, check_errors: "bool" = False):
    """(L, info): linalg.cholesky that reports the first bad leading minor instead of raising."""
    found, info = _checked(input, upper)
    blame("torch.linalg.cholesky_ex", info, _INDEFINITE, wanted=check_errors)
    return named("linalg_cholesky_ex")(found, info)


@composite(out=True)
def cholesky(input, upper: "bool" = False):
    """linalg.cholesky in its older spelling."""
    check_square("cholesky", input._a)
    found, info = _cholesky(input, upper)
    blame("cholesky", info, _INDEFINITE)
    return found


@composite(out=True)
def cholesky_solve(input, input2, upper: "bool" = False):
    """X with A X = input, from A's Cholesky factor input2 (L, or U with upper=True)."""
    for name, t in (("b", input), ("u", input2)):
        if t.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions "
                               "instead")
    check_older("cholesky_solve", input, input2)
    solve = ROWS["linalg_solve_triangular"]
    lower = dagger(input2) if upper else input2
    return solve(dagger(lower), solve(lower, input, upper=False), upper=True)


@cholesky_solve.gradient
def _(s: Any, grad: Any) -> Any:
    back = cholesky_solve(grad, s.input2, s.upper)
    return (back.sum_to_size(s.shape("input")) if s.needs("input") else None,
            _to_factor(s.input2, back @ dagger(s.result), s.upper) if s.needs("input2") else None)


def _to_factor(factor: Any, share: Any, upper: bool) -> Any:
    """A factor's gradient in the whole of it, as PyTorch's, though a triangle alone is read."""
    both = share + dagger(share)
    return -(factor @ both if upper else both @ factor).sum_to_size(factor.shape)


@composite(out=True)
def cholesky_inverse(input, upper: "bool" = False):
    """A^-1, from A's Cholesky factor (L, or U with upper=True)."""
    check_square("cholesky_inverse", input._a)
    zeros = np.diagonal(input._a, 0, -2, -1) == 0
    if input.numel() and not input._k.on_meta:
        blame("cholesky_inverse", np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0), SINGULAR)
    unit = ROWS["eye"](input.shape[-1], dtype=input.dtype, device=input.device)
    return cholesky_solve(unit.expand(input.shape), input, upper)


@cholesky_inverse.gradient
def _(s: Any, grad: Any) -> Any:
    return _to_factor(s.input, s.result @ grad @ s.result, s.upper)
