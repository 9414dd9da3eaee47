# Written by `python tools/stubs.py`.
"""Transforms of vectors and matrices."""
from rushlight import Tensor
from rushlight._engine.core.size import Size
from rushlight.distributions.transforms.base import Alike, Transform
from typing import Any

class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices (n, n).

    tanh of the numbers are partial correlations; a row's entries take, in turn, their part of what is left of
    its length 1 (Stan reference manual, Cholesky factors of correlation matrices).
    """

    bijective: bool
    codomain: Any
    domain: Any
    def forward_shape(self, shape: Any) -> Size:
        """(..., n, n)."""
    def inverse_shape(self, shape: Any) -> Size:
        """(..., n (n - 1) / 2)."""
    def log_abs_det_jacobian(self, x: Tensor, y: Any, intermediates: Any = None) -> Tensor:
        """tanh's, and half the logarithms of what is left before each entry but a row's first."""
class LowerCholeskyTransform(Alike):
    """Matrices' lower triangles, with exp of the diagonal."""

    codomain: Any
    domain: Any
class PositiveDefiniteTransform(LowerCholeskyTransform):
    """L L^T of matrices that LowerCholeskyTransform makes of matrices."""

    codomain: Any
class ReshapeTransform(Transform):
    """Values of `in_shape` as values of `out_shape`, which has as many elements."""

    in_shape: Any
    out_shape: Any
    def __init__(self, in_shape: Any, out_shape: Any, cache_size: float = 0) -> None: ...
    bijective: bool
    @property
    def codomain(self) -> Any: ...
    @property
    def domain(self) -> Any: ...
    def forward_shape(self, shape: Any) -> Size: ...
    def inverse_shape(self, shape: Any) -> Size: ...
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor: ...
class SoftmaxTransform(Alike):
    """Vectors as probabilities by exp and a division; the inverse, log, is one of many."""

    codomain: Any
    domain: Any
    def forward_shape(self, shape: Any) -> Size: ...
    def inverse_shape(self, shape: Any) -> Size: ...
class StickBreakingTransform(Alike):
    """Vectors as probabilities of one more class: each number says how much of the rest its class takes.

    Stan reference manual, Unit simplex transform.
    """

    bijective: bool
    codomain: Any
    domain: Any
    def forward_shape(self, shape: Any) -> Size: ...
    def inverse_shape(self, shape: Any) -> Size: ...
    def log_abs_det_jacobian(self, x: Tensor, y: Any) -> Tensor:
        """The matrix is triangular: the sum of log(share (1 - taken))."""
def _exchanged(shape: Any, ours: Any, theirs: Any) -> Any: ...
def _of_dims(shape: Any, least: Any) -> Any: ...
