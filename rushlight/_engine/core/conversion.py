"""Element conversion by PyTorch's rules, where NumPy's differ.

1. The half-size dtypes are reached by way of float32: float64 is rounded twice.
2. float8_e4m3fn has no infinity: what is too large, infinity included, becomes +-448.
3. complex to real drops the imaginary part; anything to bool asks whether it is non-zero.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.numpy_warnings import hush, restore

Array = np.ndarray[Any, Any]

_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
_E4M3_MAX = 448.0
_FLOAT8 = frozenset(
    {_E4M3, *map(np.dtype, (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz))}
)
_SMALL = _FLOAT8 | {np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)}


def needs_care(source: np.dtype[Any], to: np.dtype[Any]) -> bool:
    """Whether NumPy's own conversion would give other numbers than `convert`."""
    if source == to:
        return False
    return to in _SMALL or source in _FLOAT8 or (source.kind == "c") != (to.kind == "c")


def convert(array: Array, to: np.dtype[Any], *, copy: bool = False) -> Array:
    """`array` with element type `to`; itself where nothing changes, unless `copy`."""
    source = array.dtype
    if source == to:
        return array.copy(order="K") if copy else array
    token = hush()
    try:
        if source.kind == "c" and to.kind not in "cb":
            array = array.real
        if to == _E4M3:
            array = np.clip(array.astype(np.float32), -_E4M3_MAX, _E4M3_MAX)
        elif to in _SMALL or source in _FLOAT8:
            array = array.astype(np.float32, copy=False)
        return array.astype(to)
    finally:
        restore(token)


def check_integer_range(low: int, high: int, of: dtype) -> None:
    """RuntimeError unless low..high fits `of`; negative numbers may wrap in unsigned dtypes."""
    info = np.iinfo(of.np)
    if high > info.max or low < (info.min or -int(info.max)):
        overflow(of.name)


def overflow(name: str) -> NoReturn:
    """Raise for a value that a dtype cannot hold."""
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def number(value: Any, of: dtype) -> Array:
    """A Python number as a 0-d array of dtype `of`; RuntimeError where it does not fit.

    Stricter than `convert`: a finite number beyond the largest float is an error, not infinity.
    """
    # Zeros of two signs are equal.
    return _known(value, of).copy() if value or value.__class__ is int else _number(value, of)


def _number(value: Any, of: dtype) -> Array:
    name = of.name + "_t" if of.category == dt.INTEGRAL else dt.C_NAMES.get(of.name, of.name)
    if of.category == dt.BOOL:
        return np.array(bool(value))
    if isinstance(value, complex) and not of.is_complex:
        if value.imag:
            overflow(name)
        value = value.real
    if of.category == dt.INTEGRAL:
        return _integer(value, of, name)
    return _floating(value, of, name)


_known = lru_cache(maxsize=1024, typed=True)(_number)


def _integer(value: Any, of: dtype, name: str) -> Array:
    info = np.iinfo(of.np)
    wraps = not info.min and not isinstance(value, float)
    lowest = -int(info.max) if wraps else int(info.min)
    if not lowest <= value <= info.max:
        overflow(name)
    return np.array(int(value) % 2 ** (8 * of.itemsize) if wraps else int(value), of.np)


@cache
def largest(of: dtype) -> float:
    """The largest finite number."""
    finfo: Any = ml_dtypes.finfo
    return float(finfo(of.to_real().np).max)


def _floating(value: Any, of: dtype, name: str) -> Array:
    for part in (value.real, value.imag):
        if math.isfinite(part) and abs(part) > largest(of):
            overflow(name)
    if of.np.isbuiltin and of.itemsize >= 4:
        return np.array(value, of.np)
    return convert(np.array(value, np.complex128 if of.is_complex else np.float64), of.np)


# Bytes from which on an array is filled by lines, and elements of a line.
_MANY, _LINE = 1 << 15, 1 << 11


def fill(a: Any, value: Any) -> None:
    """a[...] = value, for arrays of any device. NumPy fills large ones element by element; its copies of
    lines, and of bytes, are vectors.
    """
    if a.nbytes < _MANY or a.__class__ is not np.ndarray or not a.flags.c_contiguous:
        a.fill(value)
    elif value.__class__ is int and not value:
        a.view(np.uint8).fill(0)
    else:
        flat = a.reshape(-1)
        flat[:_LINE].fill(value)
        whole = flat.size - flat.size % _LINE
        lines = flat[:whole].reshape(-1, _LINE)
        lines[1:] = lines[:1]
        flat[whole:].fill(value)
