"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Size, Tensor
from rushlight.distributions import constraints
from rushlight.distributions.transforms.base import Alike, Transform
from rushlight.distributions.transforms.elementwise import clipped_sigmoid
from rushlight.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from rushlight.nn.functional import logsigmoid, pad, softplus


def _of_dims(shape: Sequence[int], least: int) -> Sequence[int]:
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")
    return shape


class ReshapeTransform(Transform):
    """Values of `in_shape` as values of `out_shape`, which has as many elements."""

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")

    @constraints.dependent_property
    def domain(self) -> Any:
        """Real numbers in in_shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Real numbers in out_shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Zeros of the batch's shape: no value changes."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape with out_shape for in_shape at its end; ValueError where it does not end so."""
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape with in_shape for out_shape at its end; ValueError where it does not end so."""
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape: Sequence[int], ours: Size, theirs: Size) -> Size:
    cut = len(_of_dims(shape, len(ours))) - len(ours)
    if shape[cut:] != ours:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {ours}")
    return torch.Size((*shape[:cut], *theirs))


class SoftmaxTransform(Alike):
    """Vectors as probabilities by exp and a division; the inverse, log, is one of many."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        found = (x - x.max(-1, True)[0]).exp()
        return found / found.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The same; ValueError for no dims."""
        return _of_dims(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(Alike):
    """Vectors as probabilities of one more class: each number says how much of the rest its class takes.

    Stan reference manual, Unit simplex transform.
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _offset(self, x: Tensor) -> Tensor:
        """The logarithms of how many classes come after each: so that zeros are equal shares."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        taken = clipped_sigmoid(x - self._offset(x))
        return pad(taken, [0, 1], value=1) * pad((1 - taken).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        rest = (1 - shares.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return shares.log() - rest.log() + self._offset(shares)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The matrix is triangular: the sum of log(share (1 - taken))."""
        x = x - self._offset(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """(..., K - 1) -> (..., K); ValueError for no dims."""
        return (*_of_dims(shape, 1)[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """(..., K) -> (..., K - 1); ValueError for no dims."""
        return (*_of_dims(shape, 1)[:-1], shape[-1] - 1)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices (n, n).

    tanh of the numbers are partial correlations; a row's entries take, in turn, their part of what is left of
    its length 1 (Stan reference manual, Cholesky factors of correlation matrices).
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        one = torch.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return (partial + one) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        """tanh's, and half the logarithms of what is left before each entry but a row's first."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """(..., n, n)."""
        count = _of_dims(shape, 1)[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """(..., n (n - 1) / 2)."""
        n = _of_dims(shape, 2)[-1]
        if shape[-2] != n:
            raise ValueError("Input is not square")
        return (*shape[:-2], n * (n - 1) // 2)


class LowerCholeskyTransform(Alike):
    """Matrices' lower triangles, with exp of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """L L^T of matrices that LowerCholeskyTransform makes of matrices."""

    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = super()._call(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return super()._inverse(torch.linalg.cholesky(y))
