"""Dropout and its relatives: active in training mode only."""
from __future__ import annotations

from rushlight.nn.modules.function_module import FunctionModule


class _DropoutNd(FunctionModule, function=None, p=0.5, inplace=False):
    _passed: tuple[str, ...] | None = ("p", "training", "inplace")

    def _post_init(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd, function="dropout"):
    """Zero each element with probability p and scale the rest by 1 / (1 - p). Any shape."""


class Dropout1d(_DropoutNd, function="dropout1d"):
    """Zero whole channels of (N, C, L) or (C, L)."""


class Dropout2d(_DropoutNd, function="dropout2d"):
    """Zero whole channels of (N, C, H, W) or (N, C, L)."""


class Dropout3d(_DropoutNd, function="dropout3d"):
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W)."""


class AlphaDropout(_DropoutNd, function="alpha_dropout"):
    """Dropout that keeps mean and variance, for SELU networks. Any shape."""

    _passed = ("p", "training")


class FeatureAlphaDropout(_DropoutNd, function="feature_alpha_dropout"):
    """AlphaDropout of whole channels."""

    _passed = ("p", "training")
