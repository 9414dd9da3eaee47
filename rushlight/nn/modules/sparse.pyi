# Written by `python tools/stubs.py`.
"""Look-up tables: Embedding and EmbeddingBag."""
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class Embedding(_Table):
    """Rows of a table: integers (*) -> (*, embedding_dim).

    weight: (num_embeddings, embedding_dim) from N(0, 1). The row `padding_idx` starts at zero and
    gets no gradient. `max_norm`: rows are shrunk in place, when read, to that `norm_type`-norm.
    """

    embedding_dim: int
    max_norm: Any
    norm_type: float
    num_embeddings: int
    padding_idx: Any
    scale_grad_by_freq: bool
    sparse: bool
    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None, _freeze: bool = False, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor) -> Tensor: ...
    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Embedding:
        """An Embedding around a (rows, columns) tensor; `freeze`: it is not trained."""
    def __call__(self, input: Tensor) -> Tensor: ...
class EmbeddingBag(_Table):
    """Sum, mean or maximum of rows of a table, for each bag of indices.

    (B, N) gives B bags of N; (N,) with `offsets` (B,), where each bag starts. Result:
    (B, embedding_dim). `per_sample_weights` (mode="sum"): as the indices. Rows `padding_idx` are
    left out.
    """

    embedding_dim: int
    include_last_offset: bool
    max_norm: Any
    mode: str
    norm_type: float
    num_embeddings: int
    padding_idx: Any
    scale_grad_by_freq: bool
    sparse: bool
    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, _weight: Any = None, include_last_offset: bool = False, padding_idx: Any = None, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str: ...
    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor: ...
    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None) -> EmbeddingBag:
        """An EmbeddingBag around a (rows, columns) tensor; `freeze`: it is not trained."""
    def __call__(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor: ...
class _Table(FunctionModule):
    """The weight of both: drawn from N(0, 1), or given; the padding row is zero."""

    def reset_parameters(self) -> None: ...
def _padding_index(padding_idx: int | None, num_embeddings: int, name: str) -> int | None: ...
