"""Eigenvalues and eigenvectors, of Hermitian and of general matrices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rushlight._engine.core.errors import LinAlgError
from rushlight._engine.core.recording import checked
from rushlight._engine.core.results import named
from rushlight._engine.ops.linalg.matrix_checks import check_square, columns, dagger, diagonal_of
from rushlight._engine.ops.table import ROWS, Array, composite, opaque


def failed(op: str, a: Array, what: str, compute: Any) -> LinAlgError:
    """The error for the first matrix of a batch for which `compute` does not converge."""
    where = ""
    for i in np.ndindex(a.shape[:-2]):
        try:
            compute(a[i])
        except np.linalg.LinAlgError:
            where = f"(Batch element {int(np.ravel_multi_index(i, a.shape[:-2]))}): " if i else ""
            break
    return LinAlgError(
        f"{op}: {where}The algorithm failed to converge because the input matrix is "
        f"ill-conditioned or has too many repeated {what} (error code: {a.shape[-1] - 1})."
    )


def _settled(op: str, a: Array, compute: Any) -> Any:
    try:
        return compute(a)
    except np.linalg.LinAlgError:
        raise failed(op, a, "eigenvalues", compute) from None


def _triangle(uplo: str) -> Literal["L", "U"]:
    return "L" if uplo in "Ll" else "U"


@opaque(name="_eigh", where=("aten",), node="linalg_eigh")
def _eigh(A, uplo: str) -> tuple[Array, Array]:
    """(eigenvalues in ascending order, eigenvectors as columns)."""
    values, vectors = _settled("linalg.eigh", A, lambda a: np.linalg.eigh(a, _triangle(uplo)))
    return values, columns(vectors)


@_eigh.gradient
def _eigh_gradient(s: Any, grad_values: Any, grad_vectors: Any) -> Any:
    """Giles, "Collected matrix derivative results", 3.1; eigenvectors are free up to a phase."""
    values, V = s.result
    if grad_vectors is None:
        return (V * grad_values.unsqueeze(-2)) @ dagger(V)
    inner = dagger(V) @ grad_vectors
    check_phase("linalg_eigh_backward", "eigenvectors", inner)
    inner = inner / gaps(values)
    if grad_values is not None:
        inner = inner + grad_values.diag_embed()
    found = V @ inner @ dagger(V)
    return 0.5 * (found + dagger(found))


def gaps(values: Any) -> Any:
    """values_j - values_i at (i, j), and inf on the diagonal: what a division by it leaves out."""
    found = values.unsqueeze(-2) - values.unsqueeze(-1)
    same = ROWS["eye"](values.shape[-1], device=values.device).bool()
    return found.masked_fill(same, float("inf"))


def check_phase(op: str, what: str, *inner: Any) -> None:
    """RuntimeError if a loss depends on the phase of complex vectors, which nothing determines."""
    if not inner[0].is_complex():
        return
    turn = sum(np.diagonal(t._array, 0, -2, -1).imag for t in inner)
    size = max(abs(t._array).max(initial=0) for t in inner)
    tolerance = 1e-2 if inner[0]._geometry.itemsize == 8 else 1e-5
    if not np.allclose(turn, 0, rtol=0, atol=tolerance * max(1.0, float(size))):
        raise RuntimeError(
            f"{op}: The {what} in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this quantity, so it is "
            "ill-defined."
        )


def _uplo(op: str, A: Any, uplo: str) -> str:
    check_square(op, A._geometry)
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper()


@composite(where=("linalg.eigh",), name="linalg_eigh", out=True)
def linalg_eigh(input, UPLO: str = "L"):
    """(eigenvalues ascending (*, n), eigenvectors in columns (*, n, n)) of Hermitian matrices (*, n, n).

    UPLO: which triangle is read, "L" or "U". Gradients of eigenvectors are finite for distinct eigenvalues
    alone.
    """
    return named("linalg_eigh")(*_eigh(input, _uplo("linalg.eigh", input, UPLO)))


@opaque(name="_eigvalsh", where=("aten",), node="linalg_eigh")
def _eigvalsh(A, uplo: str) -> Array:
    """The eigenvalues alone."""
    return np.asarray(_settled("linalg.eigh", A, lambda a: np.linalg.eigvalsh(a, _triangle(uplo))))


@_eigvalsh.gradient
def _eigvalsh_gradient(s: Any, grad: Any) -> Any:
    V = _eigh(s.A, s.uplo)[1]
    return (V * grad.unsqueeze(-2)) @ dagger(V)


@composite(where=("linalg.eigvalsh",), name="linalg_eigvalsh", out=True)
def linalg_eigvalsh(input, UPLO: str = "L"):
    """The eigenvalues (*, n) of Hermitian matrices (*, n, n), ascending; one triangle is read."""
    return _eigvalsh(input, _uplo("linalg.eigh", input, UPLO))


# --- general matrices -----------------------------------------------------------------------------


def _complex(a: Array) -> Array:
    return np.asarray(a, np.result_type(a.dtype, np.complex64))


@opaque(name="_eig", where=("aten",), node="linalg_eig")
def _eig(A) -> tuple[Array, Array]:
    """(eigenvalues, eigenvectors as columns), complex."""
    values, vectors = _settled("linalg.eig", A, np.linalg.eig)
    return _complex(values), columns(_complex(vectors))


@_eig.gradient
def _eig_gradient(s: Any, grad_values: Any, grad_vectors: Any) -> Any:
    """Boeddeker et al., "On the computation of complex-valued gradients" (arXiv:1701.00392), 4.77;
    eigenvectors have norm 1, which takes a part of their gradient away.
    """
    values, V = s.result
    VH = dagger(V)
    inner = None
    if grad_vectors is not None:
        projected = VH @ grad_vectors
        check_phase("linalg_eig_backward", "eigenvectors", projected)
        along = diagonal_of(projected).real.unsqueeze(-2)
        inner = (projected - (VH @ V) * along) / gaps(values).conj()
    if grad_values is not None:
        own = grad_values.diag_embed()
        inner = own if inner is None else inner + own
    found = ROWS["linalg_solve"](VH, inner @ VH)
    return found if s.A.is_complex() else found.real


def _general(op: str, A: Any) -> Any:
    check_square(op, A._geometry)
    checked(_check_finite, A._array)
    return A


def _check_finite(a: Any) -> None:
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


@composite(where=("linalg.eig",), name="linalg_eig", out=True)
def linalg_eig(input):
    """(eigenvalues (*, n), eigenvectors in columns (*, n, n)) of square matrices, complex, in no particular
    order.
    """
    return named("linalg_eig")(*_eig(_general("linalg.eig", input)))


@opaque(name="_eigvals", where=("aten",), node="linalg_eig")
def _eigvals(A) -> Array:
    """The eigenvalues alone."""
    return _complex(_settled("linalg.eig", A, np.linalg.eigvals))


@_eigvals.gradient
def _eigvals_gradient(s: Any, grad: Any) -> Any:
    VH = dagger(_eig(s.A)[1])
    found = ROWS["linalg_solve"](VH, grad.unsqueeze(-1) * VH)
    return found if s.A.is_complex() else found.real


@composite(where=("linalg.eigvals",), name="linalg_eigvals", out=True)
def linalg_eigvals(input):
    """The eigenvalues (*, n) of square matrices (*, n, n), complex, in no particular order."""
    return _eigvals(_general("linalg.eigvals", input))
