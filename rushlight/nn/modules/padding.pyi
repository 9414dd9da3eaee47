# Written by `python tools/stubs.py`.
"""Padding of the last 1, 2 or 3 dims: circular, constant, reflected, replicated, zero.

`padding` is one number for all sides, or (left, right, top, bottom, front, back), last dim first.
"""
from builtins import float as _float, int as _int
from rushlight import Tensor
from rushlight.nn.common_types import _size_2_t, _size_4_t, _size_6_t
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any

class CircularPad1d(_CircularPadNd):
    """Wrap around the last dim of (N, C, L) or (C, L)."""

    padding: tuple[_int, _int]
    def __init__(self, padding: _size_2_t) -> None: ...
class CircularPad2d(_CircularPadNd):
    """Wrap around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[_int, _int, _int, _int]
    def __init__(self, padding: _size_4_t) -> None: ...
class CircularPad3d(_CircularPadNd):
    """Wrap around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[_int, _int, _int, _int, _int, _int]
    def __init__(self, padding: _size_6_t) -> None: ...
class ConstantPad1d(_ConstantPadNd):
    """Put `value` around the last dim of (N, C, L) or (C, L)."""

    padding: tuple[_int, _int]
    def __init__(self, padding: _size_2_t, value: _float) -> None: ...
class ConstantPad2d(_ConstantPadNd):
    """Put `value` around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[_int, _int, _int, _int]
    def __init__(self, padding: _size_4_t, value: _float) -> None: ...
class ConstantPad3d(_ConstantPadNd):
    """Put `value` around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[_int, _int, _int, _int, _int, _int]
    def __init__(self, padding: _size_6_t, value: _float) -> None: ...
class ReflectionPad1d(_ReflectionPadNd):
    """Mirror the last dim of (N, C, L) or (C, L) at the ends, without repeating these."""

    padding: tuple[_int, _int]
    def __init__(self, padding: _size_2_t) -> None: ...
class ReflectionPad2d(_ReflectionPadNd):
    """Mirror the last two dims of (N, C, H, W) or (C, H, W) at the ends, without repeating these."""

    padding: tuple[_int, _int, _int, _int]
    def __init__(self, padding: _size_4_t) -> None: ...
class ReflectionPad3d(_ReflectionPadNd):
    """Mirror the last three dims of (N, C, D, H, W) or (C, D, H, W) at the ends, without repeating these."""

    padding: tuple[_int, _int, _int, _int, _int, _int]
    def __init__(self, padding: _size_6_t) -> None: ...
class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the ends of the last dim of (N, C, L) or (C, L)."""

    padding: tuple[_int, _int]
    def __init__(self, padding: _size_2_t) -> None: ...
class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the ends of the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[_int, _int, _int, _int]
    def __init__(self, padding: _size_4_t) -> None: ...
class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the ends of the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[_int, _int, _int, _int, _int, _int]
    def __init__(self, padding: _size_6_t) -> None: ...
class ZeroPad1d(ConstantPad1d):
    """Put zeros around the last dim of (N, C, L) or (C, L)."""

    padding: tuple[_int, _int]
    def __init__(self, padding: _size_2_t) -> None: ...
    def extra_repr(self) -> str:
        """What repr() shows: padding."""
class ZeroPad2d(ConstantPad2d):
    """Put zeros around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[_int, _int, _int, _int]
    def __init__(self, padding: _size_4_t) -> None: ...
    def extra_repr(self) -> str:
        """What repr() shows: padding."""
class ZeroPad3d(ConstantPad3d):
    """Put zeros around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[_int, _int, _int, _int, _int, _int]
    def __init__(self, padding: _size_6_t) -> None: ...
    def extra_repr(self) -> str:
        """What repr() shows: padding."""
class _CircularPadNd(Module):
    """The base of circular padding; a class says in _check_input_dim which inputs it takes."""

    padding: tuple[_int, ...]
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: padding."""
    def forward(self, input: Any) -> Tensor:
        """The input with the opposite side's values around it: each size grows by its two paddings."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _ConstantPadNd(Module):
    """The base of padding with a value."""

    padding: tuple[_int, ...]
    value: _float
    def __init__(self, value: _float) -> None: ...
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: padding, value."""
    def forward(self, input: Any) -> Tensor:
        """The input with `value` around it: each size grows by its two paddings, negative ones cut off."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _ReflectionPadNd(Module):
    """The base of reflection padding."""

    padding: tuple[_int, ...]
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: padding."""
    def forward(self, input: Any) -> Tensor:
        """The input with its mirror image around it, the edge not repeated: paddings below the sizes."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _ReplicationPadNd(Module):
    """The base of replication padding."""

    padding: tuple[_int, ...]
    __constants__: list[Any]
    def extra_repr(self) -> str:
        """What repr() shows: padding."""
    def forward(self, input: Any) -> Tensor:
        """The input with its edges' values around it: each size grows by its two paddings."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
__all__ = ['CircularPad1d', 'CircularPad2d', 'CircularPad3d', 'ConstantPad1d', 'ConstantPad2d',
    'ConstantPad3d', 'ReflectionPad1d', 'ReflectionPad2d', 'ReflectionPad3d', 'ReplicationPad1d',
    'ReplicationPad2d', 'ReplicationPad3d', 'ZeroPad1d', 'ZeroPad2d', 'ZeroPad3d']
