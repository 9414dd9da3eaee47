# Written by `python tools/stubs.py`.
"""Distances between pairs of vectors."""
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class CosineSimilarity(FunctionModule):
    """The cosine of the angle between x1 and x2 along `dim`, which disappears."""

    dim: int
    eps: float
    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None: ...
    __constants__: list[Any]
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...
class PairwiseDistance(FunctionModule):
    """The p-norm of x1 - x2 + eps along the last dim: (N, D) or (D) -> (N) or a scalar."""

    eps: float
    keepdim: bool
    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...
