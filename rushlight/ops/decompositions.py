"""Matrix decompositions."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.dtype import complex128, float64
from rushlight.base.results import named
from rushlight.ops.matrices import check_matrix, column_major, columns, dagger, diagonal_of
from rushlight.ops.table import ROWS, Array, composite, opaque


@opaque(name="_qr", where=("aten",), node="linalg_qr")
def _qr(input, mode: "str") -> tuple[Array, Array]:
    """Q with orthonormal columns and R upper triangular, input = Q R (LAPACK's Householder QR)."""
    check_matrix("linalg.qr", input)
    q, r = np.linalg.qr(input, mode="reduced" if mode == "r" else mode)
    return columns(q), columns(r)


@_qr.gradient
def _(s: Any, grad_q: Any, grad_r: Any) -> Any:
    q, r = s.result
    rows, columns = s.shape("input")[-2:]
    if s.mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                           "Please use linalg.qr(A, mode='reduced') instead.")
    if s.mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > "
                           "ncols")
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
    inner = r @ grad_r.mT.conj() if grad_r is not None else None
    if grad_q is not None:
        part = grad_q.mT.conj() @ q
        inner = -part if inner is None else inner - part
    # R's diagonal is real.
    symmetric = inner.tril(-1) + inner.tril(-1).mT.conj() + diagonal_of(inner).real.diag_embed()
    total = q @ symmetric
    if grad_q is not None:
        total = total + grad_q
    return ROWS["_solve_triangular"](r, total.mT.conj(), True, False).mT.conj()


@composite(where=("linalg.qr",), name="linalg_qr", out=True)
def linalg_qr(A, mode: "str" = "reduced"):
    """(Q, R) with A = Q R; mode "reduced", "complete" or "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
                           "'r', or 'complete'")
    q, r = _qr(A, mode)
    if mode == "r":
        q = A.new_empty(0)
    return named("linalg_qr")(q, r)


@composite(out=True)
def qr(input, some: "bool" = True):
    """linalg.qr in its older spelling."""
    q, r = _qr(input, "reduced" if some else "complete")
    return named("qr")(q, r)


_TAYLOR = 18


@composite(aliases=("linalg.matrix_exp",))
def matrix_exp(input):
    """The matrix exponential: Taylor's series of a scaled matrix, then repeated squaring."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError("linalg.matrix_exp: The input tensor A must be batches of square matrices, but "
                           f"got {list(input.shape)}")
    if not input.numel():
        return input.clone()
    size = float(np.abs(input._a).sum(-1).max())
    squarings = max(0, int(np.ceil(np.log2(max(size, 1e-30)))) + 1)
    # In double precision: each squaring doubles the error so far.
    x = input.to(complex128 if input.is_complex() else float64) * 0.5 ** squarings
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
        v, scale = vectors[..., k:k + 1], tau[..., k:k + 1].unsqueeze(-1)
        found = found - (scale.conj() if turned else scale) * v @ (dagger(v) @ found)
    return found


def _check_reflections(op: str, input: Any, tau: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{op}: input must have at least 2 dimensions.")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(f"{op}: Expected tau to have one dimension less than input, but got tau.ndim "
                           f"equal to {tau.ndim} and input.ndim is equal to {input.ndim}")
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(f"{op}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{list(tau.shape[:-1])}")
    if tau.dtype is not input.dtype:
        raise RuntimeError(f"{op}: tau dtype {tau.dtype.legacy} does not match input dtype "
                           f"{input.dtype.legacy}")


@composite(out=True)
def ormqr(input, tau, other, left: "bool" = True, transpose: "bool" = False):
    """Q @ other (Q^H @ other with transpose; from the right without left), for geqrf's reflections."""
    op = "torch.ormqr"
    if input.ndim >= 2 and other.ndim < 2:
        raise RuntimeError(f"{op}: other must have at least 2 dimensions.")
    if input.ndim >= 2:
        _check_operand(op, input, tau, other, -2 if left else -1)
    _check_reflections(op, input, tau)
    if other.dtype is not input.dtype:
        raise RuntimeError(f"{op}: Expected input and other to have the same dtype, but input has dtype"
                           f"{input.dtype.legacy} and other has dtype {other.dtype.legacy}")
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
    return named("geqrf")(columns(a.swapaxes(-1, -2)), tau)


@geqrf.gradient
def _(s: Any, *grads: Any) -> Any:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented; for a gradient, use "
                              "torch.linalg.qr")
