# Written by `python tools/stubs.py`.
"""Padding of the last 1, 2 or 3 dims: circular, constant, reflected, replicated, zero.

`padding` is one number for all sides, or (left, right, top, bottom, front, back), last dim first.
"""
from collections.abc import Sequence
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class CircularPad1d(_CircularPadNd):
    """Wrap around the last dim of (N, C, L) or (C, L)."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class CircularPad2d(_CircularPadNd):
    """Wrap around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class CircularPad3d(_CircularPadNd):
    """Wrap around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ConstantPad1d(_ConstantPadNd):
    """Put `value` around the last dim."""

    value: float
    def __init__(self, padding: int | str | Sequence[int], value: float) -> None: ...
class ConstantPad2d(_ConstantPadNd):
    """Put `value` around the last two dims."""

    value: float
    def __init__(self, padding: int | str | Sequence[int], value: float) -> None: ...
class ConstantPad3d(_ConstantPadNd):
    """Put `value` around the last three dims."""

    value: float
    def __init__(self, padding: int | str | Sequence[int], value: float) -> None: ...
class ReflectionPad1d(_ReflectionPadNd):
    """Mirror the last dim at the ends, without repeating these."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ReflectionPad2d(_ReflectionPadNd):
    """Mirror the last two dims at the ends, without repeating these."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ReflectionPad3d(_ReflectionPadNd):
    """Mirror the last three dims at the ends, without repeating these."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the ends of the last dim."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the ends of the last two dims."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the ends of the last three dims."""

    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Put zeros around the last dim."""

class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Put zeros around the last two dims."""

class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Put zeros around the last three dims."""

class _CircularPadNd(_Pad):
    """Wrap around {last} of {images}."""

    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class _ConstantPadNd(_Pad):
    """Put `value` around {last}."""

    value: float
    def __init__(self, padding: int | str | Sequence[int], value: float) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class _Pad(FunctionModule):
    padding: int | str | Sequence[int]
    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class _ReflectionPadNd(_Pad):
    """Mirror {last} at the ends, without repeating these."""

class _ReplicationPadNd(_Pad):
    """Repeat the ends of {last}."""

class _ZeroPad:
    """A constant pad whose value is 0 and is not shown."""

    def __init__(self, padding: int | str | Sequence[int]) -> None: ...
