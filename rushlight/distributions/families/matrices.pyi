# Written by `python tools/stubs.py`.
"""Distributions of matrices."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.families.gamma import Chi2
from rushlight.distributions.families.shares import Beta
from rushlight.distributions.families.vectors import ScaleMatrix
from typing import Any

class LKJCholesky(Distribution):
    """Lower factors (dim, dim) of correlation matrices of density det^(concentration - 1), up to a factor.

    D. Lewandowski, D. Kurowicka, H. Joe, Generating random correlation matrices based on vines and extended
    onion method, 2009.
    """

    dim: Any
    def __init__(self, dim: Any, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None: ...
    arg_constraints: dict[Any, Any]
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the factors' density."""
    support: Any
class Wishart(ScaleMatrix, ExponentialFamily):
    """The sum of x x^T over `df` normal vectors x (..., p) of one covariance matrix V; any df > p - 1.

    Given are df and one of V, its inverse, its lower Cholesky factor. Density: det(X)^((df - p - 1) / 2)
    exp(-tr(V^-1 X) / 2) / (2^(df p / 2) det(V)^(df / 2) gamma_p(df / 2)).
    """

    df: Any
    def __init__(self, df: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None: ...
    @property
    def arg_constraints(self) -> Any: ...
    def entropy(self) -> Tensor:
        """In nats."""
    has_rsample: bool
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
    @property
    def mean(self) -> Tensor: ...
    @property
    def mode(self) -> Tensor:
        """(df - p - 1) V; nan where that is not positive."""
    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: Any = None) -> Tensor:
        """Matrices drawn, whose gradient flows into the parameters.

        PyTorch means to draw again what came out singular, but takes what did not for it: each regular matrix
        of the first draw is drawn once more, with a warning. So it is here, for the same numbers.
        """
    support: Any
    @property
    def variance(self) -> Tensor:
        """Of each element: df (V_ij^2 + V_ii V_jj)."""
