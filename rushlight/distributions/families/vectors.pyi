# Written by `python tools/stubs.py`.
"""Normal distributions of vectors."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from typing import Any

class LowRankMultivariateNormal(ScaleMatrix):
    """Of the mean `loc` (..., n) and covariance W W^T + diag(D): `cov_factor` W (..., n, m), `cov_diag` D.

    With the small matrix I + W^T D^-1 W, whose Cholesky factor is kept, the determinant is by the matrix
    determinant lemma and the inverse by Woodbury's identity, in O(n m^2) operations.
    """

    cov_diag: Any
    cov_factor: Any
    loc: Any
    def __init__(self, loc: Tensor | float, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the parameters."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
MATRICES: dict[Any, Any]
class MultivariateNormal(ScaleMatrix):
    """Of the mean `loc` (..., n) and one (..., n, n) of covariance, its inverse, lower Cholesky factor."""

    loc: Any
    def __init__(self, loc: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor: ...
    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the parameters."""
    support: Any
    @property
    def variance(self) -> Tensor: ...
class ScaleMatrix(Distribution):
    """The matrices that were not given are computed from `_unbroadcasted_scale_tril` when they are read."""

    @property
    def covariance_matrix(self) -> Tensor: ...
    @property
    def precision_matrix(self) -> Any:
        """The covariance matrix's inverse."""
    @property
    def scale_tril(self) -> Tensor: ...
def _batch_capacitance_tril(W: Any, D: Any) -> Any:
    """The Cholesky factor of I + W^T D^-1 W."""
def _batch_lowrank_logdet(W: Any, D: Any, capacitance_tril: Any) -> Any:
    """The logarithm of the determinant of W W^T + D, by the matrix determinant lemma."""
def _batch_lowrank_mahalanobis(W: Any, D: Any, x: Tensor, capacitance_tril: Any) -> Any:
    """The squared length of x measured by W W^T + D, by Woodbury's identity."""
def _batch_mahalanobis(factor: Any, away: Any) -> Any:
    """The squared length of vectors (..., n), measured by matrices' Cholesky factors (..., n, n)."""
def _batch_mv(bmat: Any, bvec: Any) -> Any:
    """Matrices (..., n, m) times vectors (..., m)."""
def _plus_one(matrix: Any) -> Any: ...
def _precision_to_scale_tril(P: Any) -> Any:
    """The lower Cholesky factor of the covariance, of its inverse; PyTorch's name, which libraries import."""
def factor_of(name: Any, matrix: Any) -> Any:
    """The lower Cholesky factor of the covariance, of one of the three matrices."""
def half_logdet(factor: Any) -> Any:
    """Half the logarithm of the determinant of the matrix that has this Cholesky factor."""
def mahalanobis(factor: Any, away: Any) -> Any:
    """The squared length of vectors (..., n), measured by matrices' Cholesky factors (..., n, n)."""
def the_one(arguments: Any, error: Any) -> Any:
    """The name and the value of the matrix that is given; an error of this class unless one is."""
