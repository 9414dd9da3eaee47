"""Index arrays along one dim, as gather and scatter take them: checks and reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.accelerator import is_away
from rushlight._engine.core.conversion import number
from rushlight._engine.core.layout import contiguous_strides
from rushlight._engine.core.services import service
from rushlight._engine.ops.table import WIDE_DTYPES

Array = np.ndarray[Any, Any]
UNSIGNED = {8: np.uint64, 4: np.uint32}
_WHOLE = frozenset({np.dtype(np.int64), np.dtype(np.int32)})


def legacy(a: Array) -> str:
    """PyTorch's short name of an array's dtype in messages: Float, Long, ..."""
    return dt.from_numpy_dtype(a.dtype).legacy


def refuse_wide(kernel: str, of: np.dtype[Any]) -> None:
    """Refuse the wide unsigned integers that a kernel of PyTorch's lacks; array_api's functions take them."""
    if of.char in "HILQ":
        if not WIDE_DTYPES.accepted:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{dt.from_numpy_dtype(of).legacy}'")
        WIDE_DTYPES.used = True


def check_dtype(op: str, index: Array) -> None:
    """Only int64 and int32 are positions."""
    if index.dtype not in _WHOLE:
        raise RuntimeError(
            f"{op}(): Expected dtype int32/int64 for index, got {legacy(index)}; convert it with .long()"
        )


def check_bounds(index: Array, dim: int, size: int) -> None:
    """Every position is 0 <= i < size; PyTorch's scatter and gather count none from the end.

    Of a device's positions its kernels find out.
    """
    if is_away(index):
        return
    # Seen as unsigned, a negative position is a huge one: one look at the largest is enough.
    if index.size and np.maximum.reduce(index.view(UNSIGNED[index.itemsize]), None) >= size:
        wrong = index[(index < 0) | (index >= size)].reshape(-1)[0]
        raise RuntimeError(f"index {int(wrong)} is out of bounds for dimension {dim} with size {size}")


def one_value(op: str, value: Any, of: Any) -> Any:
    """What is to be written everywhere: a 0-d array, of dtype `of` instead of a number."""
    if not isinstance(value, np.ndarray):
        return number(value, dt.from_numpy_dtype(of))
    if value.ndim:
        raise RuntimeError(
            f"{op}_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    return value


def wrap_positions(index: Array, size: int) -> Array:
    """Negative positions counted from the end; the caller has checked the bounds."""
    if index.size and int(index.min()) < 0:
        return np.where(index < 0, index + size, index)
    return index


def take_along(a: Array, dim: int, index: Array) -> Array:
    """a[.., index[.., i, ..], ..], at positions that are all inside."""
    if index.size <= FEW and a.flags.c_contiguous:
        step, begin = _lines(a.shape, dim, index.shape)
        return np.asarray(a.take((index if step == 1 else index * step) + begin))
    out = np.empty(index.shape, a.dtype)
    if not service("gather or scatter along a dim")("read", a, dim, index, out):
        out[...] = a[places_along(dim, index)]
    return out


FEW = 1 << 12  # so many positions are cheaply reckoned with


def few_along(a: Array, dim: int, places: tuple[int, ...]) -> Callable[[Array, Array], Array] | None:
    """`take_along` for arrays that lie as `a` does and positions of a shape, which may lack the dim where it
    is 1; None where they are many.
    """
    kept = places if len(places) == a.ndim else (*places[:dim], 1, *places[dim:])
    if not a.ndim or not a.size or prod(places) > FEW or not a.flags.c_contiguous:
        return None
    step, begin = _lines(a.shape, dim, kept)
    begins = np.broadcast_to(begin, kept).reshape(places)
    if step == 1:
        return lambda a, index: a.take(index + begins)
    return lambda a, index: a.take(index * step + begins)


@lru_cache(maxsize=256)
def _lines(shape: tuple[int, ...], dim: int, wanted: tuple[int, ...]) -> tuple[int, Any]:
    """The step along dim in a contiguous array, and where the lines of `wanted` positions begin."""
    steps = contiguous_strides(shape)
    grid = np.indices(wanted, sparse=True)
    return steps[dim], sum([g * s for i, (g, s) in enumerate(zip(grid, steps, strict=True)) if i != dim])


def places_along(dim: int, index: Array) -> tuple[Array, ...]:
    """[.., index[.., i, ..], ..] as NumPy is told: an array for each dim."""
    grid: list[Array] = list(np.indices(index.shape, sparse=True))
    grid[dim] = index
    return tuple(grid)


def in_front(a: Array, d: int) -> Array:
    """The array with dim d in front, as a view."""
    return a if d == 0 else a.transpose(d, *range(d), *range(d + 1, a.ndim))


def at_least_1d(a: Array) -> Array:
    """A 0-d array as one of a single element, sharing memory."""
    return a.reshape(1) if a.ndim == 0 else a


def on_dense(out: Array, write: Callable[[Array], None]) -> None:
    """Let `write` change `out`, or a contiguous copy whose contents `out` then takes."""
    if out.flags.c_contiguous:
        write(out)
    else:
        dense = np.ascontiguousarray(out)
        write(dense)
        out[...] = dense


# Bytes from which on rows are copied by the team: NumPy's take does it in one thread.
_MANY = 1 << 20


def rows_of(a: Array, index: Array) -> Array:
    """a[index], copied; IndexError for a number out of range."""
    large = index.size * a.strides[0] >= _MANY
    found = service("gather rows")(a, index) if large else None
    return np.asarray(a.take(index, 0)) if found is None else found
