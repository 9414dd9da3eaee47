# Written by `python tools/stubs.py`.
"""Dropout and its relatives: active in training mode only."""
from builtins import bool as _bool, float as _float
from rushlight import Tensor
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for SELU networks. Any shape."""

    def forward(self, input: Any) -> Tensor:
        """The input with elements at SELU's lower limit in training, else the input itself."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Dropout(_DropoutNd):
    """Zero each element with probability p and scale the rest by 1 / (1 - p). Any shape."""

    def forward(self, input: Any) -> Tensor:
        """The input with random zeros in training, else the input itself; of its shape and dtype."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Dropout1d(_DropoutNd):
    """Zero whole channels of (N, C, L) or (C, L)."""

    def forward(self, input: Any) -> Tensor:
        """The input with random zero channels in training, else the input itself; 2 or 3 dims."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Dropout2d(_DropoutNd):
    """Zero whole channels of (N, C, H, W) or (N, C, L)."""

    def forward(self, input: Any) -> Tensor:
        """The input with random zero channels in training, else the input itself; 3 or 4 dims."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Dropout3d(_DropoutNd):
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Any) -> Tensor:
        """The input with random zero channels in training, else the input itself; 4 or 5 dims."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels: (N, C, *)."""

    def forward(self, input: Any) -> Tensor:
        """The input with channels at SELU's lower limit in training, else the input itself."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _DropoutNd(Module):
    """The base of all: `p` is the probability of a zero; `inplace`: the result is written into the input."""

    inplace: _bool
    p: _float
    def __init__(self, p: _float = 0.5, inplace: _bool = False) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: p, inplace."""
__all__ = ['AlphaDropout', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'FeatureAlphaDropout']
