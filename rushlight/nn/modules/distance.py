"""Distances between pairs of vectors."""

from __future__ import annotations

from rushlight.nn.modules.function_module import FunctionModule, declared


class PairwiseDistance(
    FunctionModule, function="pairwise_distance", inputs="x1, x2", p=2.0, eps=1e-6, keepdim=False
):
    """The p-norm of x1 - x2 + eps along the last dim: (N, D) or (D) -> (N) or a scalar."""

    __constants__ = ["norm", "eps", "keepdim"]
    _passed = ("norm", "eps", "keepdim")
    _handed = ("p",)
    _shown = ""

    def _post_init(self, p: float) -> None:
        self.norm = p


globals().update(declared(__name__))
