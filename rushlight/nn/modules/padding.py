"""Padding of the last 1, 2 or 3 dims: circular, constant, reflected, replicated, zero.

`padding` is one number for all sides, or (left, right, top, bottom, front, back), last dim first.
"""

from __future__ import annotations

from typing import Any

from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import FunctionModule, declared, members
from rushlight.nn.modules.utils import _ntuple


class _Pad(FunctionModule, function=None, padding=Any):
    _members_init = True
    _shown = "padding"

    def _post_init(self) -> None:
        self.padding = _ntuple(2 * self._dims)(self.padding)

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, mode=self._mode)


class _CircularPadNd(_Pad):
    """Wrap around {last} of {images}."""

    _mode = "circular"

    def _check_input_dim(self, input: Any) -> None:
        dims = len(self.padding) // 2
        if input.dim() not in (dims + 1, dims + 2):
            raise ValueError(f"expected {dims + 1}D or {dims + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        return F.pad(input, self.padding, self._mode)


CircularPad1d, CircularPad2d, CircularPad3d = members(_CircularPadNd, 1, 2, 3)


class _ConstantPadNd(_Pad, function=None, padding=Any, value=float):
    """Put `value` around {last}."""

    _shown = "padding=, value="

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, "constant", self.value)


ConstantPad1d, ConstantPad2d, ConstantPad3d = members(_ConstantPadNd, 1, 2, 3)


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


globals().update(declared(__name__, _Pad))
