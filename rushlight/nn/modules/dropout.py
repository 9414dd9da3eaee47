"""Dropout and its relatives: active in training mode only."""

from __future__ import annotations

from rushlight import Tensor
from rushlight.nn import functional as F
from rushlight.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """The base of all: `p` is the probability of a zero; `inplace`: the result is written into the input."""

    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """What repr() shows: p, inplace."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero each element with probability p and scale the rest by 1 / (1 - p). Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with random zeros in training, else the input itself; of its shape and dtype."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with random zero channels in training, else the input itself; 2 or 3 dims."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of (N, C, H, W) or (N, C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with random zero channels in training, else the input itself; 3 or 4 dims."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with random zero channels in training, else the input itself; 4 or 5 dims."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for SELU networks. Any shape."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with elements at SELU's lower limit in training, else the input itself."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels: (N, C, *)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with channels at SELU's lower limit in training, else the input itself."""
        return F.feature_alpha_dropout(input, self.p, self.training)
