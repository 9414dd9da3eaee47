"""arange, range, linspace, logspace and eye as NumPy arrays, in PyTorch's numbers to the last bit.

PyTorch fills ranges in vector registers: the first lane of each register is rounded to the dtype
and the others are counted from it, so that element i is not always `start + i * step` rounded once.
`_filled` repeats that for the registers of an AVX2 machine, whatever this machine has.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import Array, convert, number
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.numerics.fma import fma

_REGISTER_BYTES = 32
_LIMIT, _BLOCK = 2**62, 1 << 14
# What the kernels compute in, and a wider type whose rounding stands for a fused multiply-add.
_COMPUTED: dict[dtype, Any] = {
    dt.float32: np.float64,
    dt.float64: np.float64,
    dt.float16: np.float32,
    dt.bfloat16: np.float32,
}
_FUSED: dict[dtype, Any] = {
    dt.float32: np.longdouble,
    dt.float64: np.longdouble,
    dt.float16: np.float64,
    dt.bfloat16: np.float64,
}
_COUNTABLE = frozenset(
    {dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.bfloat16, dt.float32, dt.float64}
)


def arange_dtype(*bounds: Any) -> dtype:
    """int64 when all bounds are integers (or bools), else the default dtype."""
    whole = all(isinstance(b, (int, np.integer)) for b in bounds)
    return dt.int64 if whole else dt.get_default_dtype()


def arange_size(start: Any, end: Any, step: Any, of: dtype) -> int:
    """The number of elements of `arange`; RuntimeError for an impossible range."""
    _refuse_dtype("arange_cpu", of)
    _check_bounds(start, end, step)
    if of is not dt.int64:
        return _checked_size((float(end) - float(start)) / float(step), of)
    first, last, stride = (number(value, of).item() for value in (start, end, step))
    if not stride:
        raise ValueError(f"step must be nonzero: {step} is 0 as an integer")
    sign = 1 if stride > 0 else -1
    return _checked_size((last - first + stride - sign) // stride, of)


def _checked_size(size: float, of: dtype) -> int:
    """As a whole number, rounded up; RuntimeError for more elements than memory can have."""
    if not size < _LIMIT:
        raise RuntimeError("invalid size, possible overflow?")
    if math.ceil(size) * of.itemsize >= _LIMIT:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{math.ceil(size)}]")
    return math.ceil(size)


def arange(start: Any, end: Any, step: Any, of: dtype) -> Array:
    """start, start + step, ... up to but not including `end`, as a 1-d array of dtype `of`."""
    if of is dt.int64 and type(start) is type(end) is type(step) is int:
        inside = -_LIMIT < start < _LIMIT and -_LIMIT < end < _LIMIT and abs(step) < _LIMIT
        if inside and (start <= end if step > 0 else start >= end and step):
            return np.arange(*(start, end, step), dtype="int64")
    size = arange_size(start, end, step, of)
    return _filled(start, step, size, of, lanes=_REGISTER_BYTES // of.itemsize)


def range_size(start: Any, end: Any, step: Any, of: dtype) -> int:
    """The number of elements of `range_with_end`."""
    _refuse_dtype("range_cpu", of)
    _check_bounds(start, end, step)
    if of.category != dt.INTEGRAL:
        return int((float(end) - float(start)) / float(step) + 1)
    if not int(step):
        raise ValueError(f"step must be nonzero: {step} is 0 as an integer")
    return int((int(end) - int(start)) / int(step)) + 1


def range_with_end(start: Any, end: Any, step: Any, of: dtype) -> Array:
    """torch.range: like `arange`, with `end` included when a step lands on it."""
    return _filled(start, step, range_size(start, end, step, of), of, lanes=0)


def _check_bounds(start: Any, end: Any, step: Any) -> None:
    first, last, stride = (number(value, dt.float64).item() for value in (start, end, step))
    if not (stride > 0 or stride < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (last < first) if stride > 0 else (last > first):
        raise RuntimeError(
            "upper bound and lower bound inconsistent with step sign: "
            f"got start {start}, end {end} and step {step}"
        )


def _refuse_dtype(kernel: str, of: dtype) -> None:
    if of not in _COUNTABLE:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{of.legacy}'")


def _filled(start: Any, step: Any, size: int, of: dtype, lanes: int) -> Array:
    if of.category == dt.INTEGRAL:
        first, stride = int(start), int(step)
        return (first + stride * np.arange(size, dtype=np.int64)).astype(of.np)
    wide = _FUSED[of] if lanes else _COMPUTED[of]  # torch.range multiplies and adds in two steps
    first, stride = (wide(_COMPUTED[of](x)) for x in (start, step))
    index = np.arange(size).astype(wide)
    if not lanes:
        return _rounded(first + stride * index, of)
    whole = size - size % (2 * lanes)  # the kernel takes two registers at a time
    lane = index[:whole] % lanes
    heads = _rounded(first + stride * (index[:whole] - lane), of)
    out = _rounded(first + stride * index, of)
    out[:whole] = _rounded(heads.astype(wide) + stride * lane, of)
    return out


def _rounded(values: Array, of: dtype) -> Array:
    """Wide values in the dtype, by way of the dtype that the kernel computes in."""
    return convert(values.astype(_COMPUTED[of]), of.np)


def linspace_dtype(name: str, start: Any, end: Any, of: dtype | None) -> dtype:
    """`of`, or the default dtype (complex when a bound is complex, which `of` must then be too)."""
    if not (isinstance(start, complex) or isinstance(end, complex)):
        return of or dt.get_default_dtype()
    inferred = dt.get_default_dtype().to_complex()
    if of is not None and not of.is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {inferred!r} can't be safely cast to passed dtype {of.legacy}"
        )
    return of or inferred


def linspace(start: Any, end: Any, steps: int, of: dtype) -> Array:
    """`steps` values from `start` to `end`, both included, counted from the nearer end."""
    _check_steps("linspace_cpu", steps, of)
    if steps < 2:
        return np.repeat(number(start, of), 1) if steps else np.empty(0, of.np)
    first, last = (number(value, of) for value in (start, end))
    if of.is_complex:
        out = np.empty(steps, of.np)
        out.real = linspace(first.real.item(), last.real.item(), steps, of.to_real())
        out.imag = linspace(first.imag.item(), last.imag.item(), steps, of.to_real())
        return out
    if of in dt.REDUCED:
        return _linspace_reduced(first, last, steps, of)
    wide = of.np.type if of.is_floating_point else np.float64
    low, high = wide(first), wide(last)
    return _from_both_ends(low, high, (high - low) / wide(steps - 1), steps).astype(of.np, copy=False)


def _from_both_ends(first: Any, last: Any, step: Any, steps: int, added: Any = fma) -> Array:
    """first + step * index in the first half, last - step * index from behind in the second, in blocks."""
    out = np.empty(steps, step.dtype)
    for part, start, stride in ((out[: steps // 2], first, step), (out[steps // 2 :][::-1], last, -step)):
        for low in range(0, len(part), _BLOCK):
            block = part[low : low + _BLOCK]
            index = _counted(step.dtype)[: len(block)]
            block[:] = added(index + step.dtype.type(low) if low else index, stride, start)
    return out


@cache
def _counted(of: Any) -> Array:
    return np.arange(_BLOCK).astype(of)


def _linspace_reduced(first: Array, last: Array, steps: int, of: dtype) -> Array:
    # The half-size kernels round after every operation.
    def rounded(value: Any) -> Any:
        return convert(np.asarray(value, np.float32), of.np).astype(np.float32)

    low, high = rounded(first), rounded(last)
    step = rounded(rounded(high - low) / rounded(steps - 1))
    index = np.arange(steps).astype(np.float32)
    up, down = rounded(step * rounded(index)), rounded(step * rounded(steps - 1 - index))
    return convert(np.where(index < steps // 2, low + up, high - down), of.np)


def logspace(start: Any, end: Any, steps: int, base: float, of: dtype) -> Array:
    """base ** linspace(start, end, steps), the power taken in double precision."""
    _check_steps("logspace_cpu", steps, of)
    wide = of.np.type if of.is_complex else np.float64
    token = hush()
    try:
        if steps < 2:
            only = (np.complex128 if of.is_complex else np.float64)(start)
            return convert(_power(base, np.repeat(only, steps)), of.np)
        if steps <= _FEW and not of.is_complex:
            return convert(np.float_power(base, _few_exponents(start, end, steps, of)), of.np)
        first, last = (wide(number(value, of)) for value in (start, end))
        span = last - first if of.category == dt.INTEGRAL else wide(convert(np.asarray(last - first), of.np))
        step = span * (1 / wide(steps - 1)) if of.is_complex else span / (steps - 1)
        exponents = _from_both_ends(first, last, step, steps, lambda x, y, z: x * y + z)
        return convert(_power(base, exponents), of.np)
    finally:
        restore(token)


_FEW = 256


@lru_cache(maxsize=64)
def _from_its_end(steps: int) -> Array:
    """The place of each from the end that it is nearer to."""
    places = np.arange(float(steps))
    places[steps // 2 :] -= steps - 1
    return places


def _few_exponents(start: Any, end: Any, steps: int, of: dtype) -> Array:
    """logspace's exponents, as `_from_both_ends` reckons them."""
    first, last = (float(number(value, of)) for value in (start, end))
    span = last - first if of.category == dt.INTEGRAL else float(convert(np.asarray(last - first), of.np))
    found: Array = _from_its_end(steps) * (span / (steps - 1))
    found[: steps // 2] += first
    found[steps // 2 :] += last
    return found


def _power(base: float, exponents: Array) -> Array:
    """base ** exponents as the C library has it, whose complex powers are exponentials."""
    if exponents.dtype.kind == "c":
        found: Array = np.exp(exponents * np.log(exponents.dtype.type(base)))
        return found
    return np.float_power(base, exponents)  # the C library's, where power may be a vector's


def _check_steps(kernel: str, steps: int, of: dtype) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps > 1 and not of.is_complex:
        _refuse_dtype(kernel, of)
    _checked_size(steps, of)


def eye(n: int, m: int, of: dtype) -> Array:
    """An n x m array with ones on the diagonal."""
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    if n * m * of.itemsize >= _LIMIT:
        raise RuntimeError("numel: integer multiplication overflow")
    out = np.zeros((n, m), of.np)
    np.fill_diagonal(out, 1)
    return out
