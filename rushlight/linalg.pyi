# Written by `python tools/stubs.py`.
"""torch.linalg: linear algebra, by their rows."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.return_types import linalg_cholesky_ex as _linalg_cholesky_ex_result, linalg_eig as _linalg_eig_result, linalg_eigh as _linalg_eigh_result, linalg_inv_ex as _linalg_inv_ex_result, linalg_ldl_factor as _linalg_ldl_factor_result, linalg_ldl_factor_ex as _linalg_ldl_factor_ex_result, linalg_lstsq as _linalg_lstsq_result, linalg_lu as _linalg_lu_result, linalg_lu_factor as _linalg_lu_factor_result, linalg_lu_factor_ex as _linalg_lu_factor_ex_result, linalg_qr as _linalg_qr_result, linalg_slogdet as _linalg_slogdet_result, linalg_solve_ex as _linalg_solve_ex_result, linalg_svd as _linalg_svd_result
from typing import Any, overload

from rushlight._engine.core.errors import LinAlgError as LinAlgError
def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """L, lower triangular, with input = L L^H (U with U^H U, upper=True): (*, n, n).

    One triangle of the input is read; LinAlgError unless every matrix is positive-definite.
    """
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_cholesky_ex_result:
    """(L, info): linalg.cholesky that reports the first bad leading minor instead of raising."""
def cond(input: Tensor, p: int | float | complex | str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """norm(input) * norm(input^-1): by singular values for p None, 2 and -2; inf for a singular matrix."""
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The cross product of vectors of three elements along dim; other dims broadcast."""
def det(A: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The determinants (*) of square matrices (*, n, n)."""
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of the matrices in the last two dims."""
def eig(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_eig_result:
    """(eigenvalues (*, n), eigenvectors in columns (*, n, n)) of square matrices, complex, in no particular
    order.
    """
def eigh(input: Tensor, UPLO: str = 'L', *, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_eigh_result:
    """(eigenvalues ascending (*, n), eigenvectors in columns (*, n, n)) of Hermitian matrices (*, n, n).

    UPLO: which triangle is read, "L" or "U". Gradients of eigenvectors are finite for distinct eigenvalues
    alone.
    """
def eigvals(input: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The eigenvalues (*, n) of square matrices (*, n, n), complex, in no particular order."""
def eigvalsh(input: Tensor, UPLO: str = 'L', *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The eigenvalues (*, n) of Hermitian matrices (*, n, n), ascending; one triangle is read."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The first columns of the product of the reflections that (input, tau) hold, as geqrf gives them."""
def inv(A: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverses of square matrices (*, n, n); LinAlgError if one is singular. Prefer solve(A, B) to inv(A)
    @ B.
    """
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_inv_ex_result:
    """(inverse, info): linalg.inv that reports singular matrices in info instead of raising."""
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_ldl_factor_result:
    """(LD, pivots) as LAPACK packs them; input is symmetric (Hermitian), and its lower triangle is read."""
def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_ldl_factor_ex_result:
    """(LD, pivots, info): linalg.ldl_factor that reports a singular D in info instead of raising."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """X with A X = B, from A's LDL decomposition."""
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N-1 (N: the last size) of elements, along a new last dim."""
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_lstsq_result:
    """(solution, residuals, rank, singular_values) of min |input X - b|.

    driver says what is given beside the solution: "gels" residuals, "gelsy" (the default) the rank, "gelsd"
    and "gelss" everything; residuals exist for full rank and more rows than columns, and are empty else.
    """
def lu(A: Tensor, *, pivot: bool = True, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_lu_result:
    """(P, L, U) with A = P L U, of (*, m, n): a permutation, a unit lower and an upper triangular matrix.

    pivot=False: no rows are swapped, P is empty; RuntimeError on the CPU, as in PyTorch.
    """
def lu_factor(A: Tensor, *, pivot: bool = True, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_lu_factor_result:
    """(LU, pivots): L below and U on and above the diagonal of one matrix, and the rows' swaps."""
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_lu_factor_ex_result:
    """(LU, pivots, info); info counts the first zero on U's diagonal instead of raising."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """X with A X = B (X A = B, left=False; A^H, adjoint=True), from A's LU decomposition."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The matrix product: (*, n, k) @ (*, k, m) -> (*, n, m), batch dims broadcast.

    A vector counts as a row in front and as a column behind, and the dim disappears: two vectors give a
    number. RuntimeError for 0 dims, sizes that do not fit, or two dtypes.
    """
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential of (*, n, n): Taylor's series of a scaled matrix, then repeated squaring."""
def matrix_norm(input: Tensor, ord: Any = 'fro', dim: int | Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """ord: "fro", "nuc" (sum of singular values), 2, -2 (largest, smallest), 1, -1 (largest, smallest sum of
    a column's absolute values), inf, -inf (of a row's).
    """
def matrix_power(input: Tensor, n: int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """input @ input @ ... (n times), by squaring; the inverse's power for negative n."""
def matrix_rank(input: Tensor, tol: float | Tensor | None = None, hermitian: bool = False, *, atol: Tensor | float | None = None, rtol: Tensor | float | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The rank: how many singular values are above max(atol, rtol * the largest); tol is an atol alone."""
def multi_dot(tensors: list[Tensor] | tuple[Tensor, ...] | Sequence[Tensor], *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The product of two or more matrices, in the cheapest order; the first and last may be vectors."""
def norm(input: Tensor, ord: Any = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """A vector norm over one dim, a matrix norm over two; ord=None is the 2-norm of all elements."""
def pinv(input: Tensor, rcond: float | Tensor | None = None, hermitian: bool = False, *, atol: float | Tensor | None = None, rtol: float | Tensor | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The pseudoinverse (*, n, m) of (*, m, n); singular values up to max(atol, rtol * the largest) count as
    zero.

    rtol: the dtype's eps times max(m, n) by default, 0 where atol is given. hermitian: by eigh.
    """
def qr(A: Tensor, mode: str = 'reduced', *, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_qr_result:
    """(Q, R) with A = Q R, of (*, m, n): Q has orthonormal columns, R is upper triangular.

    mode: "reduced" (Q (m, k), R (k, n), k = min(m, n)), "complete" (Q (m, m), R (m, n)), or "r", with an
    empty Q.
    """
def slogdet(A: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_slogdet_result:
    """(sign, logabsdet), each (*), with det(A) = sign * exp(logabsdet); sign has modulus 1, or is 0 (with
    -inf).
    """
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """X with A X = B (X A = B, left=False): A (*, n, n), B (*, n, k), or (n,) or (*, n) as vectors; batch
    dims broadcast.

    LinAlgError if a matrix is singular; RuntimeError unless A is square, floating or complex, and of B's
    dtype.
    """
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_solve_ex_result:
    """(X, info): linalg.solve that reports singular matrices in info instead of raising."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """X with A X = B (X A = B, left=False) for a triangular A, of which the other triangle is not read.

    B is converted to A's dtype.
    """
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> _linalg_svd_result:
    """(U, S, Vh) with A = U diag(S) Vh, of (*, m, n): singular values S (*, min(m, n)), descending, real.

    full_matrices: U (*, m, m) and Vh (*, n, n), else (*, m, k) and (*, k, n), k = min(m, n). driver is CUDA's
    alone.
    """
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The singular values (*, min(m, n)) of (*, m, n), descending."""
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse for tensordot(input, other, ind): the first `ind` dims against the others."""
def tensorsolve(input: Tensor, other: Tensor, dims: int | Sequence[int] | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """X with tensordot(input, X, X.ndim) = other; `dims` of input are moved to its end first."""
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N-1 (N: the last size) of elements, along a new last dim."""
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The sum of conj(x) * y along dim; the others broadcast."""
def vector_norm(input: Tensor, ord: int | float | complex = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """(sum |x| ** ord) ** (1 / ord); the largest |x| for inf, the smallest for -inf."""
def __dir__() -> list[str]: ...
