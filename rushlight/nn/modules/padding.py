"""Padding of the last 1, 2 or 3 dims: circular, constant, reflected, replicated, zero.

`padding` is one number for all sides, or (left, right, top, bottom, front, back), last dim first.
"""

from __future__ import annotations

from rushlight import Tensor
from rushlight.nn import functional as F
from rushlight.nn.common_types import _size_2_t, _size_4_t, _size_6_t
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6, "_sextuple")


class _CircularPadNd(Module):
    """The base of circular padding; a class says in _check_input_dim which inputs it takes."""

    __constants__ = ["padding"]

    padding: tuple[int, ...]

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")

    def forward(self, input: Tensor) -> Tensor:
        """The input with the opposite side's values around it: each size grows by its two paddings."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")

    def extra_repr(self) -> str:
        """What repr() shows: padding."""
        return f"{self.padding}"


class CircularPad1d(_CircularPadNd):
    """Wrap around the last dim of (N, C, L) or (C, L)."""

    padding: tuple[int, int]

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class CircularPad2d(_CircularPadNd):
    """Wrap around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[int, int, int, int]

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class CircularPad3d(_CircularPadNd):
    """Wrap around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[int, int, int, int, int, int]

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


class _ConstantPadNd(Module):
    """The base of padding with a value."""

    __constants__ = ["padding", "value"]

    value: float
    padding: tuple[int, ...]

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input with `value` around it: each size grows by its two paddings, negative ones cut off."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """What repr() shows: padding, value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Put `value` around the last dim of (N, C, L) or (C, L)."""

    padding: tuple[int, int]

    def __init__(self, padding: _size_2_t, value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Put `value` around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[int, int, int, int]

    def __init__(self, padding: _size_4_t, value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Put `value` around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[int, int, int, int, int, int]

    def __init__(self, padding: _size_6_t, value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class _ReflectionPadNd(Module):
    """The base of reflection padding."""

    __constants__ = ["padding"]

    padding: tuple[int, ...]

    def forward(self, input: Tensor) -> Tensor:
        """The input with its mirror image around it, the edge not repeated: paddings below the sizes."""
        return F.pad(input, self.padding, mode="reflect")

    def extra_repr(self) -> str:
        """What repr() shows: padding."""
        return f"{self.padding}"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror the last dim of (N, C, L) or (C, L) at the ends, without repeating these."""

    padding: tuple[int, int]

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror the last two dims of (N, C, H, W) or (C, H, W) at the ends, without repeating these."""

    padding: tuple[int, int, int, int]

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror the last three dims of (N, C, D, H, W) or (C, D, H, W) at the ends, without repeating these."""

    padding: tuple[int, int, int, int, int, int]

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(Module):
    """The base of replication padding."""

    __constants__ = ["padding"]

    padding: tuple[int, ...]

    def forward(self, input: Tensor) -> Tensor:
        """The input with its edges' values around it: each size grows by its two paddings."""
        return F.pad(input, self.padding, mode="replicate")

    def extra_repr(self) -> str:
        """What repr() shows: padding."""
        return f"{self.padding}"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the ends of the last dim of (N, C, L) or (C, L)."""

    padding: tuple[int, int]

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the ends of the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[int, int, int, int]

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the ends of the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[int, int, int, int, int, int]

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class ZeroPad1d(ConstantPad1d):
    """Put zeros around the last dim of (N, C, L) or (C, L)."""

    padding: tuple[int, int]

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """What repr() shows: padding."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Put zeros around the last two dims of (N, C, H, W) or (C, H, W)."""

    padding: tuple[int, int, int, int]

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """What repr() shows: padding."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Put zeros around the last three dims of (N, C, D, H, W) or (C, D, H, W)."""

    padding: tuple[int, int, int, int, int, int]

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """What repr() shows: padding."""
        return f"{self.padding}"
