"""Least squares."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base.results import named
from rushlight.ops.along import legacy
from rushlight.ops.matrices import Array, batch_of, dagger, has_lapack
from rushlight.ops.svd import pinv_gradient
from rushlight.ops.table import ROWS, composite, opaque

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@opaque(name="_lstsq", where=("aten",), node="linalg_lstsq")
def _lstsq(A, B, rcond: "float") -> tuple[Array, Array, Array]:
    """(X of least norm among those of least |A X - B|, rank, singular values), by singular vectors."""
    U, S, Vh = ROWS["_svd"].body(A, False)
    counts = S > rcond * S.max(-1, initial=0)[..., None]
    inverse = np.where(counts, 1 / np.where(counts, S, 1), 0).astype(S.dtype)
    x = Vh.swapaxes(-1, -2).conj() @ (inverse[..., None] * (U.swapaxes(-1, -2).conj() @ B))
    # LAPACK's solution lies in memory as long as the right-hand sides.
    room = np.zeros((*x.shape[:-2], x.shape[-1], max(A.shape[-2:])), x.dtype)
    room[..., :x.shape[-2]] = x.swapaxes(-1, -2)
    return room.swapaxes(-1, -2)[..., :x.shape[-2], :], np.asarray(counts.sum(-1), np.int64), S


@_lstsq.gradient
def _(s: Any, grad: Any, *_: Any) -> Any:
    """X = pinv(A) B."""
    P = ROWS["_pinv"](s.A, None, s.rcond, False)
    to_a = pinv_gradient(s.A, P, grad @ dagger(s.B)).sum_to_size(s.shape("A")) if s.needs("A") else None
    return to_a, (dagger(P) @ grad).sum_to_size(s.shape("B"))


def _check(A: Any, B: Any, driver: str) -> bool:
    """Whether B holds vectors; RuntimeError if the operands do not fit."""
    op = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{op}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{op}: other must have at least 1 dimension.")
    if A.dtype is not B.dtype:
        raise RuntimeError(f"{op}: Expected input and other to have the same dtype, but got input's dtype "
                           f"{legacy(A._a)} and other's dtype {legacy(B._a)}")
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(f"{op}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                           "other.dim()) <= 1")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    if A.shape[-2] != B.shape[-1 if vector else -2]:
        raise RuntimeError(f"{op}: input.size(-2) should match other.size({-1 if vector else -2})")
    if driver not in _DRIVERS:
        raise RuntimeError(f"{op}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if not has_lapack(A._a):
        raise RuntimeError("This function doesn't handle types other than float and double")
    return vector


@composite(where=("linalg.lstsq",), name="linalg_lstsq", out=True)
def linalg_lstsq(input, b, rcond: "float | None" = None, *, driver: "str | None" = None):
    """(solution, residuals, rank, singular_values) of min |input X - b|.

    driver says what is given beside the solution: "gels" residuals, "gelsy" (the default) the rank, "gelsd"
    and "gelss" everything; residuals exist for full rank and more rows than columns, and are empty else.
    """
    driver = driver or "gelsy"
    vector = _check(input, b, driver)
    rows, wide = input.shape[-2:]
    if rcond is None:
        rcond = float(np.finfo(input._a.dtype).eps) * max(rows, wide)
    right = b.unsqueeze(-1) if vector else b
    x, rank, values = _lstsq(input, right, rcond)
    values = values.new_empty(0) if driver in ("gelsy", "gels") else values.detach()
    # Empty, but a result of the operands: it asks for a gradient when they do.
    residuals = (x.real if x.is_complex() else x).reshape(-1)[:0]
    if rows > wide and driver != "gelsy" and (driver == "gels" or bool((rank == wide).all())):
        apart = right.expand(*batch_of(input, right), *right.shape[-2:]) - input @ x
        residuals = (apart * apart.conj()).real.sum(-2) if apart.is_complex() else (apart * apart).sum(-2)
    return named("linalg_lstsq")(x.squeeze(-1) if vector else x, residuals,
                                 rank.new_empty(0) if driver == "gels" else rank, values)
