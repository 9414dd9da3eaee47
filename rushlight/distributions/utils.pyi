# Written by `python tools/stubs.py`.
"""torch.distributions.utils: parameters as tensors, probabilities and logits, lazy attributes."""
from functools import cached_property
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from typing import Any

def _below(n: Any, diag: Any, like: Any) -> Any: ...
def _standard_normal(shape: Any, dtype: _dtype, device: str | int | _device) -> Any:
    """Draws of the standard normal distribution."""
def _sum_rightmost(value: Any, dims: Any) -> Any:
    """The sum over the last `dims` dims."""
def absent(name: Any) -> Any:
    """A method that raises NotImplementedError."""
def broadcast_all(*values: Any) -> Any:
    """Numbers and tensors as tensors of one shape; numbers take the first tensor's dtype, or the default.

    ValueError for anything else.
    """
def clamp_probs(probs: Tensor | float) -> Any:
    """Probabilities between eps and 1 - eps of their dtype, whose logarithms are finite."""
def demand(holds: Any, text: Any) -> Any:
    """AssertionError unless something holds."""
euler_constant: float
class lazy_property(cached_property):
    """A property that is computed when it is first read, with gradients, and is an attribute from then on."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The attribute's value; the property itself when asked of the class."""
def logits_to_probs(logits: Tensor | float, is_binary: bool = False) -> Any:
    """Probabilities of log-odds (is_binary), or of logarithms of probabilities along the last dim."""
def of_base(name: Any) -> Any:
    """A property that is the base distribution's."""
def one_of(probs: Tensor | float, logits: Tensor | float) -> Any:
    """The name and the value of the one that is given; ValueError unless exactly one is."""
def probs_to_logits(probs: Tensor | float, is_binary: bool = False) -> Any:
    """Log-odds of probabilities (is_binary), or their logarithms; 0 and 1 are moved inwards."""
def sum_rightmost(value: Any, dims: Any) -> Any:
    """The sum over the last `dims` dims."""
def tril_matrix_to_vec(mat: Tensor, diag: float = 0) -> Any:
    """The elements on and below a diagonal of matrices (..., n, n), row by row: (..., number of them)."""
def vec_to_tril_matrix(vec: Any, diag: float = 0) -> Any:
    """Matrices (..., n, n) of elements on and below a diagonal, given row by row, and zeros elsewhere."""
__all__ = ['broadcast_all', 'clamp_probs', 'lazy_property', 'logits_to_probs', 'probs_to_logits',
    'tril_matrix_to_vec', 'vec_to_tril_matrix']
