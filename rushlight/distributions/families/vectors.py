"""Normal distributions of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.lazy import package
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.utils import lazy_property

MATRICES = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


def the_one(arguments: dict[str, Any], error: type[Exception]) -> tuple[str, Tensor]:
    """The name and the value of the matrix that is given; an error of this class unless one is."""
    given = [(name, arguments[name]) for name in MATRICES if arguments[name] is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance, of its inverse; PyTorch's name, which libraries import."""
    # With rows and columns in reverse order, Cholesky's factor is the inverse of the one that is looked for.
    inverse = torch.linalg.cholesky(P.flip((-2, -1))).flip((-2, -1)).mT
    one = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torch.linalg.solve_triangular(inverse, one, upper=False)


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance, of one of the three matrices."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return torch.linalg.cholesky(matrix)
    return _precision_to_scale_tril(matrix)


def half_logdet(factor: Tensor) -> Tensor:
    """Half the logarithm of the determinant of the matrix that has this Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, away: Tensor) -> Tensor:
    """The squared length of vectors (..., n), measured by matrices' Cholesky factors (..., n, n)."""
    if factor.dim() > 2:
        return torch.linalg.solve_triangular(factor, away.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))
    columns = away.reshape(-1, away.shape[-1]).mT
    return torch.linalg.solve_triangular(factor, columns, upper=False).pow(2).sum(-2).reshape(away.shape[:-1])


# PyTorch's names, which libraries of distributions import.
_batch_mahalanobis = mahalanobis


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrices (..., n, m) times vectors (..., m)."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W."""
    return torch.linalg.cholesky(_plus_one(W.mT / D.unsqueeze(-2) @ W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of W W^T + D, by the matrix determinant lemma."""
    return 2 * half_logdet(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The squared length of x measured by W W^T + D, by Woodbury's identity."""
    along = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - mahalanobis(capacitance_tril, along)


class ScaleMatrix(Distribution):
    """The matrices that were not given are computed from `_unbroadcasted_scale_tril` when they are read."""

    _only_here = True
    _unbroadcasted_scale_tril: Tensor

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *matrix.shape[-2:]))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance, (..., n, n)."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """(..., n, n)."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The covariance matrix's inverse."""
        return self._full(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(ScaleMatrix):
    """Of the mean `loc` (..., n) and one (..., n, n) of covariance, its inverse, lower Cholesky factor."""

    __module__ = f"{package()}.distributions.multivariate_normal"

    arg_constraints = {"loc": constraints.real_vector, **MATRICES}
    support, has_rsample = constraints.real_vector, True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = the_one(locals(), ValueError)
        if matrix.dim() < 2:
            raise ValueError(
                f"{name}{' matrix' * (name == 'scale_tril')} must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    @property
    def mean(self) -> Tensor:
        """loc, (..., n)."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance, (..., n)."""
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the parameters."""
        drawn = self._empty(sample_shape, self.loc).normal_()
        return self.loc + (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        away = mahalanobis(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + away) - half_logdet(
            self._unbroadcasted_scale_tril
        )

    def entropy(self) -> Tensor:
        """In nats."""
        found = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (found + half_logdet(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


class LowRankMultivariateNormal(ScaleMatrix):
    """Of the mean `loc` (..., n) and covariance W W^T + diag(D): `cov_factor` W (..., n, m), `cov_diag` D.

    With the small matrix I + W^T D^-1 W, whose Cholesky factor is kept, the determinant is by the matrix
    determinant lemma and the inverse by Woodbury's identity, in O(n m^2) operations.
    """

    __module__ = f"{package()}.distributions.lowrank_multivariate_normal"

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.positive_vector,
    }
    support, has_rsample = constraints.real_vector, True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc.expand(batch + event), cov_diag.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """loc, (..., n)."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        """The diagonal of W W^T + diag(D), (..., n)."""
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def _unbroadcasted_scale_tril(self) -> Tensor:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return root * torch.linalg.cholesky(_plus_one(scaled @ scaled.mT))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Vectors drawn, whose gradient flows into the parameters."""
        shape = self._extended_shape(sample_shape)
        few, all_ = (
            torch.empty(size, dtype=self.loc.dtype, device=self.loc.device).normal_()
            for size in (shape[:-1] + self.cov_factor.shape[-1:], shape)
        )
        return (
            self.loc
            + (self._unbroadcasted_cov_factor @ few.unsqueeze(-1)).squeeze(-1)
            + self._unbroadcasted_cov_diag.sqrt() * all_
        )

    def _weighed(self) -> Tensor:
        """W^T D^-1."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _lowrank(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _logdet(self) -> Tensor:
        factor, diagonal = self._lowrank()
        return _batch_lowrank_logdet(factor, diagonal, self._capacitance_tril)

    def _mahalanobis(self, away: Tensor) -> Tensor:
        factor, diagonal = self._lowrank()
        return _batch_lowrank_mahalanobis(factor, diagonal, away, self._capacitance_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        away = self._mahalanobis(self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._logdet() + away)

    def entropy(self) -> Tensor:
        """In nats."""
        found = 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._logdet())
        return found.expand(self._batch_shape)


def _plus_one(matrix: Tensor) -> Tensor:
    return matrix + torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
