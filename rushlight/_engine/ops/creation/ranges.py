"""Counted values: arange, range, linspace, logspace, eye, and the indices of triangles.

The numbers are numerics/ranges.py's; here are signatures, dtype rules and refusals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.conversion import Array, number
from rushlight._engine.core.services import service
from rushlight._engine.numerics import ranges
from rushlight._engine.ops.creation.filled import factory
from rushlight._engine.ops.expressions import m, symbol

# So many numbers are counted at once.
FEW = 1 << 14


@factory(counted=True)
def arange(
    start: Number | None = None,
    end: Number | None = None,
    step: Number = 1,
    *,
    dtype: dtype | None = None,
) -> Array:
    """start (0), start + step, ... up to but not including end; int64 when all three are ints."""
    if end is None:
        start, end = 0, start
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    start = 0 if start is None else start
    return ranges.arange(start, end, step, dtype or ranges.arange_dtype(start, end, step))


@factory(name="range", counted=True)
def range_(
    start: Number = 0, end: Number | None = None, step: Number = 1, *, dtype: dtype | None = None
) -> Array:
    """start, start + step, ... with end included; deprecated in favour of arange."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its "
        "behavior is inconsistent with Python's range builtin. Instead, use "
        "torch.arange, which produces values in [start, end).",
        UserWarning,
    )
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    return ranges.range_with_end(start, end, step, dtype or dt.get_default_dtype())


def _bounds(op: str, start: Any, end: Any) -> tuple[Any, Any]:
    """The numbers behind start and end, each a number or a 0-d array."""
    if not (hasattr(start, "tolist") or hasattr(end, "tolist")):
        return start, end
    dims = [getattr(value, "ndim", 0) for value in (start, end)]
    if any(dims):
        raise RuntimeError(
            f"{op} only supports 0-dimensional start and end tensors, but got start "
            f"with {dims[0]} dimension(s) and end with {dims[1]} dimension(s)."
        )
    first, last = (value.tolist() if hasattr(value, "tolist") else value for value in (start, end))
    return first, last


@factory(counted=True)
def linspace(
    start: Tensor | Number, end: Tensor | Number, steps: int, *, dtype: dtype | None = None
) -> Array:
    """`steps` values from start to end, both included; numbers or 0-d tensors."""
    first, last = _bounds("linspace", start, end)
    of = ranges.linspace_dtype("linspace", first, last, dtype)
    if of is not dt.float32 or not 1 < steps <= FEW:
        return ranges.linspace(first, last, steps, of)
    found: Array = _line()(*_places(steps), number(first, of), number(last, of))
    return found


@cache
def _line() -> Callable[..., Any]:
    """ranges.linspace of float32 as a kernel of `_places` and both ends."""
    i, half, rest, start, end = map(symbol, ("i", "half", "rest", "start", "end"))
    far, first, last, step = (m.cast(x, arg="float64") for x in (rest, start, end, (end - start) / rest))
    found = m.where(m.lt(i, half), first + step * i, last - step * (far - i))
    kinds = *[(n.arg, "float64") for n in (i, half)], *[(n.arg, "float32") for n in (rest, start, end)]
    result: Callable[..., Any] = service("pointwise kernel")((found,), kinds, ("float32",))
    return result


@lru_cache(maxsize=64)
def _places(steps: int) -> tuple[Array, ...]:
    """Places, the first that is counted from the end, and the last."""
    return np.arange(float(steps)), np.array(float(steps // 2)), np.array(steps - 1, np.float32)


@factory(counted=True)
def logspace(
    start: Tensor | Number,
    end: Tensor | Number,
    steps: int,
    base: float = 10.0,
    *,
    dtype: dtype | None = None,
) -> Array:
    """base to the powers linspace(start, end, steps)."""
    first, last = _bounds("logspace", start, end)
    return ranges.logspace(first, last, steps, base, ranges.linspace_dtype("logspace", first, last, dtype))


@factory
def eye(n: int, m: int | None = None, *, dtype: dtype | None = None) -> Array:
    """An n x m (n x n) matrix with ones on the diagonal, of the default dtype unless given."""
    return ranges.eye(n, n if m is None else m, dtype or dt.get_default_dtype())


# --- triangles ------------------------------------------------------------------------------------


# Elements of matrices whose triangles are kept, as programs ask for the same again and again.
_SMALL = 1 << 14


def _triangle_of(row: int, col: int, offset: int, upper: bool, of: Any) -> Array:
    lines = np.arange(row)
    ends = np.minimum(np.maximum(lines + (offset + (not upper)), 0), col)  # where rows end, or begin
    counts = col - ends if upper else ends
    until = np.add.accumulate(counts)
    before = until - counts
    found = np.empty((2, int(until[-1]) if row else 0), of)
    found[0] = lines.repeat(counts)
    np.subtract(np.arange(found.shape[1]), (before - ends if upper else before).repeat(counts), found[1])
    return found


_small_triangle = lru_cache(maxsize=32)(_triangle_of)


def _triangle(op: str, which: str, upper: bool) -> None:
    def body(row: int, col: int, offset: int = 0, *, dtype: dtype = dt.int64) -> Array:
        for name, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{name} must be non-negative, got{size}")
        if dtype not in (dt.int32, dt.int64):
            raise NotImplementedError(f"\"{op}\" not implemented for '{dtype.legacy}'; use torch.int64")
        if row * col <= _SMALL:
            return _small_triangle(row, col, offset, upper, dtype.np).copy()
        return _triangle_of(row, col, offset, upper, dtype.np)

    factory(
        body,
        name=op,
        out=False,
        doc=f"Row and column numbers of the {which} triangle of a row x col matrix, row by row.",
    )


_triangle("tril_indices", "lower", False)
_triangle("triu_indices", "upper", True)
