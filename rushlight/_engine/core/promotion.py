"""PyTorch's type promotion: dimensioned tensors, 0-d tensors and Python numbers in three ranks.

A lower rank changes the result only when it is of a higher category (bool < int < float < complex).
See https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.dtype import dtype

_UNSIGNED = {dt.uint16, dt.uint32, dt.uint64}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both, by PyTorch's table."""
    return _promoted(type1, type2)


@cache
def _promoted(type1: dtype, type2: dtype) -> dtype:
    a: dtype = dt.of_python(type1)
    b: dtype = dt.of_python(type2)
    for position, given in enumerate((a, b), 1):
        if not isinstance(given, dtype):
            raise TypeError(
                f"promote_types(): argument 'type{position}' (position {position}) must be "
                f"torch.dtype, not {type(given).__name__}"
            )
    if a is b:
        return a
    if dt.FLOAT8 & {a, b}:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote "
            f"{a.legacy} and {b.legacy}; convert one of them with .to()"
        )
    if _UNSIGNED & {a, b} and dt.FLOATING not in (a.category, b.category):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted "
            f"to promote {a.legacy} and {b.legacy}; convert one of them with .to()"
        )
    if a.category != b.category:
        high, low = (a, b) if a.category > b.category else (b, a)
        return dt.complex128 if high.category == dt.COMPLEX and low is dt.float64 else high
    if {a, b} == {dt.float16, dt.bfloat16}:
        return dt.float32
    if dt.bfloat16 in (a, b):
        return b if a is dt.bfloat16 else a
    return dt.from_numpy_dtype(np.promote_types(a.np, b.np))


def of_number(value: object) -> dtype:
    """The dtype of a Python number by itself."""
    if isinstance(value, bool):
        return dt.bool_
    if isinstance(value, int):
        return dt.int64
    if isinstance(value, float):
        return dt.get_default_dtype()
    if isinstance(value, complex):
        return dt.get_default_dtype().to_complex()
    if isinstance(value, np.generic):
        return of_number(value.item())
    raise TypeError(f"expected a number, got {type(value).__name__}")


def combine(dims: dtype | None, zeros: dtype | None, numbers: dtype | None) -> dtype:
    """The result of the three ranks' own promotions; None where a rank is empty."""
    result = dims
    for lower in (zeros, numbers):
        if lower is None:
            continue
        result = lower if result is None else _raised(result, lower)
    if result is None:
        raise RuntimeError("promotion: expected at least one tensor or number, got none")
    return result


def _raised(high_rank: dtype, low_rank: dtype) -> dtype:
    if low_rank.category <= high_rank.category:
        return high_rank
    if high_rank.category == dt.FLOATING:
        return promote_types(high_rank, dt.complex64)
    return low_rank if low_rank.is_complex else promote_types(high_rank, low_rank)


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether an in-place op may write a result of `source` into a tensor of `target`."""
    if source.category > target.category:
        return False
    return not (source.category >= dt.INTEGRAL and target is dt.bool_)
