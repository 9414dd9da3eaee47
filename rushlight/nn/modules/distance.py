"""Distances between pairs of vectors."""
from __future__ import annotations

from typing import Any

from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.module import Module


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim: (N, D) or (D) -> (N) or a scalar."""

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(FunctionModule, function="cosine_similarity", inputs="x1, x2", dim=1, eps=1e-8):
    """The cosine of the angle between x1 and x2 along `dim`, which disappears."""

    _shown = ()
