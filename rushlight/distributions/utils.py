"""torch.distributions.utils: parameters as tensors, probabilities and logits, lazy attributes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Self, TypeVar, overload

import rushlight as torch
from rushlight import Tensor
from rushlight.overrides import is_tensor_like

_T = TypeVar("_T")
euler_constant = 0.57721566490153286060

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def absent(self: object, name: str) -> NotImplementedError:
    """What an object raises for something that its class does not tell."""
    return NotImplementedError(f"{type(self)} does not implement {name}")


def demand(holds: Any, text: str) -> None:
    """AssertionError unless something holds."""
    if not holds:
        raise AssertionError(text)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the first tensor's dtype, or the default.

    ValueError for anything else.
    """
    if not all(is_tensor_like(v) or isinstance(v, (int, float, bool)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    like = next((v for v in values if isinstance(v, Tensor)), torch.empty(()))
    number = partial(torch.tensor, dtype=like.dtype, device=like.device)
    found = [v if is_tensor_like(v) else number(v) for v in values]
    # Parameters stay what they are where they can: leaves, say.
    if any(v.shape != found[0].shape for v in found):
        found = [v if v.shape == w.shape else w for v, w in zip(found, torch.broadcast_tensors(*found))]
    return tuple(found)


class of_base:
    """A parameter or a moment, a tensor, that is the base distribution's; `a.b` is of its attribute a."""

    def __init__(self, path: str) -> None:
        self.read = attrgetter(f"base_dist.{path}")

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> Tensor: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The base distribution's; the descriptor itself when asked of the class."""
        return self if instance is None else self.read(instance)


def one_of(probs: Tensor | float | None, logits: Tensor | float | None) -> tuple[str, Any]:
    """The name and the value of the one that is given; ValueError unless exactly one is."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("probs", probs) if logits is None else ("logits", logits)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds (is_binary), or of logarithms of probabilities along the last dim."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities between eps and 1 - eps of their dtype, whose logarithms are finite."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of probabilities (is_binary), or their logarithms; 0 and 1 are moved inwards."""
    inner = clamp_probs(probs)
    return inner.log() - (-inner).log1p() if is_binary else inner.log()


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last `dims` dims."""
    return value.reshape((*value.shape[:-dims], -1)).sum(-1) if dims else value


_sum_rightmost = sum_rightmost  # PyTorch's name, which libraries of distributions import


class lazy_property(cached_property[_T]):
    """A property that is computed when it is first read, with gradients, and is an attribute from then on."""

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> _T: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The attribute's value; the property itself when asked of the class."""
        with torch.enable_grad():
            return super().__get__(instance, owner)


def _below(n: int, diag: int, like: Tensor) -> Tensor:
    places = torch.arange(n, device=like.device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of matrices (..., n, n), row by row: (..., number of them)."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices (..., n, n) of elements on and below a diagonal, given row by row, and zeros elsewhere."""
    # Below diag there are (n + diag)(n + diag + 1) / 2 elements, less the triangle beyond the edge.
    shift = 1 + 2 * diag
    n = (-shift + (shift**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the "
            "lower triangular part of a square D x D matrix."
        )
    found = vec.new_zeros((*vec.shape[:-1], round(n), round(n)))
    found[..., _below(round(n), diag, vec)] = vec
    return found


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Draws of the standard normal distribution."""
    return torch.randn(shape, dtype=dtype, device=device)
