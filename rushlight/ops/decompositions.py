"""Matrix decompositions."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.ops.results import named
from rushlight.ops.table import ROWS, composite, opaque

Array = np.ndarray[Any, Any]


def _floating(op: str, a: Array) -> None:
    if a.ndim < 2:
        raise RuntimeError(f"linalg.{op}: The input tensor A must have at least 2 dimensions.")
    if a.dtype.kind not in "fc" or a.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.{op}: Expected a floating point or complex tensor as input. Got "
                           f"{a.dtype.name}")


@opaque(name="_qr", where=("aten",), node="linalg_qr")
def _qr(input, mode: "str") -> tuple[Array, Array]:
    """Q with orthonormal columns and R upper triangular, input = Q R (LAPACK's Householder QR)."""
    _floating("qr", input)
    q, r = np.linalg.qr(input, mode="reduced" if mode == "r" else mode)
    return np.ascontiguousarray(q), np.ascontiguousarray(r)


@_qr.gradient
def _(s: Any, grad_q: Any, grad_r: Any) -> Any:
    # Walter and Lehmann (arXiv:1009.6112), for input with at least as many rows as columns.
    q, r = s.result
    if s.mode == "complete" and s.shape("input")[-2] != s.shape("input")[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > "
                           "ncols")
    if s.shape("input")[-2] < s.shape("input")[-1]:
        raise RuntimeError("linalg.qr: the gradient of wide matrices is not part of Rushlight yet; take the "
                           "QR of a square or tall one")
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
    return named("linalg_qr", "Q", "R")(q, r)


@composite(where=("torch", "Tensor"))
def qr(input, some: "bool" = True):
    """linalg.qr in its older spelling."""
    q, r = _qr(input, "reduced" if some else "complete")
    return named("qr", "Q", "R")(q, r)
