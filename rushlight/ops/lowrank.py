"""Singular value decompositions of low rank, by random projection."""
from __future__ import annotations

from typing import Any

from rushlight.ops.matrices import dagger
from rushlight.ops.table import ROWS, composite


def _basis(A: Any, q: int, niter: int) -> Any:
    """Q whose span is near that of A: Halko et al., arXiv:0909.4061, algorithm 4.4."""
    qr = ROWS["_qr"]
    drawn = ROWS["randn"](A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = qr(A @ drawn, "reduced")[0]
    for _ in range(niter):
        Q = qr(dagger(A) @ Q, "reduced")[0]
        Q = qr(A @ Q, "reduced")[0]
    return Q


def _low_rank(A: Any, q: int, niter: int) -> tuple[Any, Any, Any]:
    wide = A.shape[-2] < A.shape[-1]
    tall = dagger(A) if wide else A
    Q = _basis(tall, q, niter)
    U, S, Vh = ROWS["_svd"](dagger(Q) @ tall, False)
    U, V = Q @ U, dagger(Vh)
    return (V, S, U) if wide else (U, S, V)


@composite(where=("torch",))
def svd_lowrank(A, q: "int | None" = 6, niter: "int | None" = 2, M: "Tensor | None" = None):
    """(U, S, V) with A - M near U diag(S) V^H and q singular values (draws random numbers)."""
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    return _low_rank(A, 6 if q is None else q, 2 if niter is None else niter)


@composite(where=("torch",))
def pca_lowrank(A, q: "int | None" = None, center: "bool" = True, niter: "int" = 2):
    """Principal components: svd_lowrank of A less the mean of its rows; q: min(6, m, n) unless given."""
    rows, wide = A.shape[-2:]
    if q is None:
        q = min(6, rows, wide)
    elif not 0 <= q <= min(rows, wide):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)="
                         f"{min(rows, wide)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _low_rank(A - A.mean(-2, True) if center else A, q, niter)
