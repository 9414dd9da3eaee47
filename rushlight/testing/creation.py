"""make_tensor: random tensors of any dtype to try an op with."""

from __future__ import annotations

from math import ceil, isnan, prod
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn

_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of `shape` with values drawn uniformly from [low, high).

    shape: sizes, or one sequence of them.
    low, high: default 0 and 2 for bool, 0 and 10 for unsigned, -9 and 10 for signed integers, -9 and 9 for
    the rest; what `dtype` cannot hold is clamped. Equal limits are deprecated (floating and complex).
    noncontiguous: every other element of a tensor twice as wide, if there are two elements or more.
    exclude_zero: zeros become one, or for floating and complex dtypes the smallest normal number.
    memory_format: instead of `noncontiguous`. requires_grad is ignored for float8, as in PyTorch.

    Raises ValueError for `requires_grad` of an integral dtype, low >= high, NaN limits, limits that leave
    nothing of the dtype's range, and noncontiguous together with memory_format; TypeError for other dtypes.
    """
    if not isinstance(dtype, torch.dtype):
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(): "
            "give a torch.dtype"
        )
    inexact = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous=True and memory_format={memory_format}"
        )
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    spread = noncontiguous and prod(sizes) > 1
    if spread:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    result = _draw(sizes, dtype, device, *_limits(dtype, low, high))
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if inexact else 1
    return result.requires_grad_(requires_grad) if inexact and dtype not in _FLOAT8 else result


def _range(dtype: Any) -> tuple[Any, Any, Any, Any]:
    """(lowest, end of the range, default low, default high)."""
    if dtype == torch.bool:
        return 0, 2, 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        info: Any = torch.finfo(dtype)
        return info.min, info.max, -9, 9
    info = torch.iinfo(dtype)
    # random_ takes 64 bits with sign, so int64's own highest value is never drawn.
    end = info.max if dtype == torch.int64 else info.max + 1
    return info.min, end, 0 if info.min == 0 else -9, 10


def _limits(dtype: Any, low: Any, high: Any) -> tuple[Any, Any]:
    lowest, end, *usual = _range(dtype)
    low, high = (value if value is not None else other for value, other in zip((low, high), usual))
    if isnan(low) or isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    inexact = (dtype.is_floating_point or dtype.is_complex) and dtype not in _FLOAT8
    if low == high and inexact:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{lowest}, {end})"
        )
    return min(max(low, lowest), end), min(max(high, lowest), end)


def _draw(sizes: Any, dtype: Any, device: Any, low: Any, high: Any) -> Any:
    if dtype in _FLOAT8:
        return _uniform(torch.empty(sizes, dtype=torch.float32, device=device), low, high).to(dtype)
    result = torch.empty(sizes, dtype=dtype, device=device)
    if not (dtype.is_floating_point or dtype.is_complex):
        return result.random_(ceil(low), ceil(high))
    _uniform(torch.view_as_real(result) if dtype.is_complex else result, low, high)
    return result


def _uniform(result: Any, low: Any, high: Any) -> Any:
    """uniform_ refuses a width beyond the dtype's range: half of it is drawn then, and doubled."""
    if high - low <= torch.finfo(result.dtype).max:
        return result.uniform_(low, high)
    return result.uniform_(low / 2, high / 2).mul_(2)
