# Written by `python tools/stubs.py`.
"""torch.return_types: the classes of results with named parts, one per op."""
from rushlight import Tensor

class _lu_with_info(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('LU', 'pivots', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LU(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class aminmax(tuple[Tensor, Tensor]):
    __match_args__ = ('min', 'max')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def min(self) -> Tensor: ...
    @property
    def max(self) -> Tensor: ...
class aminmax_out(tuple[Tensor, Tensor]):
    __match_args__ = ('min', 'max')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def min(self) -> Tensor: ...
    @property
    def max(self) -> Tensor: ...
class cummax(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class cummax_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class cummin(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class cummin_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class frexp(tuple[Tensor, Tensor]):
    __match_args__ = ('mantissa', 'exponent')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def mantissa(self) -> Tensor: ...
    @property
    def exponent(self) -> Tensor: ...
class frexp_out(tuple[Tensor, Tensor]):
    __match_args__ = ('mantissa', 'exponent')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def mantissa(self) -> Tensor: ...
    @property
    def exponent(self) -> Tensor: ...
class geqrf(tuple[Tensor, Tensor]):
    __match_args__ = ('a', 'tau')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def a(self) -> Tensor: ...
    @property
    def tau(self) -> Tensor: ...
class geqrf_out(tuple[Tensor, Tensor]):
    __match_args__ = ('a', 'tau')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def a(self) -> Tensor: ...
    @property
    def tau(self) -> Tensor: ...
class histogram(tuple[Tensor, Tensor]):
    __match_args__ = ('hist', 'bin_edges')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def hist(self) -> Tensor: ...
    @property
    def bin_edges(self) -> Tensor: ...
class histogram_out(tuple[Tensor, Tensor]):
    __match_args__ = ('hist', 'bin_edges')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def hist(self) -> Tensor: ...
    @property
    def bin_edges(self) -> Tensor: ...
class histogramdd(tuple[Tensor, Tensor]):
    __match_args__ = ('hist', 'bin_edges')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def hist(self) -> Tensor: ...
    @property
    def bin_edges(self) -> Tensor: ...
class kthvalue(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class kthvalue_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class linalg_cholesky_ex(tuple[Tensor, Tensor]):
    __match_args__ = ('L', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def L(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_cholesky_ex_out(tuple[Tensor, Tensor]):
    __match_args__ = ('L', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def L(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_eig(tuple[Tensor, Tensor]):
    __match_args__ = ('eigenvalues', 'eigenvectors')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def eigenvalues(self) -> Tensor: ...
    @property
    def eigenvectors(self) -> Tensor: ...
class linalg_eig_out(tuple[Tensor, Tensor]):
    __match_args__ = ('eigenvalues', 'eigenvectors')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def eigenvalues(self) -> Tensor: ...
    @property
    def eigenvectors(self) -> Tensor: ...
class linalg_eigh(tuple[Tensor, Tensor]):
    __match_args__ = ('eigenvalues', 'eigenvectors')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def eigenvalues(self) -> Tensor: ...
    @property
    def eigenvectors(self) -> Tensor: ...
class linalg_eigh_out(tuple[Tensor, Tensor]):
    __match_args__ = ('eigenvalues', 'eigenvectors')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def eigenvalues(self) -> Tensor: ...
    @property
    def eigenvectors(self) -> Tensor: ...
class linalg_inv_ex(tuple[Tensor, Tensor]):
    __match_args__ = ('inverse', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def inverse(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_inv_ex_out(tuple[Tensor, Tensor]):
    __match_args__ = ('inverse', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def inverse(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_ldl_factor(tuple[Tensor, Tensor]):
    __match_args__ = ('LD', 'pivots')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LD(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
class linalg_ldl_factor_ex(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('LD', 'pivots', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LD(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_ldl_factor_ex_out(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('LD', 'pivots', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LD(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_ldl_factor_out(tuple[Tensor, Tensor]):
    __match_args__ = ('LD', 'pivots')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LD(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
class linalg_lstsq(tuple[Tensor, Tensor, Tensor, Tensor]):
    __match_args__ = ('solution', 'residuals', 'rank', 'singular_values')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def solution(self) -> Tensor: ...
    @property
    def residuals(self) -> Tensor: ...
    @property
    def rank(self) -> Tensor: ...
    @property
    def singular_values(self) -> Tensor: ...
class linalg_lstsq_out(tuple[Tensor, Tensor, Tensor, Tensor]):
    __match_args__ = ('solution', 'residuals', 'rank', 'singular_values')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def solution(self) -> Tensor: ...
    @property
    def residuals(self) -> Tensor: ...
    @property
    def rank(self) -> Tensor: ...
    @property
    def singular_values(self) -> Tensor: ...
class linalg_lu(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('P', 'L', 'U')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def P(self) -> Tensor: ...
    @property
    def L(self) -> Tensor: ...
    @property
    def U(self) -> Tensor: ...
class linalg_lu_factor(tuple[Tensor, Tensor]):
    __match_args__ = ('LU', 'pivots')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LU(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
class linalg_lu_factor_ex(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('LU', 'pivots', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LU(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_lu_factor_ex_out(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('LU', 'pivots', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LU(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_lu_factor_out(tuple[Tensor, Tensor]):
    __match_args__ = ('LU', 'pivots')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def LU(self) -> Tensor: ...
    @property
    def pivots(self) -> Tensor: ...
class linalg_lu_out(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('P', 'L', 'U')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def P(self) -> Tensor: ...
    @property
    def L(self) -> Tensor: ...
    @property
    def U(self) -> Tensor: ...
class linalg_qr(tuple[Tensor, Tensor]):
    __match_args__ = ('Q', 'R')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def Q(self) -> Tensor: ...
    @property
    def R(self) -> Tensor: ...
class linalg_qr_out(tuple[Tensor, Tensor]):
    __match_args__ = ('Q', 'R')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def Q(self) -> Tensor: ...
    @property
    def R(self) -> Tensor: ...
class linalg_slogdet(tuple[Tensor, Tensor]):
    __match_args__ = ('sign', 'logabsdet')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def sign(self) -> Tensor: ...
    @property
    def logabsdet(self) -> Tensor: ...
class linalg_slogdet_out(tuple[Tensor, Tensor]):
    __match_args__ = ('sign', 'logabsdet')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def sign(self) -> Tensor: ...
    @property
    def logabsdet(self) -> Tensor: ...
class linalg_solve_ex(tuple[Tensor, Tensor]):
    __match_args__ = ('result', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def result(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_solve_ex_out(tuple[Tensor, Tensor]):
    __match_args__ = ('result', 'info')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def result(self) -> Tensor: ...
    @property
    def info(self) -> Tensor: ...
class linalg_svd(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('U', 'S', 'Vh')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def U(self) -> Tensor: ...
    @property
    def S(self) -> Tensor: ...
    @property
    def Vh(self) -> Tensor: ...
class linalg_svd_out(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('U', 'S', 'Vh')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def U(self) -> Tensor: ...
    @property
    def S(self) -> Tensor: ...
    @property
    def Vh(self) -> Tensor: ...
class lu_unpack(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('P', 'L', 'U')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def P(self) -> Tensor: ...
    @property
    def L(self) -> Tensor: ...
    @property
    def U(self) -> Tensor: ...
class lu_unpack_out(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('P', 'L', 'U')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def P(self) -> Tensor: ...
    @property
    def L(self) -> Tensor: ...
    @property
    def U(self) -> Tensor: ...
class max(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class max_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class median(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class median_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class min(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class min_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class mode(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class mode_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class nanmedian(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class nanmedian_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class qr(tuple[Tensor, Tensor]):
    __match_args__ = ('Q', 'R')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def Q(self) -> Tensor: ...
    @property
    def R(self) -> Tensor: ...
class qr_out(tuple[Tensor, Tensor]):
    __match_args__ = ('Q', 'R')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def Q(self) -> Tensor: ...
    @property
    def R(self) -> Tensor: ...
class slogdet(tuple[Tensor, Tensor]):
    __match_args__ = ('sign', 'logabsdet')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def sign(self) -> Tensor: ...
    @property
    def logabsdet(self) -> Tensor: ...
class slogdet_out(tuple[Tensor, Tensor]):
    __match_args__ = ('sign', 'logabsdet')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def sign(self) -> Tensor: ...
    @property
    def logabsdet(self) -> Tensor: ...
class sort(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class sort_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class svd(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('U', 'S', 'V')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def U(self) -> Tensor: ...
    @property
    def S(self) -> Tensor: ...
    @property
    def V(self) -> Tensor: ...
class svd_out(tuple[Tensor, Tensor, Tensor]):
    __match_args__ = ('U', 'S', 'V')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def U(self) -> Tensor: ...
    @property
    def S(self) -> Tensor: ...
    @property
    def V(self) -> Tensor: ...
class topk(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class topk_out(tuple[Tensor, Tensor]):
    __match_args__ = ('values', 'indices')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...
class triangular_solve(tuple[Tensor, Tensor]):
    __match_args__ = ('solution', 'cloned_coefficient')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def solution(self) -> Tensor: ...
    @property
    def cloned_coefficient(self) -> Tensor: ...
class triangular_solve_out(tuple[Tensor, Tensor]):
    __match_args__ = ('solution', 'cloned_coefficient')
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int
    @property
    def solution(self) -> Tensor: ...
    @property
    def cloned_coefficient(self) -> Tensor: ...
def __dir__() -> list[str]: ...
