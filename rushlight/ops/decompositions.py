"""Matrix decompositions."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.dtype import complex128, float64
from rushlight.base.errors import LinAlgError
from rushlight.base.results import named
from rushlight.ops.along import legacy
from rushlight.ops.table import ROWS, composite, opaque

Array = np.ndarray[Any, Any]


def _floating(op: str, a: Array) -> None:
    if a.ndim < 2:
        raise RuntimeError(f"linalg.{op}: The input tensor A must have at least 2 dimensions.")
    if a.dtype.kind not in "fc" or a.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.{op}: Expected a floating point or complex tensor as input. Got "
                           f"{legacy(a)}")


@opaque(name="_qr", where=("aten",), node="linalg_qr")
def _qr(input, mode: "str") -> tuple[Array, Array]:
    """Q with orthonormal columns and R upper triangular, input = Q R (LAPACK's Householder QR)."""
    _floating("qr", input)
    q, r = np.linalg.qr(input, mode="reduced" if mode == "r" else mode)
    return np.ascontiguousarray(q), np.ascontiguousarray(r)


@_qr.gradient
def _(s: Any, grad_q: Any, grad_r: Any) -> Any:
    q, r = s.result
    rows, columns = s.shape("input")[-2:]
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
    lower = inner.tril()
    symmetric = lower + inner.tril(-1).mT.conj()
    total = q @ symmetric
    if grad_q is not None:
        total = total + grad_q
    return ROWS["_solve_triangular"](r, total.mT.conj()).mT.conj()


@opaque(name="_solve_triangular", where=("aten",))
def _solve_triangular(a, b) -> Array:
    """x with a x = b, for square (upper triangular) a."""
    return np.linalg.solve(a, b)


@_solve_triangular.gradient
def _(s: Any, grad: Any) -> Any:
    x = s.result
    back = ROWS["_solve_triangular"](s.a.mT.conj(), grad)
    return (-(back @ x.mT.conj()).triu(), back)


@composite(where=("linalg.qr",), name="linalg_qr")
def linalg_qr(A, mode: "str" = "reduced"):
    """(Q, R) with A = Q R; mode "reduced", "complete" or "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
                           "'r', or 'complete'")
    q, r = _qr(A, mode)
    if mode == "r":
        q = A.new_empty(0)
    return named("linalg_qr")(q, r)


@composite(where=("torch", "Tensor"))
def qr(input, some: "bool" = True):
    """linalg.qr in its older spelling."""
    q, r = _qr(input, "reduced" if some else "complete")
    return named("qr")(q, r)


@composite(where=("linalg.solve",), name="linalg_solve")
def linalg_solve(A, B, *, left: "bool" = True):
    """x with A x = B (or x A = B, with left=False), for a square A; B may be a vector."""
    _floating("solve", A._a)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError("linalg.solve: A must be batches of square matrices, but they are "
                           f"{A.shape[-2]} by {A.shape[-1]} matrices")
    if not left:
        return linalg_solve(A.mT, B.mT).mT
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    found = _solve_triangular_free(A, B.unsqueeze(-1) if vector else B)
    return found.squeeze(-1) if vector else found


@opaque(name="_solve", where=("aten",), node="linalg_solve_ex")
def _solve_triangular_free(a, b) -> Array:
    """x with a x = b."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise LinAlgError("torch.linalg.solve: The solver failed because the input matrix is "
                          "singular.") from None


@_solve_triangular_free.gradient
def _(s: Any, grad: Any) -> Any:
    back = _solve_triangular_free(s.a.mT.conj(), grad)
    return -(back @ s.result.mT.conj()).sum_to_size(s.shape("a")), back.sum_to_size(s.shape("b"))


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


@composite(where=("linalg.householder_product",), aliases=("torch.orgqr", "Tensor.orgqr"))
def householder_product(input, tau):
    """The first columns of the product of the reflections that (input, tau) hold, as geqrf gives them."""
    rows, columns = input.shape[-2:]
    found = ROWS["eye"](rows, dtype=input.dtype).expand(*input.shape[:-2], rows, rows)[..., :columns]
    unit = ROWS["eye"](rows, dtype=input.dtype)[:, :columns]
    vectors = input.tril(-1) + unit
    for k in range(tau.shape[-1] - 1, -1, -1):
        v = vectors[..., k:k + 1]
        found = found - tau[..., k:k + 1].unsqueeze(-1) * v @ (v.mT.conj() @ found)
    return found if tau.shape[-1] else found + 0 * input


@opaque
def geqrf(input) -> tuple[Array, Array]:
    """(a, tau): R above and the reflections below the diagonal, as LAPACK stores a QR decomposition."""
    _floating("geqrf", input)
    a, tau = np.linalg.qr(input, mode="raw")
    return named("geqrf")(np.ascontiguousarray(a.swapaxes(-1, -2)), tau)
