"""Singular values and vectors, and what they say of a matrix: rank, pseudoinverse, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.dtype import float32
from rushlight._engine.core.errors import LinAlgError
from rushlight._engine.core.results import named
from rushlight._engine.ops.constant_operands import refuse_gradient
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.linalg.eigen import check_phase, failed, gaps
from rushlight._engine.ops.linalg.matrix_checks import (
    batch_of,
    check_matrix,
    check_square,
    columns,
    dagger,
    diagonal_of,
    has_lapack,
)
from rushlight._engine.ops.linalg.reflections import factors
from rushlight._engine.ops.linalg.solving import substituted
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


@composite
def pinverse(input, rcond: float = 1e-15):
    """linalg.pinv in its older spelling."""
    return linalg_pinv(input, rcond)


@composite(out=True)
def inverse(input):
    """linalg.inv in its older spelling."""
    return ROWS["linalg_inv"](input)


def _unconverged(a: Array) -> LinAlgError:
    if not np.isfinite(a).all():
        return LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        )
    return failed("linalg.svd", a, "singular values", np.linalg.svd)


@opaque(name="_svd", where=("aten",), node="linalg_svd")
def _svd(A, full_matrices: bool) -> tuple[Array, Array, Array]:
    """(U, S descending, V^H) with A = U diag(S) V^H."""
    try:
        U, S, Vh = np.linalg.svd(A, full_matrices)
    except np.linalg.LinAlgError:
        raise _unconverged(A) from None
    return columns(U), S, columns(Vh)


@_svd.gradient
def _svd_gradient(s: Any, gU: Any, gS: Any, gVh: Any) -> Any:
    """Townsend, "Differentiating the singular value decomposition", with the phase of complex vectors as in
    Wan and Zhang (arXiv:1909.02659). Of full matrices, only the first vectors have a gradient.
    """
    U, S, Vh = s.result
    k = S.shape[-1]
    U, Vh = U[..., :k], Vh[..., :k, :]
    if gU is None and gVh is None:
        return (U * gS.unsqueeze(-2)) @ Vh
    gU, gVh = gU if gU is None else gU[..., :k], gVh if gVh is None else gVh[..., :k, :]
    inner, more = _inner(U, S, Vh, gU, gVh), None
    if gS is not None:
        inner = inner + gS.diag_embed()
    rows, wide = s.shape("A")[-2:]
    if gU is not None and rows > k:
        outside = gU / S.unsqueeze(-2)
        more = (outside - U @ (dagger(U) @ outside)) @ Vh
    if gVh is not None and wide > k:
        outside = gVh / S.unsqueeze(-1)
        other = U @ (outside - (outside @ dagger(Vh)) @ Vh)
        more = other if more is None else more + other
    found = U @ inner @ Vh
    return found if more is None else found + more


def _inner(U: Any, S: Any, Vh: Any, gU: Any, gVh: Any) -> Any:
    """The part of the gradient within the spaces that U and V span."""
    gap = gaps(S * S)
    turns = [] if gU is None else [dagger(U) @ gU]
    inner = 0
    if gU is not None:
        inner = _skew(turns[0]) / gap * S.unsqueeze(-2)
    if gVh is not None:
        turns.append(Vh @ dagger(gVh))
        inner = inner + S.unsqueeze(-1) * (_skew(turns[-1]) / gap)
    check_phase("svd_backward", "singular vectors", *turns)
    if gU is not None and U.is_complex():
        phase = diagonal_of(turns[0]).imag / S
        inner = inner + ROWS["complex"](ROWS["zeros_like"](phase), phase).diag_embed()
    return inner


def _skew(t: Any) -> Any:
    return t - dagger(t)


@opaque(name="_svdvals", where=("aten",), node="linalg_svd")
def _svdvals(A) -> Array:
    """The singular values alone."""
    try:
        return np.asarray(np.linalg.svd(A, compute_uv=False))
    except np.linalg.LinAlgError:
        raise _unconverged(A) from None


@_svdvals.gradient
def _svdvals_gradient(s: Any, grad: Any) -> Any:
    U, _S, Vh = _svd(s.A, False)
    return (U * grad.unsqueeze(-2)) @ Vh


def _checked(A: Any, driver: str | None = None) -> Any:
    check_matrix("linalg.svd", A._geometry)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs "
            "with cuSOLVER backend."
        )
    return A


@composite(where=("linalg.svd",), name="linalg_svd", out=True)
def linalg_svd(A, full_matrices: bool = True, *, driver: str | None = None):
    """(U, S, Vh) with A = U diag(S) Vh, of (*, m, n): singular values S (*, min(m, n)), descending, real.

    full_matrices: U (*, m, m) and Vh (*, n, n), else (*, m, k) and (*, k, n), k = min(m, n). driver is CUDA's
    alone.
    """
    return named("linalg_svd")(*_svd(_checked(A, driver), full_matrices))


@composite(where=("linalg.svdvals",), name="linalg_svdvals", out=True)
def linalg_svdvals(A, *, driver: str | None = None):
    """The singular values (*, min(m, n)) of (*, m, n), descending."""
    return _svdvals(_checked(A, driver))


@composite(out=True)
def svd(input, some: bool = True, compute_uv: bool = True):
    """(U, S, V) with input = U diag(S) V^H; zeros for U and V without compute_uv."""
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead"
        )
    _checked(input)
    if not compute_uv:
        rows, wide = input.shape[-2:]
        U, V = (input.new_zeros((*input.shape[:-2], n, n)) for n in (rows, wide))
        return named("svd")(U, _svdvals(input), V)
    U, S, Vh = _svd(input, not some)
    return named("svd")(U, S, dagger(Vh))


# --- tolerances: which singular values count ------------------------------------------------------


def limits(op: str, a: Array, largest: Array, atol: Any, rtol: Any) -> Array:
    """max(atol, rtol * the largest value); rtol is eps times the longer side unless atol is given."""
    for name, t in (("atol", atol), ("rtol", rtol)):
        if getattr(t, "dtype", None) is not None and t.dtype.kind == "c":
            raise RuntimeError(f"{op}: {name} tensor of complex type is not supported.")
    absolute = 0.0 if atol is None else np.asarray(atol)
    if rtol is None:
        usual = np.finfo(a.dtype).eps * max(a.shape[-2:])
        rtol = np.where(np.asarray(absolute) > 0, 0.0, usual)
    return np.asarray(np.maximum(absolute, np.asarray(rtol) * largest))


def _array(t: Any) -> Any:
    """A tolerance as the array kernels take it."""
    return t.numpy(force=True) if hasattr(t, "_kind") else t


@opaque(name="_pinv", where=("aten",), node="linalg_pinv")
def _pinv(A, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """The Moore-Penrose inverse, by singular values (or eigenvalues)."""
    if hermitian:
        values, U = _eigh_of(A)
        Vh = U.swapaxes(-1, -2).conj()
    else:
        U, values, Vh = _svd.body(A, False)
    size = abs(values)
    least = limits("linalg.pinv", A, size.max(-1, initial=0), atol, rtol)
    counts = size > least[..., None]
    inverse = np.where(counts, 1 / np.where(counts, values, 1), 0).astype(values.dtype)
    V, Uh = (t.swapaxes(-1, -2).conj() for t in (Vh, U))
    return np.ascontiguousarray((V * inverse[..., None, :]) @ Uh)


def _eigh_of(a: Array) -> Any:
    return ROWS["_eigh"].body(a, "L")


_pinv.gradient(lambda s, grad: pinv_gradient(s.A, s.result, grad))


def pinv_gradient(A: Any, P: Any, grad: Any) -> Any:
    """Golub and Pereyra, 1973 (doi:10.1137/0710036), for a rank that does not change; P is pinv(A)."""
    PH, G = dagger(P), dagger(grad)
    back = G - A @ (P @ G)  # (I - A P) G^H
    forth = G - (G @ P) @ A  # G^H (I - P A)
    return PH @ (P @ forth) + (back @ P) @ PH - PH @ (grad @ PH)


def _pseudoinverse(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if A.ndim < 2 or not has_lapack(A._geometry):
        raise RuntimeError(
            f"linalg.pinv({legacy(A._geometry)}{{{list(A.shape)}}}): expected a tensor with 2 or "
            "more dimensions of float, double, cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.eigh", A._geometry)
    refuse_gradient("linalg_pinv", "atol", atol)
    refuse_gradient("linalg_pinv", "rtol", rtol)
    return _pinv(A, _array(atol), _array(rtol), hermitian)


@composite(where=("linalg.pinv",), name="linalg_pinv", out=True)
def linalg_pinv(input, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None):
    """The pseudoinverse (*, n, m) of (*, m, n); singular values up to max(atol, rtol * the largest) count as
    zero.

    rtol: the dtype's eps times max(m, n) by default, 0 where atol is given. hermitian: by eigh.
    """
    return _pseudoinverse(input, atol, rtol if rcond is None else rcond, hermitian)


@opaque(name="_matrix_rank", where=("aten",))
def _matrix_rank(A, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """How many singular values are above the limit."""
    values = abs(_eigh_of(A)[0]) if hermitian else _svdvals.body(A)
    least = limits("torch.linalg.matrix_rank", A, values.max(-1, initial=0), atol, rtol)
    return np.asarray((values > least[..., None]).sum(-1), np.int64)


@composite(where=("linalg.matrix_rank",), name="linalg_matrix_rank", out=True)
def linalg_matrix_rank(
    input, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
):
    """The rank: how many singular values are above max(atol, rtol * the largest); tol is an atol alone."""
    check_matrix("torch.linalg.matrix_rank", input._geometry, "input")
    if not has_lapack(input._geometry):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if hermitian:
        check_square("linalg.eigh", input._geometry)
    atol, rtol = (atol, rtol) if tol is None else (tol, 0.0)
    return _matrix_rank(input, _array(atol), _array(rtol), hermitian)


# --- least squares ---------------------------------------------------------------------------------


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@opaque(name="_lstsq", where=("aten",), node="linalg_lstsq")
def _lstsq(A, B, rcond: float, values: bool = True) -> tuple[Array, Array, Array]:
    """(X of least norm among those of least |A X - B|, rank, singular values), by singular vectors.

    values: whether the singular values are asked for; without them, and with full rank, by Q and R.
    """
    found = None if values else _of_full_rank(A, B, rcond)
    if found is not None:
        x, S, rank = found, np.empty(0, A.real.dtype), np.full(A.shape[:-2], A.shape[-1], np.int64)
    else:
        U, S, Vh = ROWS["_svd"].body(A, False)
        counts = rcond * S.max(-1, initial=0)[..., None] < S
        inverse = np.where(counts, 1 / np.where(counts, S, 1), 0).astype(S.dtype)
        x = Vh.swapaxes(-1, -2).conj() @ (inverse[..., None] * (U.swapaxes(-1, -2).conj() @ B))
        rank = np.asarray(counts.sum(-1), np.int64)
    # LAPACK's solution lies in memory as long as the right-hand sides.
    columns = np.zeros((*x.shape[:-2], x.shape[-1], max(A.shape[-2:])), x.dtype)
    columns[..., : x.shape[-2]] = x.swapaxes(-1, -2)
    return columns.swapaxes(-1, -2)[..., : x.shape[-2], :], rank, S


def _of_full_rank(A: Array, B: Array, rcond: float) -> Array | None:
    """The solution for matrices that are no wider than high and far from singular; None for others."""
    if not A.size or A.shape[-1] > A.shape[-2]:
        return None
    q, r = factors(A)
    try:
        inverse = _turned_over(r)
    except np.linalg.LinAlgError:
        return None
    sizes = [np.maximum.reduce(np.add.reduce(abs(t), -2), -1) for t in (r, inverse)]
    if not (sizes[0] * sizes[1] * max(rcond, np.finfo(A.dtype).eps) < 1).all():
        return None
    solution: Array = inverse @ (q.swapaxes(-1, -2).conj() @ B)
    return solution


def _turned_over(r: Array) -> Array:
    """The inverse of upper triangular matrices."""
    n = r.shape[-1]
    if r.dtype.char in "fd":
        found = np.array(np.broadcast_to(np.eye(n, dtype=r.dtype), r.shape), order="C").reshape(-1, n, n)
        if substituted(np.ascontiguousarray(r).reshape(-1, n, n), found, True, False):
            return found.reshape(r.shape)
    inverse: Array = np.linalg.inv(r)
    return inverse


@_lstsq.gradient
def _lstsq_gradient(s: Any, grad: Any, *_: Any) -> Any:
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
        raise RuntimeError(
            f"{op}: Expected input and other to have the same dtype, but got input's dtype "
            f"{legacy(A._geometry)} and other's dtype {legacy(B._geometry)}"
        )
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{op}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    if A.shape[-2] != B.shape[-1 if vector else -2]:
        raise RuntimeError(f"{op}: input.size(-2) should match other.size({-1 if vector else -2})")
    if driver not in _DRIVERS:
        raise RuntimeError(f"{op}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if not has_lapack(A._geometry):
        raise RuntimeError("This function doesn't handle types other than float and double")
    return vector


@composite(
    where=("linalg.lstsq",), name="linalg_lstsq", out=True, planned="driver is None or driver == 'gelsy'"
)
def linalg_lstsq(input, b, rcond: float | None = None, *, driver: str | None = None):
    """(solution, residuals, rank, singular_values) of min |input X - b|.

    driver says what is given beside the solution: "gels" residuals, "gelsy" (the default) the rank, "gelsd"
    and "gelss" everything; residuals exist for full rank and more rows than columns, and are empty else.
    """
    driver = driver or "gelsy"
    vector = _check(input, b, driver)
    rows, wide = input.shape[-2:]
    if driver == "gels":
        rcond = 0.0  # LAPACK's takes the rank as full
    elif rcond is None:
        rcond = float(np.finfo(input._geometry.dtype).eps) * max(rows, wide)
    right = b.unsqueeze(-1) if vector else b
    x, rank, values = _lstsq(input, right, rcond, driver in ("gelsd", "gelss"))
    values = values.new_empty(0) if driver in ("gelsy", "gels") else values.detach()
    # Empty, but a result of the operands: it asks for a gradient when they do.
    residuals = (x.real if x.is_complex() else x).reshape(-1)[:0]
    if rows > wide and driver != "gelsy" and (driver == "gels" or bool((rank == wide).all())):
        apart = right.expand(*batch_of(input, right), *right.shape[-2:]) - input @ x
        residuals = (apart * apart.conj()).real.sum(-2) if apart.is_complex() else (apart * apart).sum(-2)
    return named("linalg_lstsq")(
        x.squeeze(-1) if vector else x, residuals, rank.new_empty(0) if driver == "gels" else rank, values
    )


# --- low rank, by random projection ----------------------------------------------------------------


def _basis(A: Any, q: int, niter: int) -> Any:
    """Q whose span is near that of A: Halko et al., arXiv:0909.4061, algorithm 4.4."""
    own = A.dtype.name in ("float16", "float64") or A.is_complex()
    qr, of = ROWS["linalg_qr"], A.dtype if own else float32
    drawn = ROWS["randn"](A.shape[-1], q, dtype=of, device=A.device)
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
def svd_lowrank(A, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None):
    """(U, S, V) with A - M near U diag(S) V^H and q singular values (draws random numbers)."""
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    return _low_rank(A, 6 if q is None else q, 2 if niter is None else niter)


@composite(where=("torch",))
def pca_lowrank(A, q: int | None = None, center: bool = True, niter: int = 2):
    """Principal components: svd_lowrank of A less the mean of its rows; q: min(6, m, n) unless given."""
    rows, wide = A.shape[-2:]
    if q is None:
        q = min(6, rows, wide)
    elif not 0 <= q <= min(rows, wide):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, wide)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _low_rank(A - A.mean(-2, True) if center else A, q, niter)
