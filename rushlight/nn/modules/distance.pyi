# Written by `python tools/stubs.py`.
"""Distances between pairs of vectors."""
from builtins import bool as _bool, float as _float, int as _int
from rushlight import Tensor
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along `dim`, which disappears: (*, D, *) -> (*, *)."""

    dim: _int
    eps: _float
    def __init__(self, dim: _int = 1, eps: _float = 1e-08) -> None: ...
    __constants__: list[Any]
    def forward(self, x1: Any, x2: Any) -> Tensor:
        """Cosines in [-1, 1], without the dim `dim`; shapes broadcast. `eps` bounds each norm from below."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim: (N, D) or (D) -> (N) or a scalar.

    `keepdim`: the last dim stays, with size 1.
    """

    eps: _float
    keepdim: _bool
    norm: _float
    def __init__(self, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> None: ...
    __constants__: list[Any]
    def forward(self, x1: Any, x2: Any) -> Tensor:
        """(N, D) and (N, D) -> (N,), or (N, 1) with `keepdim`; shapes broadcast."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
__all__ = ['CosineSimilarity', 'PairwiseDistance']
