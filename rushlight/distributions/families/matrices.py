"""Distributions of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.callers import warn
from rushlight._engine.lazy import package
from rushlight.distributions import constraints
from rushlight.distributions.constraints import corr_cholesky, positive
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.exp_family import ExponentialFamily
from rushlight.distributions.families.gamma import Chi2
from rushlight.distributions.families.shares import Beta
from rushlight.distributions.families.vectors import MATRICES, ScaleMatrix, factor_of, half_logdet, the_one
from rushlight.distributions.utils import broadcast_all


class Wishart(ScaleMatrix, ExponentialFamily):
    """The sum of x x^T over `df` normal vectors x (..., p) of one covariance matrix V; any df > p - 1.

    Given are df and one of V, its inverse, its lower Cholesky factor. Density: det(X)^((df - p - 1) / 2)
    exp(-tr(V^-1 X) / 2) / (2^(df p / 2) det(V)^(df / 2) gamma_p(df / 2)).
    """

    __module__ = f"{package()}.distributions.wishart"

    support, has_rsample = constraints.positive_definite, True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = the_one(locals(), AssertionError)
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch, event = matrix.shape[:-2], matrix.shape[-2:]
        if isinstance(df, Tensor):
            batch = torch.broadcast_shapes(batch, df.shape)
            self.df = df.expand(batch)
        else:
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        p = event[-1]
        if (self.df <= p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        if (self.df < p).any():
            warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim."
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        degrees = self.df.unsqueeze(-1) - torch.arange(p, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(degrees.expand((*batch, p)))

    @property
    def arg_constraints(self) -> Any:
        """Which values the parameters may have; df is above p - 1."""
        return {**MATRICES, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _times(self, factor: Tensor, matrix: Tensor) -> Tensor:
        return factor.expand(self._batch_shape)[..., None, None] * matrix

    @property
    def mean(self) -> Tensor:
        """df V, (..., p, p)."""
        return self._times(self.df, self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        """(df - p - 1) V; nan where that is not positive."""
        factor = self.df - self._event_shape[-1] - 1
        return self._times(factor.masked_fill(factor <= 0, math.nan), self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        """Of each element: df (V_ij^2 + V_ii V_jj)."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self._times(self.df, v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett(self, sample_shape: Sequence[int]) -> Tensor:
        """By normals below the diagonal and square roots of chi-squared numbers on it (Bartlett, 1933)."""
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        drawn = roots.clamp(min=torch.finfo(roots.dtype).eps).diag_embed()
        i, j = torch.tril_indices(p, p, offset=-1)
        drawn[..., i, j] = torch.randn(
            (*sample_shape, *self._batch_shape, p * (p - 1) // 2), dtype=drawn.dtype, device=drawn.device
        )
        factor = self._unbroadcasted_scale_tril @ drawn
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Tensor:
        """Matrices drawn, whose gradient flows into the parameters.

        PyTorch means to draw again what came out singular, but takes what did not for it: each regular matrix
        of the first draw is drawn once more, with a warning. So it is here, for the same numbers.
        """
        sample = self._bartlett(torch.Size(sample_shape))
        again = self._anywhere(self.support.check(sample))
        if again.any():
            warn("Singular sample detected.")
            for _ in range(10 if max_try_correction is None else max_try_correction):
                new = self._bartlett(again[again].shape)
                sample[again] = new
                again[again.clone()] = self._anywhere(~self.support.check(new))
                if not again.any():
                    break
        return sample

    def _anywhere(self, found: Tensor) -> Tensor:
        """Whether something is so anywhere in a batch."""
        dims = len(self._batch_shape)
        return found.flatten(-dims).any(-1) if dims else found

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        value, p, factor = self._checked(value), self._event_shape[-1], self._unbroadcasted_scale_tril
        norm = self.df * (p * math.log(2) / 2 + half_logdet(factor)) + torch.mvlgamma(self.df / 2, p)
        trace = torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (self.df - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - norm - trace / 2

    def entropy(self) -> Tensor:
        """In nats."""
        p, half = self._event_shape[-1], self.df / 2
        places = torch.arange(p, dtype=half.dtype, device=half.device) / 2
        digammas = torch.digamma(half.unsqueeze(-1) - places).sum(-1)
        size = p * math.log(2) / 2 + half_logdet(self._unbroadcasted_scale_tril)
        return (p + 1) * size + torch.mvlgamma(half, p) - (self.df - p - 1) / 2 * digammas + self.df * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2) - torch.linalg.slogdet(-2 * x).logabsdet) + torch.mvlgamma(half, p)


class LKJCholesky(Distribution):
    """Lower factors (dim, dim) of correlation matrices of density det^(concentration - 1), up to a factor.

    D. Lewandowski, D. Kurowicka, H. Joe, Generating random correlation matrices based on vines and extended
    onion method, 2009.
    """

    __module__ = f"{package()}.distributions.lkj_cholesky"

    arg_constraints = {"concentration": positive}
    support = corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        [self.concentration] = broadcast_all(concentration)
        # Of the squared length of a row below the diagonal, by the row's number.
        c = self.concentration
        rows = (torch.arange(dim, dtype=c.dtype, device=c.device) - 1).clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, marginal.unsqueeze(-1) - 0.5 * rows)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def _draw(self, sample_shape: Sequence[int]) -> Tensor:
        """Matrices drawn: each row a direction and a length."""
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        drawn = self._empty(sample_shape, squared).normal_().tril(-1)
        direction = drawn / drawn.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0
        below = squared.sqrt() * direction
        rest = (1 - (below**2).sum(-1)).clamp(min=torch.finfo(below.dtype).tiny).sqrt()
        return below + torch.diag_embed(rest)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the factors' density."""
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = torch.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        free = self.dim - 1
        alpha = self.concentration + 0.5 * free
        norm = 0.5 * free * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, free) - torch.lgamma(alpha) * free
        return (powers * diagonal.log()).sum(-1) - norm
