# Written by `python tools/stubs.py`.
"""Look-up tables: Embedding and EmbeddingBag."""
from builtins import bool as _bool, float as _float, int as _int
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from rushlight.types import Device
from typing import Any

class Embedding(_Table):
    """Rows of a table: integers (*) -> (*, embedding_dim).

    weight: (num_embeddings, embedding_dim) from N(0, 1). The row `padding_idx` starts at zero and
    gets no gradient. `max_norm`: rows are shrunk in place, when read, to that `norm_type`-norm.
    """

    embedding_dim: _int
    max_norm: _float | None
    norm_type: _float
    num_embeddings: _int
    padding_idx: Any
    scale_grad_by_freq: _bool
    sparse: _bool
    def __init__(self, num_embeddings: _int, embedding_dim: _int, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False, _weight: Tensor | None = None, _freeze: _bool = False, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: num_embeddings, embedding_dim, and padding_idx, max_norm, norm_type,
        scale_grad_by_freq, sparse where not the default.
        """
    def forward(self, input: Any) -> Tensor:
        """Integers (*) -> (*, embedding_dim), of the weight's dtype; IndexError from num_embeddings on."""
    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: _bool = True, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Embedding:
        """An Embedding around a (rows, columns) tensor; `freeze`: it is not trained."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class EmbeddingBag(_Table):
    """Sum, mean or maximum of rows of a table, for each bag of indices.

    (B, N) gives B bags of N; (N,) with `offsets` (B,), where each bag starts. Result: (B, embedding_dim).
    `per_sample_weights` (mode="sum"): as the indices. Rows `padding_idx` are left out.
    """

    embedding_dim: _int
    include_last_offset: _bool
    max_norm: _float | None
    mode: str
    norm_type: _float
    num_embeddings: _int
    padding_idx: Any
    scale_grad_by_freq: _bool
    sparse: _bool
    def __init__(self, num_embeddings: _int, embedding_dim: _int, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, mode: str = 'mean', sparse: _bool = False, _weight: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None, device: Device = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: num_embeddings, embedding_dim, mode, and max_norm, norm_type,
        scale_grad_by_freq, padding_idx where not the default.
        """
    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        """Indices (B, N), or (N,) and `offsets` (B,) -> (B, embedding_dim), of the weight's dtype.

        `per_sample_weights`: of the indices' shape, with mode="sum" alone (NotImplementedError else). An
        empty bag gives zeros.
        """
    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: _bool = True, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, mode: str = 'mean', sparse: _bool = False, include_last_offset: _bool = False, padding_idx: _int | None = None) -> EmbeddingBag:
        """An EmbeddingBag around a (rows, columns) tensor; `freeze`: it is not trained."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _Table(Module):
    """The weight of both: drawn from N(0, 1), or given; the padding row is zero."""

    def reset_parameters(self) -> None:
        """Draw the weight anew from N(0, 1); the padding row is zero."""
def _padding_index(padding_idx: _int | None, num_embeddings: _int, name: str) -> _int | None: ...
__all__ = ['Embedding', 'EmbeddingBag']
