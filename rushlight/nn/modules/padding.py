"""Padding of the last 1, 2 or 3 dims: circular, constant, reflected, replicated, zero.

`padding` is one number for all sides, or (left, right, top, bottom, front, back), last dim first.
"""
from __future__ import annotations

from typing import Any

from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.utils import _ntuple


class _Pad(FunctionModule, function=None, padding=Any):
    _members_init = True
    _shown = "padding"

    def _post_init(self) -> None:
        self.padding = _ntuple(2 * self._dims)(self.padding)

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, mode=self._mode)


class _CircularPadNd(_Pad):
    _mode = "circular"

    def _check_input_dim(self, input: Any) -> None:
        dims = len(self.padding) // 2
        if input.dim() not in (dims + 1, dims + 2):
            raise ValueError(f"expected {dims + 1}D or {dims + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd, dims=1):
    """Wrap around the last dim of (N, C, W) or (C, W)."""


class CircularPad2d(_CircularPadNd, dims=2):
    """Wrap around the last two dims of (N, C, H, W) or (C, H, W)."""


class CircularPad3d(_CircularPadNd, dims=3):
    """Wrap around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""


class _ConstantPadNd(_Pad, function=None, padding=Any, value=float):
    _shown = "padding=, value="

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd, dims=1):
    """Put `value` around the last dim."""


class ConstantPad2d(_ConstantPadNd, dims=2):
    """Put `value` around the last two dims."""


class ConstantPad3d(_ConstantPadNd, dims=3):
    """Put `value` around the last three dims."""


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd, dims=1):
    """Mirror the last dim at its ends, without repeating them."""


class ReflectionPad2d(_ReflectionPadNd, dims=2):
    """Mirror the last two dims at their ends."""


class ReflectionPad3d(_ReflectionPadNd, dims=3):
    """Mirror the last three dims at their ends."""


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd, dims=1):
    """Repeat the ends of the last dim."""


class ReplicationPad2d(_ReplicationPadNd, dims=2):
    """Repeat the ends of the last two dims."""


class ReplicationPad3d(_ReplicationPadNd, dims=3):
    """Repeat the ends of the last three dims."""


class _ZeroPad:
    """A constant pad whose value is 0 and is not shown."""

    _shown = "padding"

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)  # type: ignore[call-arg]


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Put zeros around the last dim."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Put zeros around the last two dims."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Put zeros around the last three dims."""
