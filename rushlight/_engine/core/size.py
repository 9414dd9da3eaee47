"""torch.Size: the tuple of a tensor's sizes."""

from __future__ import annotations

import math
from operator import index
from typing import Any, SupportsIndex, TypeVar, overload

from rushlight._engine.lazy import package

_T = TypeVar("_T")


class Size(tuple[int, ...]):
    """A tuple of ints; slicing and adding give a Size again."""

    __module__ = package()
    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        """TypeError for what is no integer."""
        made = tuple.__new__(cls, sizes)
        for n in made:
            if n.__class__ is not int:
                return tuple.__new__(cls, map(_whole, range(len(made)), made))
        return made

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """The number of elements of a tensor of this size."""
        return math.prod(self)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> int | Size:
        found = tuple.__getitem__(self, key)
        return tuple.__new__(Size, found) if isinstance(found, tuple) else found

    @overload
    def __add__(self, other: tuple[int, ...]) -> Size: ...
    @overload
    def __add__(self, other: tuple[_T, ...]) -> tuple[int | _T, ...]: ...
    def __add__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, tuple(other)))
        if hasattr(other, "__radd__"):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other: SupportsIndex) -> Size:
        if hasattr(other, "__array_finalize__"):
            return NotImplemented  # NumPy's arrays multiply each element
        if not hasattr(other, "__index__"):
            raise TypeError(f"can't multiply sequence by non-int of type '{type(other).__name__}'")
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


# A plain tuple to those who ask whether a class is generic: Size has no parameter of its own.
delattr(Size, "__orig_bases__")


def _whole(place: int, n: Any) -> Any:
    """A size: an int, or what stands for one; tensors and arrays of one integer as ints."""
    try:
        return index(n) if hasattr(n, "dtype") or isinstance(n, bool) else n + 0 * index(n)
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {place} is '{type(n).__name__}')"
        ) from None


# Those that tensors had, by the tuple: to find one takes a third of the time of making it.
SIZES: dict[tuple[int, ...], Size] = {}


def sized(sizes: tuple[int, ...]) -> Size:
    """The Size of a tensor, kept for the next that has it."""
    if len(SIZES) > 1 << 12:
        SIZES.clear()
    found = SIZES[sizes] = Size(sizes)
    return found
