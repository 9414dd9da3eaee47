"""The normal distribution of vectors."""
from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight.distributions import constraints
from rushlight.distributions.distribution import Distribution, noise


class MultivariateNormal(Distribution):
    """Of the mean `loc` (..., n) and one (..., n, n) of covariance, its inverse, lower Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    shared = ("_factor",)

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: bool | None = None) -> None:
        given = {name: value for name, value in locals().items()
                 if name in self.arg_constraints and name != "loc" and value is not None}
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                             "specified.")
        [(name, matrix)] = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch "
                             "dimensions")
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "precision_matrix":
            matrix = torch.linalg.inv(matrix)
        self._factor = matrix if name == "scale_tril" else torch.linalg.cholesky(matrix)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self._factor.pow(2).sum(-1).expand(self._extended_shape()))

    def __getattr__(self, name: str) -> Any:
        # The matrices that were not given.
        if name not in self.arg_constraints or name == "loc":
            return super().__getattr__(name)
        factor = self._factor
        found = (factor if name == "scale_tril" else factor @ factor.mT if name == "covariance_matrix"
                 else torch.cholesky_inverse(factor))
        return found.expand((*self._extended_shape(), -1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Vectors drawn, whose gradient flows into the parameters."""
        drawn = noise(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._factor @ drawn.unsqueeze(-1)).squeeze(-1)

    def _half_logdet(self) -> Any:
        return self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        away = (self._checked(value) - self.loc).unsqueeze(-1)
        turned = torch.linalg.solve_triangular(self._factor, away, upper=False).squeeze(-1)
        away = self.loc.shape[-1] * math.log(2 * math.pi) + turned.pow(2).sum(-1)
        return -0.5 * away - self._half_logdet()

    def entropy(self) -> Any:
        """In nats."""
        found = 0.5 * self.loc.shape[-1] * (1 + math.log(2 * math.pi)) + self._half_logdet()
        return found.expand(self._batch_shape)
