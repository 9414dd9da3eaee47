"""Distances between pairs of vectors."""
from __future__ import annotations

from rushlight.nn.modules.function_module import FunctionModule


class PairwiseDistance(FunctionModule, function="pairwise_distance", inputs="x1, x2", p=2.0, eps=1e-6,
                       keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dim: (N, D) or (D) -> (N) or a scalar."""

    __constants__ = ["norm", "eps", "keepdim"]
    _passed = ("norm", "eps", "keepdim")
    _handed = ("p",)
    _shown = ""

    def _post_init(self, p: float) -> None:
        self.norm = p


class CosineSimilarity(FunctionModule, function="cosine_similarity", inputs="x1, x2", dim=1, eps=1e-8):
    """The cosine of the angle between x1 and x2 along `dim`, which disappears."""

    _shown = ""
